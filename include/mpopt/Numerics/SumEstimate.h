//===- SumEstimate.h - What a sum typically loses ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_NUMERICS_SUMESTIMATE_H
#define MPOPT_NUMERICS_SUMESTIMATE_H

#include "mpopt/Numerics/FloatFormat.h"

namespace mpopt {

/// True of an accumulator with fewer digits than its format has: tensor cores
/// align terms to the largest of them and cut off what lies below.
inline bool cutsOff(const FloatFormat &accumulator) {
  return accumulator.digits <
         llvm::APFloat::semanticsPrecision(*accumulator.semantics);
}

/// The typical rounding error of a sum, relative to the sum, if `n` terms of
/// that mean and variance are added one after another, or pairwise: half a unit
/// of each partial sum's size. 0 if all terms are 0. It is no bound; those are
/// in Accumulation.h.
double estimateSumError(const FloatFormat &format, double n, double mean,
                        double variance, bool pairwise);

/// The expected difference of a sum that is added in a format, and its square,
/// in units of the exact sum's root mean square and of its square.
struct SumError {
  double mean = 0, square = 0;
  /// The root mean square of the exact sum.
  double size = 0;
  /// True if a partial sum is expected to overflow.
  bool overflows = false;
};

/// The error of adding `n` normal terms of that mean and variance. In sequence,
/// terms below half a unit in the last place of the partial sum are absorbed,
/// so that a long sum of positive terms stops growing; pairwise, the terms of
/// each level are about as large as the partial sums. Where the accumulator
/// truncates, terms lose half a unit of the partial sum towards zero.
SumError estimateSum(const FloatFormat &format, double n, double mean,
                     double variance, bool pairwise);

} // namespace mpopt

#endif // MPOPT_NUMERICS_SUMESTIMATE_H
