//===- Stabilizers.h - Shifts that cancel -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// m = max(x, y) in exp(x - m) / (exp(x - m) + exp(y - m)) is there for the
// range alone: any other m gives the same quotient. Backward graphs do not know
// that, and what goes through m cancels only as a sum. Taken for independent,
// the parts of a recurrence that keeps such a maximum double at each step.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_STABILIZERS_H
#define MPOPT_LIB_EFFECTS_STABILIZERS_H

#include "llvm/ADT/SmallVector.h"

namespace mlir {
class Block;
class OpOperand;
class Operation;
} // namespace mlir

namespace mpopt {

struct Stabilizer {
  mlir::Operation *extreme;
  /// The readers with which the result does not change, by the algebra of sums,
  /// products, exponentials and logarithms, rounding apart. Others may read it
  /// for what it is.
  llvm::SmallVector<mlir::OpOperand *> uses;
};

/// The extremes of the block, elementwise or along axes, that have such
/// readers.
llvm::SmallVector<Stabilizer> findStabilizers(mlir::Block &block);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_STABILIZERS_H
