//===- LogMagnitude.h - Distributions of ln|x| ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second moment says little about the smallest values: a softmax of
// confident logits has a mean of 1 / n and mostly values of 1e-20. This domain
// carries mean and variance of ln|x|, taken as a normal value, through
// exponentials, softmax, products, quotients and powers. Elsewhere the moments
// of the value itself say as much.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PROPAGATE_LOGMAGNITUDE_H
#define MPOPT_PROPAGATE_LOGMAGNITUDE_H

#include "mpopt/Propagate/Propagation.h"

#include <memory>

namespace mpopt {

/// ln|x| of a group by its moments; empty if it holds only zeros.
Cell logarithmOf(const Cell &cell);

class LogMagnitude : public Propagation<LogMagnitude> {
public:
  explicit LogMagnitude(const RangeAnalysis &ranges) : Propagation(ranges) {}

  /// Mean and variance of ln|x| by group; an empty cell means only zeros. Null
  /// if they say no more than the value itself.
  const AbstractValue *of(mlir::Value value) const;

  // The members of a domain.
  void begin(mlir::Value) {}
  void transfer(mlir::Operation *op, OpKind kind);
  bool flow(mlir::Value from, mlir::Value to);
  void skip(mlir::Operation *op);

private:
  using Logarithm = std::optional<AbstractValue>;

  Logarithm compute(mlir::Operation *op, OpKind kind) const;
  Logarithm computeFunction(mlir::Operation *op) const;
  Logarithm computePower(mlir::Operation *op) const;
  Logarithm computeProduct(mlir::Operation *op, double sign) const;
  Logarithm besideLost(mlir::Operation *op) const;
  Logarithm scaledOperand(mlir::Operation *op, double factor) const;
  AbstractValue logarithmOf(mlir::Value value) const;
  bool isFarAbove(mlir::Value value) const;

  llvm::DenseMap<mlir::Value, std::unique_ptr<AbstractValue>> logarithms;
};

} // namespace mpopt

#endif // MPOPT_PROPAGATE_LOGMAGNITUDE_H
