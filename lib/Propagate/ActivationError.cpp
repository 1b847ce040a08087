//===- ActivationError.cpp - Rounding and clipping of numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ActivationError.h"

#include <algorithm>

using namespace mpopt;

ActivationError::ActivationError(double count, double trust, bool rectifies)
    : count(std::max(count, 1.0)), trust(trust), rectifies(rectifies) {}

/// An end at 0 leaves out one sign: numbers of it that are as large as a
/// quarter of the other side's are believed.
bool ActivationError::isPast(double number, double end,
                             const Interval &ends) const {
  constexpr double kOtherSign = 0.25;
  return number > std::max(trust * end, kOtherSign * (ends.hi - ends.lo));
}

/// An end that is the largest of K evaluations is passed in one of K more by
/// one element of N. Beyond z deviations the tail of normal numbers falls by e
/// in each d / z, whose square is 2 (d / z)^2 in the mean. It is more than the
/// rounding to 16 bits.
double ActivationError::unseenSquare(const Likely &x, const Interval &ends) {
  // Numbers that end nearer to their mean have no tail.
  constexpr double kTail = 2;
  // A calibration that saw what was met ends there, as far as that is known.
  constexpr double kFar = 3;
  double deviation = x.deviation(), square = 0;
  auto add = [&](double end, double most, double bound, double mean) {
    if (!(bound > end) || !(end > 0) || end > kFar * most ||
        most - mean < kTail * deviation)
      return;
    double tail = deviation / std::max((end - mean) / deviation, 1.0);
    square += 2 * tail * tail / (kCalibration * elements);
    hits += count / (kCalibration * elements);
  };
  if (elements > 0 && deviation > 0) {
    add(ends.hi, x.hi, reach.hi, x.mean);
    if (!rectifies)
      add(-ends.lo, -x.lo, -reach.lo, -x.mean);
  }
  return square;
}

StorageError ActivationError::of(const Likely &x, const StorageFormat &scaled) {
  // All that is known of a scale is that it is 0: nothing is left of x.
  if (!(scaled.scale > 0)) {
    StorageError lost = {-x.mean, x.mean * x.mean + x.variance};
    all += lost.square;
    return lost;
  }
  Interval ends = scaled.ends();
  Tails tails(isPast(-x.lo, -ends.lo, ends) && !rectifies,
              isPast(x.hi, ends.hi, ends));
  StorageError rounded =
      storageErrorOf(x.mean, x.variance, scaled, false, false);
  StorageError error = storageErrorOf(x.mean, x.variance, scaled, false, tails);
  // The moments say little of few elements that are far larger.
  double past = std::max(tails.above ? x.hi - ends.hi : 0.0,
                         tails.below ? ends.lo - x.lo : 0.0);
  error.square = std::max(error.square, rounded.square + past * past / count);
  clipped += error.square - rounded.square;
  double rare = tails.above || tails.below ? 0 : unseenSquare(x, ends);
  unseen += rare;
  error.square += rare;
  all += error.square;
  return error;
}
