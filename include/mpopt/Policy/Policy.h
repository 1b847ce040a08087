//===- Policy.h - What a framework does to each op's precision --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A policy is a table: op name, as the framework calls it, to category. Which
// dtypes a category leads to depends on the policy's kind and is the business
// of the transform that applies it; nothing here knows an mp op.
//
// Tables are JSON, the built-in ones (lib/Policy/tables) embedded in the
// binary:
//
//   {"name": "...", "kind": "autocast" | "graph-coloring" | "converter",
//    "framework": "pytorch" | "tensorflow" | "onnx",
//    "version": "...", "source": "...", "notes": ["..."],
//    "categories": {"fp32": ["exp", ...], ...},
//    "composite_derived": {"fp32": ["square", ...]},
//    "fixed_operands": {"batch_norm": [1, 2, 3, 4]},
//    "max_finite": 65504.0, "min_positive": 5.96e-8}
//
// `name`, `kind`, `framework` and `categories` must be there.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_POLICY_POLICY_H
#define MPOPT_POLICY_POLICY_H

#include "mpopt/Support/Framework.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mpopt {

/// Treatment of an op under a policy. The kind of a table says which of these
/// it may have.
enum class Category {
  // Autocast. `Fp32` also stands for PyTorch's fp32_set_opt_dtype and
  // fp32_append_dtype, which differ from it only where the caller gives a
  // dtype.
  Fp32,
  Lower,
  Promote,
  Banned,
  // Graph colouring.
  Allow,
  Infer,
  Deny,
  Clear,
  // Converters.
  Block
};

/// "fp32", "lower", ...: the value of `mp.category`.
llvm::StringRef toString(Category category);

/// How categories become dtypes.
enum class PolicyKind {
  /// Each op on its own, in program order (PyTorch eager).
  Autocast,
  /// Categories spread along the graph first (TensorFlow).
  GraphColoring,
  /// Everything in the low type but for blocked ops (ONNX converters).
  Converter
};

/// The name in a framework's tables of a recognised composite of this kind (a
/// mnemonic of the mp dialect). TensorFlow has kernels for few of them and
/// decomposes the others itself, so that there the members are judged one by
/// one: "".
llvm::StringRef getCompositeName(llvm::StringRef kind, Framework framework);

class Policy {
public:
  /// The policy that is taken where none is named.
  static constexpr llvm::StringLiteral kDefault = "pytorch-cuda-2.14";

  /// Names of the built-in policies, the default first.
  static llvm::ArrayRef<llvm::StringRef> getBuiltinNames();

  /// A built-in policy by its name, else a file. The error is one line.
  static llvm::Expected<Policy> load(llvm::StringRef nameOrFile);

  /// A table's text; `origin` is what errors call it.
  static llvm::Expected<Policy> parse(llvm::StringRef text,
                                      llvm::StringRef origin);

  llvm::StringRef getName() const { return name; }
  PolicyKind getKind() const { return kind; }
  Framework getFramework() const { return framework; }
  /// The framework's version that the table describes, and where it was read.
  llvm::StringRef getVersion() const { return version; }
  llvm::StringRef getSource() const { return source; }

  /// The category of an op that goes by any of `names`, most specific first:
  /// the first listed name decides. Nothing if none is listed.
  std::optional<Category> lookup(llvm::ArrayRef<llvm::StringRef> names) const;

  /// Operands of such an op that keep the model's dtype whatever its category:
  /// parameters that the kernel takes in a dtype of their own.
  llvm::ArrayRef<unsigned>
  getFixedOperands(llvm::ArrayRef<llvm::StringRef> names) const;

  /// Limits to which a converter clamps constants, if it does.
  std::optional<double> getMaxFinite() const { return maxFinite; }
  std::optional<double> getMinPositive() const { return minPositive; }

private:
  friend class PolicyReader;

  std::string name, version, source;
  PolicyKind kind = PolicyKind::Autocast;
  Framework framework = Framework::PyTorch;
  llvm::StringMap<Category> categories;
  llvm::StringMap<std::vector<unsigned>> fixedOperands;
  std::optional<double> maxFinite, minPositive;
};

} // namespace mpopt

#endif // MPOPT_POLICY_POLICY_H
