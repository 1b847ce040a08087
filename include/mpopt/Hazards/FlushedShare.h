//===- FlushedShare.h - How much of a tensor becomes zero -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The estimate that MP204 and MP213 share: the expected share of a result's
// non-zero values that its dtype stores as zero.
//
// The share is taken from ln|x| where the domain LogMagnitude knows it,
// elsewhere from mean and variance.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_FLUSHEDSHARE_H
#define MPOPT_HAZARDS_FLUSHEDSHARE_H

#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Propagate/LogMagnitude.h"

#include "llvm/ADT/DenseMap.h"

#include <array>

namespace mpopt {

using QuantilePoints = std::array<double, 256>; // shares of a percent differ
/// The quantiles of a normal number of the cell's mean and variance at the
/// middles of equal shares, within the extremes that are expected.
QuantilePoints quantilesOf(const Cell &cell);

/// An analysis of the module.
class FlushedShares {
public:
  FlushedShares(mlir::Operation *module, mlir::AnalysisManager &manager);
  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &analyses);

  /// Expected share, in [0, 1], of the non-zero values of `value` that become 0
  /// where it is stored; nothing if none is expected or the estimate is
  /// unknown.
  std::optional<double> of(mlir::Value value);
  /// The same of the values up to a magnitude, that of each group of the range
  /// or one for all; 0 where none is expected or nothing is known.
  double below(mlir::Value value, llvm::ArrayRef<double> edges);

private:
  std::optional<double> judge(mlir::Value value);
  std::optional<double> judge(mlir::Value value,
                              llvm::ArrayRef<double> edges) const;

  const RangeAnalysis &ranges;
  LogMagnitude logarithms;
  llvm::DenseMap<mlir::Value, std::optional<double>> shares;
};

/// The certainty of a flush: certain if every value flushes, whatever the
/// input.
Certainty certaintyOfFlush(mlir::Value value, const RangeAnalysis &ranges);

/// The part of the squared error of storing `value` that the share of it has
/// which becomes 0; 1 where anything but products of matrices reads the value:
/// a logarithm, a root or a divisor needs its small elements.
double partOfFlush(double share, mlir::Value value,
                   const RangeAnalysis &ranges);

/// "about 80 % of the non-zero values are below ... and become 0 in f16".
std::string describeFlush(double share, mlir::Value value);

} // namespace mpopt

#endif // MPOPT_HAZARDS_FLUSHEDSHARE_H
