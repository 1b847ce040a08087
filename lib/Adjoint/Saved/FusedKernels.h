//===- FusedKernels.h - Ops of a framework in several ops -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters write GELU, SiLU, norms and scaled_dot_product_attention out in ops
// that PyTorch did not run: it saved what its one kernel needs. What users
// wrote out themselves it did run, op by op. The two differ in details of their
// form.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_ADJOINT_SAVED_FUSEDKERNELS_H
#define MPOPT_LIB_ADJOINT_SAVED_FUSEDKERNELS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <vector>

namespace mpopt {

/// One op of the framework.
struct FusedKernel {
  llvm::SmallVector<mlir::Operation *, 12> members;
  /// The values that it saves: operands of members from outside, results.
  llvm::SmallVector<mlir::Value, 4> saved;
  /// The result, and the mask that is added, if it is one of attention.
  mlir::Value attended, mask;
  /// The type in which it computes, if it reads operands of another by a copy.
  mlir::Type computes;
  /// FP32 statistics beside them, as many as dims of `counted` up to `dims`
  /// have elements, `statistics` times.
  mlir::Value counted;
  unsigned dims = 0;
  int64_t statistics = 0;
};

/// The op that `op` is the last member of, by its form alone.
std::optional<FusedKernel> matchExportedForm(mlir::Operation *op);

/// Those of the block and of bodies in it, and of which one an op is part.
struct FusedKernels {
  explicit FusedKernels(mlir::Block &block);

  const FusedKernel *get(mlir::Operation *op) const {
    auto found = byMember.find(op);
    return found == byMember.end() ? nullptr : &all[found->second];
  }

  std::vector<FusedKernel> all;
  llvm::DenseMap<mlir::Operation *, size_t> byMember;
};

} // namespace mpopt

#endif // MPOPT_LIB_ADJOINT_SAVED_FUSEDKERNELS_H
