//===- AlikeErrors.h - Errors that positions have in common -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An average over positions, as attention takes it, gives all of them nearly
// one error, and so does a copy for each. A sum over the positions, which the
// gradients of weights and biases are, adds such errors up instead of their
// squares.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_ALIKEERRORS_H
#define MPOPT_LIB_EFFECTS_ALIKEERRORS_H

#include "mpopt/Gradients/GradientAnalysis.h"
#include "mpopt/Propagate/OpKind.h"

namespace mpopt {

/// The correlation of the errors of two positions of one sample, by value.
class AlikeErrors {
public:
  explicit AlikeErrors(const GradientAnalysis &gradients)
      : gradients(gradients) {}

  void forget() { known.clear(); }
  double of(mlir::Value value) const { return known.lookup(value); }
  void set(mlir::Value value, double alike);

  /// The square of the error that an operand brings into a sum of its elements,
  /// of that of independent errors.
  double growth(mlir::Operation *op, unsigned operand) const;
  /// The correlation that an operand's error has in a result.
  double passed(mlir::Operation *op, OpKind kind, mlir::OpResult result,
                unsigned operand) const;

  /// The expected product of the numbers at two positions, of their mean
  /// square.
  double commonPart(mlir::Value value) const;

private:
  bool hasPositions(mlir::Value value, llvm::ArrayRef<int64_t> axes) const;

  const GradientAnalysis &gradients;
  llvm::DenseMap<mlir::Value, double> known;
  /// The results of commonPart: numbers do not depend on errors.
  mutable llvm::DenseMap<mlir::Value, double> common;
};

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_ALIKEERRORS_H
