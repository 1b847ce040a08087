//===- StorageError.cpp - What storing numbers changes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/StorageError.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Normal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace mpopt;

namespace {
/// Probability, first and second moment of the part of a normal number within
/// an interval.
struct Part {
  double share = 0, first = 0, second = 0;
};
} // namespace

/// P(lo < z < hi) of a standard normal z, without cancellation in the tails.
static double shareOf(double lo, double hi) {
  if (lo > 0)
    return shareOf(-hi, -lo);
  return 0.5 * (std::erfc(-hi / std::numbers::sqrt2) -
                std::erfc(-lo / std::numbers::sqrt2));
}

static Part partOf(double mean, double deviation, double lo, double hi) {
  double a = (lo - mean) / deviation, b = (hi - mean) / deviation;
  auto times = [](double z) {
    return std::isinf(z) ? 0 : z * normalDensity(z);
  };
  Part part;
  part.share = std::max(0.0, shareOf(a, b));
  double slope = normalDensity(a) - normalDensity(b);
  part.first = mean * part.share + deviation * slope;
  part.second = mean * mean * part.share + 2 * mean * deviation * slope +
                deviation * deviation * (part.share + times(a) - times(b));
  part.second = std::max(0.0, part.second);
  return part;
}

/// Both signs of the magnitudes from `lo` to `hi`.
static Part magnitudesOf(double mean, double deviation, double lo, double hi) {
  if (!(lo < hi))
    return {};
  Part above = partOf(mean, deviation, lo, hi);
  Part below = partOf(mean, deviation, -hi, -lo);
  return {above.share + below.share, above.first + below.first,
          above.second + below.second};
}

StorageError mpopt::storageErrorOf(double value, const FloatFormat &format) {
  StorageError error;
  if (!std::isfinite(value))
    return error;
  double stored = format.round(value);
  // A number that overflows is lost with its whole size.
  error.mean = std::isfinite(stored) ? stored - value : -value;
  error.square = error.mean * error.mean;
  return error;
}

StorageError mpopt::storageErrorOf(double mean, double variance,
                                   const FloatFormat &format, bool whole,
                                   bool overflows) {
  if (!(variance > 0))
    return overflows || std::fabs(mean) < format.overflowFrom
               ? storageErrorOf(mean, format)
               : StorageError();
  double deviation = std::sqrt(variance);
  StorageError error;
  double u = format.unitRoundoff();
  // Normal numbers of the format but for a part of (1/64)^3: the rest weighs
  // less than the formula is exact.
  constexpr double kFar = 64, kReach = 9;
  if (!whole && deviation >= kFar * format.minNormal &&
      std::fabs(mean) + kReach * deviation < format.overflowFrom) {
    error.square = kRoundingSquare * u * u * (mean * mean + variance);
    return error;
  }
  auto lose = [&](double lo, double hi) {
    Part part = magnitudesOf(mean, deviation, lo, hi);
    error.mean -= part.first;
    error.square += part.second;
  };
  if (overflows)
    lose(format.overflowFrom, kInfinity);
  double least = whole ? std::ldexp(1.0, int(format.digits)) : format.minNormal;
  error.square +=
      kRoundingSquare * u * u *
      magnitudesOf(mean, deviation, least, format.overflowFrom).second;
  if (whole)
    return error;
  lose(0, format.flushAt);
  Part subnormal =
      magnitudesOf(mean, deviation, format.flushAt, format.minNormal);
  error.square +=
      subnormal.share * format.minSubnormal * format.minSubnormal / 12;
  return error;
}
