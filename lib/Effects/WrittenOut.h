//===- WrittenOut.h - Functions that a model writes out ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The factors of e^x / sum e^x, or of x and 1 + erf(x), depend on each other:
// where one is large the other is small. Moments of a product of gradients know
// nothing of that, so a function that is written out has its gradient as one.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_WRITTENOUT_H
#define MPOPT_LIB_EFFECTS_WRITTENOUT_H

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/Length.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace mpopt {

/// A composite that is differentiated as one op. A norm of rows ends where it
/// divides by the root of the mean square: scale and bias are ops of their own.
/// The roundings of `members` count as those of the result do.
struct WrittenOut : Composite {
  /// The values whose roundings average out: those in front of a norm's mean,
  /// and the mean as its root reads it. Past rounding they would count.
  llvm::SmallVector<mlir::Value, 8> averaged;
  /// The sum over whose axes the function reduces; null for others.
  mlir::Operation *sum = nullptr;
  /// The length of a norm of rows, or of rows over their lengths.
  std::optional<Length> length;
};

std::vector<WrittenOut> findWrittenOut(mlir::ModuleOp module);

/// Has the users of the composite's result read one op in its place, which it
/// returns; null, without a change, if there is no such op.
mlir::Operation *fuse(const WrittenOut &composite);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_WRITTENOUT_H
