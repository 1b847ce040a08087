//===- CodePrinter.h - The code of a module, as archives hold it ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_CODEPRINTER_H
#define MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_CODEPRINTER_H

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/python_print.h>

#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mpopt::torchscript {

/// Prints classes with all that they need. What LibTorch's own writer would do,
/// but that the attributes of modules are left alone: pickling them runs their
/// `__getstate__`, and would copy the weights.
class CodePrinter {
public:
  /// `constants` are those that the archive has; code refers to them by number.
  explicit CodePrinter(std::vector<c10::IValue> constants);

  void print(const torch::jit::Module &module);

  using Records = std::vector<std::pair<std::string, std::string>>;
  /// Files of code, each with the one that says where its lines come from.
  /// Throws if code needs a constant that the archive does not have.
  Records records() const;
  /// The version of the file format that the code needs of its reader.
  uint64_t version() const;

private:
  void printType(const c10::NamedTypePtr &type);
  void printTypesOf(const c10::IValue &value);
  std::string mendConstants(std::string code) const;

  std::vector<c10::IValue> constants;
  size_t known; ///< of the constants
  torch::jit::PrintDepsTable needed;
  std::unordered_set<const void *> seen;
  std::map<std::string, torch::jit::PythonPrint> files; ///< by qualifier
};

} // namespace mpopt::torchscript

#endif // MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_CODEPRINTER_H
