//===- Steps.h - Errors across the edges of steps ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounding to whole numbers or to quantised ones has no slope, and a small
// error in front of it is mostly gone behind it. Where it crosses the edge of a
// step it becomes a whole step: with an error d of values that are spread over
// steps of width s that happens to the share |d| / s of them, so that the
// expected square is s |d|, far more than the d^2 that a slope of 1 gives.
//
// How large errors are in front of a step is estimated on the way there: sums
// add up squares of errors, and other ops keep what they are of their values.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_STEPS_H
#define MPOPT_LIB_EFFECTS_STEPS_H

#include "mpopt/Propagate/OpKind.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace mpopt {

class RangeAnalysis;
class StorageErrors;

/// Errors of whole steps.
struct StepError {
  /// The width of a step.
  double width = 0;
  /// The square that they add to the expected one of an element's error, and
  /// the share of the elements that end on another step.
  double square = 0, share = 1;

  /// By the mean square of the errors in front of the step.
  static StepError across(double width, double before);
};

/// Steps of one body.
class Steps {
public:
  Steps(mlir::Block &body, const RangeAnalysis &ranges, StorageErrors &storage);

  /// The error by steps that the value is rounded to: its maker's, or those of
  /// a quantisation that reads it. None for most values, and where it is not
  /// known.
  StepError at(mlir::Value value) const { return steps.lookup(value); }

private:
  void visit(mlir::Operation *op);
  double relativeSquare(mlir::Value value);
  StepError across(mlir::Value value, double width);
  void quantize(mlir::Operation *op);

  const RangeAnalysis &ranges;
  StorageErrors &storage;
  llvm::DenseMap<mlir::Value, StepError> steps;
  /// The mean square of each value's error, of its own mean square.
  llvm::DenseMap<mlir::Value, double> errors;
};

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_STEPS_H
