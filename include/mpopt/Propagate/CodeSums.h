//===- CodeSums.h - Sums of products of codes -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights are constants and codes lie between two ends: the extremes of a sum
// of products, and of each pair that a kernel adds in 16 bits, are exact. How
// often a pair saturates follows from the codes that are expected.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PROPAGATE_CODESUMS_H
#define MPOPT_PROPAGATE_CODESUMS_H

#include "mpopt/Numerics/Target.h"
#include "mpopt/Propagate/IntegerProduct.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include <vector>

namespace mpopt {

/// The sums of one output channel: the extremes of all codes, which those at
/// the ends that the signs of the weights ask for attain, and the one that is
/// expected.
struct ChannelSum {
  double least = 0, most = 0, expected = 0;
  /// Weights of each sign.
  int64_t positive = 0, negative = 0;

  double reach() const { return std::max(most, -least); }
};

/// The sums of all channels, less zero points; empty where the weights cannot
/// be read or no sum of so many terms reaches `limit`.
std::vector<ChannelSum> addUpCodes(const IntegerOperands &product,
                                   const RangeAnalysis &ranges, double limit);

/// Two products that follow each other in a sum, and are added in bits that
/// saturate.
struct PairSums {
  /// All pairs of a row of activations, those that saturate for some codes, and
  /// for how many of them it is expected.
  double count = 0, possible = 0, expected = 0;
  /// The error that is added to a sum of each output channel, in products of
  /// codes.
  std::vector<double> mean, variance;
  /// How many pairs of a row of activations are expected to saturate with the
  /// weights of any channel: these lose together.
  double hits = 0;
};

/// Nothing where the target's kernels add exactly: other codes than of 8 bits
/// by signed 8 bits, weights that are not known, grouped convolutions.
std::optional<PairSums> findPairs(mlir::Operation *op,
                                  const IntegerOperands &product,
                                  const RangeAnalysis &ranges,
                                  const CodeArithmetic &target);

/// The error that pairs and accumulators bring into each output channel of the
/// product, in the numbers for which codes stand, and the
/// pairs of all rows that saturate; nothing where none does.
struct CodeSumError {
  AbstractValue error;
  double hits = 0;
};
std::optional<CodeSumError> errorOfSums(mlir::Operation *op,
                                        const IntegerOperands &product,
                                        const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_PROPAGATE_CODESUMS_H
