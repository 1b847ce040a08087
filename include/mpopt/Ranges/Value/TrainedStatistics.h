//===- TrainedStatistics.h - Statistics beside an estimate ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model's running statistics tell of the inputs that it was trained on, with
// the weights that it had then. Estimates of channels are compared with them to
// tell whether they are of the same thing.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_TRAINEDSTATISTICS_H
#define MPOPT_RANGES_VALUE_TRAINEDSTATISTICS_H

#include "mpopt/Ranges/Value/AbstractValue.h"

namespace mpopt {

/// True if all of several channels have one mean and one variance, which
/// training never does: they are as somebody filled them in.
inline bool areFilled(const AbstractValue &means,
                      const AbstractValue &variances, size_t channels) {
  return channels > 1 && means.constant() && variances.constant();
}

class StatisticsMatch {
public:
  /// An estimate, and the mean and the variance that training saw.
  void add(const Cell &estimate, double mean, double variance) {
    expected += estimate.variance;
    seen += variance;
    apart += (estimate.mean - mean) * (estimate.mean - mean);
  }
  /// True if means are at most so many deviations apart, of both together.
  bool isNear() const { return apart <= (expected + seen) * kFar * kFar; }
  /// True if deviations are within a factor, too.
  bool isAlike() const {
    return isNear() && seen < expected * kFar * kFar &&
           seen * kFar * kFar > expected;
  }
  /// The variances that training saw, in those of the estimate.
  double ratio() const { return seen / expected; }

private:
  /// The estimate of a large model may be off by as much.
  static constexpr double kFar = 8;
  double expected = 0, seen = 0, apart = 0;
};

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_TRAINEDSTATISTICS_H
