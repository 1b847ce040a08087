//===- SumEstimate.cpp - What a sum typically loses
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/SumEstimate.h"

#include "mpopt/Numerics/Interval.h"
#include "mpopt/Numerics/Normal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace mpopt;

/// The sum of the magnitudes of the partial sums over that of the sum itself,
/// for terms of mean `m` and variance `v`.
static double getGrowth(double n, double m, double v, bool pairwise) {
  auto partial = [&](double k) { return std::sqrt(k * k * m * m + k * v); };
  double whole = partial(n), all = 0;
  if (!(whole > 0))
    return 0;
  if (!pairwise) {
    // The integrals of k |m| and of sqrt(k) s, which bound the root.
    all = std::fabs(m) * n * n / 2 + std::sqrt(v) * std::pow(n, 1.5) * 2 / 3;
    return all / whole;
  }
  double k = 2;
  while (k < 2 * n) {
    all += n / std::min(k, n) * partial(std::min(k, n));
    k *= 2;
  }
  return all / whole;
}

double mpopt::estimateSumError(const FloatFormat &format, double n, double mean,
                               double variance, bool pairwise) {
  return getGrowth(n, mean, variance, pairwise) * format.unitRoundoff();
}

namespace {
/// Mean and variance of what rounding to a multiple of 1 changes.
struct Rounding {
  double mean = 0, variance = 0;
};
} // namespace

/// The numbers that become `whole`: the nearest ones, or those that lie behind
/// it as seen from 0.
static Interval cellOf(double whole, bool truncates) {
  if (!truncates)
    return {whole - 0.5, whole + 0.5};
  return {whole <= 0 ? whole - 1 : whole, whole >= 0 ? whole + 1 : whole};
}

/// Normal numbers with that mean and deviation as whole ones.
static Rounding roundToWhole(double mean, double deviation, bool truncates) {
  // From one unit on the first Fourier coefficient of the sawtooth, which is
  // exp(-2 pi^2) / pi, is below a double's digits beside 1/12. What is cut off
  // is half a unit towards zero on average.
  if (deviation >= 1) {
    double towardsZero =
        truncates ? (1 - 2 * normalShareBelow(mean / deviation)) / 2 : 0;
    return {towardsZero,
            1.0 / 12 + (truncates ? 0.25 : 0) - towardsZero * towardsZero};
  }
  double nearest = truncates ? std::trunc(mean) : std::nearbyint(mean);
  if (deviation == 0)
    return {nearest - mean, 0};
  // No number is expected beyond eight deviations.
  constexpr double kReach = 8;
  int reach = int(std::ceil(kReach * deviation)) + 1;
  double first = 0, second = 0;
  for (int step = -reach; step <= reach; ++step) {
    double whole = nearest + step;
    Interval cell = cellOf(whole, truncates);
    double lo = (cell.lo - mean) / deviation, hi = (cell.hi - mean) / deviation;
    double share = normalShareBelow(hi) - normalShareBelow(lo);
    // The moments of z within the interval.
    double z = normalDensity(lo) - normalDensity(hi);
    double square = share + lo * normalDensity(lo) - hi * normalDensity(hi);
    double off = whole - mean;
    first += off * share - deviation * z;
    second += off * off * share - 2 * off * deviation * z +
              deviation * deviation * square;
  }
  return {first, std::max(0.0, second - first * first)};
}

SumError mpopt::estimateSum(const FloatFormat &format, double n, double mean,
                            double variance, bool pairwise) {
  SumError error;
  double deviation = std::sqrt(variance);
  auto sizeOf = [&](double sum, double k) {
    return std::sqrt(sum * sum + k * variance);
  };
  error.size = sizeOf(n * mean, n);
  if (!(error.size > 0) || !std::isfinite(error.size))
    return {};
  double bias = 0, noise = 0;
  bool truncates = cutsOff(format);
  auto unitOf = [&](double size) {
    error.overflows |= size >= format.overflowFrom;
    return format.ulp(std::max(size, format.minNormal));
  };
  if (pairwise) {
    double k = 2;
    while (k <= n && !error.overflows) {
      double unit = unitOf(sizeOf(k * mean, k));
      noise += n / k * unit * unit / 12;
      k *= 2;
    }
  } else {
    // Segments of a sixteenth of the length: the unit changes once in an octave
    // of the partial sum.
    double sum = mean;
    for (double k = 1; k < n && !error.overflows;) {
      double steps = std::min(n - k, std::max(1.0, k / 16));
      double unit = unitOf(sizeOf(sum, k));
      Rounding each = roundToWhole(mean / unit, deviation / unit, truncates);
      bias += steps * each.mean * unit;
      noise += steps * each.variance * unit * unit;
      sum += steps * (mean + each.mean * unit);
      k += steps;
    }
  }
  error.overflows |= sizeOf(n * mean + bias, n) >= format.overflowFrom;
  error.mean = bias / error.size;
  error.square = (bias * bias + noise) / (error.size * error.size);
  return error;
}
