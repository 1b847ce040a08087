//===- GraphReader.h - JIT graphs to plain data -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of the reader; LibTorch's types stay in this folder.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_GRAPHREADER_H
#define MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_GRAPHREADER_H

#include "MappedArchive.h"

#include "mpopt/Import/Aten/Graph.h"
#include "mpopt/Import/UnpackBudget.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <unordered_map>

namespace mpopt::torchscript {

/// Throws if there is none; says which there are.
torch::jit::Method findMethod(const torch::jit::Module &module,
                              const std::string &name);

/// LibTorch's messages go on with source excerpts and C++ stacks.
std::string firstLine(const char *what);

aten::StaticType convertType(const c10::TypePtr &type);

/// The user's own line of a node.
aten::SourceLine findSource(const torch::jit::Node &node);
/// The path of the module that a node was inlined from.
std::string findScope(const torch::jit::Node &node);

/// Values of attributes and constants, tensors by reference to the archive.
class ConstantReader {
public:
  ConstantReader(const MappedArchive &archive, aten::Graph &graph)
      : archive(archive), graph(graph), budget(archive.size()) {}

  /// `path` names a tensor, and the members of what holds some.
  aten::Constant read(const c10::IValue &value, const std::string &path,
                      bool isParameter = false);

private:
  int64_t readTensor(const at::Tensor &tensor, const std::string &path,
                     bool isParameter);
  void claim(const at::Tensor &from, int64_t width, const std::string &path);
  int64_t memoryOf(const at::Tensor &tensor);

  const MappedArchive &archive;
  aten::Graph &graph;
  UnpackBudget budget;
  /// Unpacked tensors have no other owner, and their addresses are keys below.
  std::vector<at::Tensor> kept;
  std::unordered_map<const void *, int64_t> seen;
  std::unordered_map<const void *, int64_t> memory;
};

/// One inlined graph of a module.
class GraphReader {
public:
  GraphReader(const torch::jit::Module &module, ConstantReader &constants,
              aten::Graph &graph);

  void read(const torch::jit::Graph &source);

private:
  /// An object that is known while reading, by its path below the module.
  struct Object {
    std::string path;
    c10::IValue value;
  };

  aten::ValueId idOf(const torch::jit::Value *value);
  aten::GraphBlock readBlock(const torch::jit::Block &block);
  aten::Node readNode(const torch::jit::Node &node);
  void readAttributes(const torch::jit::Node &from, aten::Node &to);
  /// True if the node only fetches a submodule, which needs no node of ours.
  bool fetchesObject(const torch::jit::Node &node);
  void readGetAttr(const torch::jit::Node &from, aten::Node &to);

  ConstantReader &constants;
  aten::Graph &graph;
  Object self;
  std::map<std::pair<const void *, std::string>, int64_t> slots;
  std::unordered_map<const torch::jit::Value *, aten::ValueId> ids;
  std::unordered_map<const torch::jit::Value *, Object> objects;
};

} // namespace mpopt::torchscript

#endif // MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_GRAPHREADER_H
