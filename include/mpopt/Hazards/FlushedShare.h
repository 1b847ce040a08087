//===- FlushedShare.h - How much of a tensor becomes zero -------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What MP204 and MP213 share: the expected part of a result's non-zero values
// that its dtype stores as zero.
//
// The second moment says little of how small small values are: a softmax of
// confident logits has a mean of 1 / n and mostly values of 1e-20. So the share
// is taken from ln|x|, as a normal value: through exponentials, softmax,
// products, quotients and powers it follows from the operands; elsewhere from
// mean and spread.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_FLUSHEDSHARE_H
#define MPOPT_HAZARDS_FLUSHEDSHARE_H

#include "mpopt/Hazards/RangeSupport.h"

#include "llvm/ADT/DenseMap.h"

namespace mpopt {

/// Values are asked for in program order.
class FlushedShares {
public:
  explicit FlushedShares(const RangeAnalysis &ranges) : ranges(ranges) {}

  /// Expected share of the non-zero values of `value` that become 0 where it is
  /// stored; nothing if nothing is expected or can be said.
  std::optional<double> of(mlir::Value value);

private:
  /// mean and variance of ln|x| by group; an empty bound: only zeros. Null if
  /// they do not tell more than the value itself.
  const AbstractValue *getLogarithm(mlir::Value value);
  std::optional<AbstractValue> computeLogarithm(mlir::Operation *op);
  AbstractValue logarithmOf(mlir::Value value);
  std::optional<double> judge(mlir::Value value);
  bool isFarAbove(mlir::Value value) const;

  const RangeAnalysis &ranges;
  llvm::DenseMap<mlir::Value, std::unique_ptr<AbstractValue>> logarithms;
  llvm::DenseMap<mlir::Value, std::optional<double>> shares;
};

/// Certain if every value flushes, whatever the input.
Certainty certaintyOfFlush(mlir::Value value, const RangeAnalysis &ranges);

/// "about 80 % of the non-zero values are below ... and become 0 in f16".
std::string describeFlush(double share, mlir::Value value);

} // namespace mpopt

#endif // MPOPT_HAZARDS_FLUSHEDSHARE_H
