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

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

#include <string>
#include <vector>

namespace mpopt {

/// The ops of a module that compute one function of one tensor. Of a norm of
/// rows they end where it divides by the root of the mean square: scale and
/// bias are ops of their own.
struct WrittenOut {
  /// The op that it is, without the dialect's name.
  std::string kind;
  /// The ops whose roundings count as those of the result do.
  llvm::SmallVector<mlir::Operation *, 8> members;
  /// The values whose roundings average out: those in front of a norm's mean,
  /// and the mean as its root reads it. Past rounding they would count.
  llvm::SmallVector<mlir::Value, 8> averaged;
  /// Values of which the least count: numbers next to 0 in front of a
  /// logarithm. Subnormal ones would count past rounding.
  llvm::SmallVector<mlir::Value, 1> small;
  mlir::Operation *result = nullptr;
  /// The tensor that the function is of.
  mlir::Value input;
  /// The first normalised axis of a norm, -1 of other functions; and the number
  /// that is added under its root.
  int64_t axis = -1;
  double epsilon = 0;
};

std::vector<WrittenOut> findWrittenOut(mlir::ModuleOp module);

/// Has the users of the composite's result read one op in its place, which it
/// returns; null, without a change, if there is no such op.
mlir::Operation *fuse(const WrittenOut &composite);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_WRITTENOUT_H
