//===- Categories.h - Each op's category under a policy ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_TRANSFORMS_PRECISION_CATEGORIES_H
#define MPOPT_PASSES_TRANSFORMS_PRECISION_CATEGORIES_H

#include "mpopt/Policy/Policy.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mpopt {

/// Categories of the ops of a module under a policy. An op that the policy does
/// not list has no category.
class Categories {
public:
  Categories(mlir::ModuleOp module, const Policy &policy);

  std::optional<Category> get(mlir::Operation *op) const;

  /// True if the policy decides about the dtype of this operand: it is a float
  /// the op computes with, not a parameter with a dtype of its own.
  bool governs(mlir::OpOperand &operand) const;

  /// Leaves `mp.category` on the ops.
  void annotate(mlir::ModuleOp module) const;

private:
  std::optional<Category> find(mlir::Operation *op) const;

  void findWrittenNorms(mlir::ModuleOp module);

  const Policy &policy;
  /// Norms of the user's own code, by the number of their idiom.
  llvm::DenseSet<int64_t> writtenNorms;
  llvm::DenseMap<mlir::Operation *, Category> categories;
  llvm::DenseMap<mlir::Operation *, llvm::ArrayRef<unsigned>> fixedOperands;
};

} // namespace mpopt

#endif // MPOPT_PASSES_TRANSFORMS_PRECISION_CATEGORIES_H
