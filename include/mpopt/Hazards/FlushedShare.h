//===- FlushedShare.h - How much of a tensor becomes zero -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The estimate that MP204 and MP213 share: the expected share of a result's
// non-zero values that its dtype stores as zero.
//
// The second moment says little about the smallest values: a softmax of
// confident logits has a mean of 1 / n and mostly values of 1e-20. So the share
// is taken from ln|x|, as a normal value. Through exponentials, softmax,
// products, quotients and powers ln|x| follows from the operands; elsewhere
// from mean and variance.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_FLUSHEDSHARE_H
#define MPOPT_HAZARDS_FLUSHEDSHARE_H

#include "mpopt/Hazards/RangeSupport.h"

#include "llvm/ADT/DenseMap.h"

namespace mpopt {

/// Computes the shares; values must be asked for in program order.
class FlushedShares {
public:
  explicit FlushedShares(const RangeAnalysis &ranges) : ranges(ranges) {}

  /// Expected share, in [0, 1], of the non-zero values of `value` that become 0
  /// where it is stored; nothing if none is expected or the estimate is
  /// unknown.
  std::optional<double> of(mlir::Value value);

private:
  /// Mean and variance of ln|x| by group; an empty bound means only zeros. Null
  /// if they say no more than the value itself.
  const AbstractValue *getLogarithm(mlir::Value value);
  std::optional<AbstractValue> computeLogarithm(mlir::Operation *op);
  AbstractValue logarithmOf(mlir::Value value);
  std::optional<double> judge(mlir::Value value);
  bool isFarAbove(mlir::Value value) const;

  const RangeAnalysis &ranges;
  llvm::DenseMap<mlir::Value, std::unique_ptr<AbstractValue>> logarithms;
  llvm::DenseMap<mlir::Value, std::optional<double>> shares;
};

/// The certainty of a flush: certain if every value flushes, whatever the
/// input.
Certainty certaintyOfFlush(mlir::Value value, const RangeAnalysis &ranges);

/// "about 80 % of the non-zero values are below ... and become 0 in f16".
std::string describeFlush(double share, mlir::Value value);

} // namespace mpopt

#endif // MPOPT_HAZARDS_FLUSHEDSHARE_H
