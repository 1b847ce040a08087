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

StorageError mpopt::storageErrorOf(double value, const StorageFormat &format) {
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
                                   const StorageFormat &format, bool whole,
                                   Tails overflow) {
  Interval edges = format.overflowFrom();
  if (!(variance > 0))
    return (mean >= edges.hi   ? overflow.above
            : mean <= edges.lo ? overflow.below
                               : true)
               ? storageErrorOf(mean, format)
               : StorageError();
  double deviation = std::sqrt(variance);
  StorageError error;
  double u = format.floats ? format.floats->unitRoundoff() : 0;
  // Normal numbers of the format but for a part of (1/64)^3: the rest weighs
  // less than the formula is exact.
  constexpr double kFar = 64, kReach = 9;
  bool isNormal = !whole && deviation >= kFar * format.growsFrom();
  if (isNormal && std::fabs(mean) + kReach * deviation < edges.hi) {
    error.square = kRoundingSquare * u * u * (mean * mean + variance);
    return error;
  }
  auto partWithin = [&](double lo, double hi) {
    return lo < hi ? partOf(mean, deviation, lo, hi) : Part();
  };
  // Both signs of the magnitudes from `lo` to `hi` that do not overflow.
  auto magnitudes = [&](double lo, double hi) {
    Part above = partWithin(lo, std::min(hi, edges.hi));
    if (mean == 0 && edges.lo == -edges.hi)
      return Part{2 * above.share, 0, 2 * above.second};
    Part below = partWithin(std::max(-hi, edges.lo), -lo);
    return Part{above.share + below.share, above.first + below.first,
                above.second + below.second};
  };
  auto replace = [&](const Part &part, double stored) {
    error.mean += stored * part.share - part.first;
    error.square +=
        stored * stored * part.share - 2 * stored * part.first + part.second;
  };
  // A number that overflows is lost with its whole size.
  Interval ends = format.saturates ? format.ends() : Interval{0, 0};
  if (overflow.above)
    replace(partWithin(edges.hi, kInfinity), ends.hi);
  if (overflow.below)
    replace(partWithin(-kInfinity, edges.lo), ends.lo);
  whole &= format.scale == 1;
  double least = isNormal        ? 0
                 : !whole        ? format.growsFrom()
                 : format.floats ? std::ldexp(1.0, int(format.floats->digits))
                                 : kInfinity;
  error.square += kRoundingSquare * u * u * magnitudes(least, kInfinity).second;
  if (whole || isNormal)
    return error;
  replace(magnitudes(0, format.flushAt()), 0);
  double step = format.step();
  error.square +=
      magnitudes(format.flushAt(), format.growsFrom()).share * step * step / 12;
  return error;
}
