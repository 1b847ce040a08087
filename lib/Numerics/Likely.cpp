//===- Likely.cpp - Expected ranges of numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/LikelyGroups.h"

#include "mpopt/Numerics/EstimateMath.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Normal.h"

#include "llvm/ADT/STLExtras.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numbers>

using namespace mpopt;

/// Steps on a quarter of the circle that two factors' extremes share.
static constexpr int kAngles = 8;
/// cos(i pi / 16), and its binary logarithm where it is neither 0 nor 1.
static constexpr double kCosines[kAngles + 1] = {1,
                                                 0.9807852804032304,
                                                 0.9238795325112867,
                                                 0.8314696123025452,
                                                 0.7071067811865476,
                                                 0.5555702330196023,
                                                 0.38268343236508984,
                                                 0.19509032201612833,
                                                 0};
static constexpr double kCosineLogs[kAngles + 1] = {0,
                                                    -0.027990767621123378,
                                                    -0.11422334841819404,
                                                    -0.26626455654802933,
                                                    -0.4999999999999999,
                                                    -0.8479587918701645,
                                                    -1.3857766515818057,
                                                    -2.3577858839606822,
                                                    0};

Likely Likely::normal(double mean, double variance, double k) {
  double reach = k * std::sqrt(variance);
  return {mean, variance, mean - reach, mean + reach};
}

Likely Likely::uniform(double lo, double hi) {
  double width = hi - lo;
  return {lo / 2 + hi / 2, width * width / 12, lo, hi};
}

double Likely::deviation() const { return std::sqrt(variance); }

double Likely::absMax() const { return std::max(std::fabs(lo), std::fabs(hi)); }

Likely Likely::within(const Interval &bound) const {
  if (bound.isEmpty())
    return *this;
  Likely cut = *this;
  cut.lo = std::clamp(lo, bound.lo, bound.hi);
  cut.hi = std::clamp(hi, cut.lo, bound.hi);
  cut.mean = std::clamp(mean, cut.lo, cut.hi);
  cut.variance = std::min(variance, (cut.hi - cut.mean) * (cut.mean - cut.lo));
  return cut;
}

double mpopt::expectedExtreme(double count, double draws) {
  return std::sqrt(2 * std::log(std::max(count * draws, 2.0)));
}

double mpopt::expectedFilterExtreme(double count) {
  // From where the Laplacian reaches beyond the normal on.
  return std::max(expectedExtreme(count),
                  std::pow(std::log(std::max(count, 2.0)), 0.75));
}

double mpopt::expectedMaximum(double count) {
  if (count <= 1)
    return 0;
  if (count <= 2)
    return 0.5642; // 1 / sqrt(pi), of two normal draws
  // Cramer's expansion; within 3 % from 3 draws on with Euler's constant.
  double root = std::sqrt(2 * std::log(count));
  return std::max(0.5642, root - (std::log(std::log(count)) +
                                  std::log(4 * std::numbers::pi) - 2 * 0.5772) /
                                     (2 * root));
}

double mpopt::varianceOfMaximum(double count) {
  // pi^2 / 6 of the scale squared; at most the variance of one draw.
  double scale = std::max(1.28, expectedExtreme(count));
  return std::numbers::pi * std::numbers::pi / 6 / (scale * scale);
}

Likely likely::affine(const Likely &x, double scale, double shift) {
  double a = scale * x.lo + shift, b = scale * x.hi + shift;
  return {scale * x.mean + shift, scale * scale * x.variance, std::min(a, b),
          std::max(a, b)};
}

Likely likely::add(const Likely &a, const Likely &b) {
  double mean = a.mean + b.mean;
  return {mean, a.variance + b.variance,
          mean - getLength(a.mean - a.lo, b.mean - b.lo),
          mean + getLength(a.hi - a.mean, b.hi - b.mean)};
}

Likely likely::sub(const Likely &a, const Likely &b) {
  return add(a, affine(b, -1, 0));
}

/// 2^x within 1e-11 of itself, for |x| < 1000: by its series around the nearest
/// integer, without a call, so that loops of it become vector code.
static inline double estimateExp2(double x) {
  // ln(2)^i / i!.
  constexpr double terms[] = {1,
                              0.6931471805599453,
                              0.2402265069591007,
                              0.055504108664821576,
                              0.009618129107628477,
                              0.0013333558146428441,
                              0.00015403530393381606,
                              1.5252733804059838e-05,
                              1.3215486790144305e-06,
                              1.0178086009239696e-07,
                              7.054911620801121e-09};
  double shifted = x + 0x1.8p52, whole = shifted - 0x1.8p52, part = x - whole;
  double sum = 0;
  for (size_t i = std::size(terms); i-- > 0;)
    sum = sum * part + terms[i];
  auto exponent = std::bit_cast<uint64_t>(shifted) + 1023;
  return sum * std::bit_cast<double>(exponent << 52);
}

namespace {
/// The quantiles of a value r = kCosines[i] k standard deviations out: a power
/// of the cosine that is one deviation at r = 1 and the extreme at k. Linear
/// for a normal value; what is heavier is far out at its extreme only.
struct Tails {
  double above[kAngles + 1], below[kAngles + 1];

  Tails(const Likely &x, double k) {
    double deviation = x.deviation();
    fill(above, x.mean, x.hi - x.mean, deviation, k);
    fill(below, x.mean, x.lo - x.mean, deviation, k);
  }

private:
  static double getPower(double reach, double deviation, double k) {
    if (k < 1.5 || deviation == 0 || reach == 0)
      return 1;
    return std::clamp(std::log(reach / deviation) / std::log(k), 0.25, 8.0);
  }
  static void fill(double (&quantiles)[kAngles + 1], double mean, double reach,
                   double deviation, double k) {
    double power = getPower(std::fabs(reach), deviation, k);
    for (int i = 0; i <= kAngles; ++i)
      quantiles[i] =
          power == 1 ? kCosines[i] : estimateExp2(power * kCosineLogs[i]);
    quantiles[kAngles] = 0;
    for (double &quantile : quantiles)
      quantile = mean + reach * quantile;
  }
};
} // namespace

/// The most probable way to a product as rare as one draw in many: both factors
/// out together, on the circle of radius k in standard deviations. For centred
/// normal factors this gives sigma sigma' k^2 / 2, the product's own tail.
Likely likely::mul(const Likely &a, const Likely &b, double k) {
  double mean = a.mean * b.mean;
  double variance = a.variance * b.variance + a.variance * b.mean * b.mean +
                    b.variance * a.mean * a.mean;
  // A constant only scales.
  if (a.variance == 0 && a.lo == a.hi)
    return affine(b, a.mean, 0);
  if (b.variance == 0 && b.lo == b.hi)
    return affine(a, b.mean, 0);
  Tails x(a, k), y(b, k);
  Likely result = {mean, variance, mean, mean};
  for (int i = 0; i <= kAngles; ++i)
    for (double left : {x.above[i], x.below[i]})
      for (double right : {y.above[kAngles - i], y.below[kAngles - i]}) {
        result.lo = std::min(result.lo, left * right);
        result.hi = std::max(result.hi, left * right);
      }
  return result.within(Interval{a.lo, a.hi} * Interval{b.lo, b.hi});
}

Likely likely::square(const Likely &x) {
  double m = x.mean * x.mean;
  Interval extremes = mpopt::square({x.lo, x.hi});
  Likely result = {m + x.variance,
                   2 * x.variance * x.variance + 4 * m * x.variance,
                   extremes.lo, extremes.hi};
  return result.within(extremes);
}

Likely likely::max(const Likely &a, const Likely &b) {
  Interval extremes = {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  double theta = std::sqrt(a.variance + b.variance);
  if (theta == 0) {
    double mean = std::max(a.mean, b.mean);
    return Likely{mean, 0, extremes.lo, extremes.hi}.within(extremes);
  }
  double z = (a.mean - b.mean) / theta;
  double density = normalDensity(z);
  double above = normalShareBelow(z), below = 1 - above;
  double mean = a.mean * above + b.mean * below + theta * density;
  double second = (a.mean * a.mean + a.variance) * above +
                  (b.mean * b.mean + b.variance) * below +
                  (a.mean + b.mean) * theta * density;
  Likely result = {mean, std::max(second - mean * mean, 0.0), extremes.lo,
                   extremes.hi};
  return result.within(extremes);
}

Likely likely::min(const Likely &a, const Likely &b) {
  return affine(max(affine(a, -1, 0), affine(b, -1, 0)), -1, 0);
}

Likely likely::mix(const Likely &a, const Likely &b, double probability) {
  double rest = 1 - probability, apart = a.mean - b.mean;
  return {probability * a.mean + rest * b.mean,
          probability * a.variance + rest * b.variance +
              probability * rest * apart * apart,
          std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

Likely likely::truncate(const Likely &x, const Interval &range) {
  Interval kept = intersect(Interval{x.lo, x.hi}, range);
  double deviation = x.deviation();
  if (kept.isEmpty() || deviation == 0)
    return x;
  auto density = [](double z) {
    return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  };
  auto below = [](double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; };
  double low = (kept.lo - x.mean) / deviation,
         high = (kept.hi - x.mean) / deviation;
  double share = below(high) - below(low);
  // Where next to nothing is taken, all of it is as likely.
  constexpr double kLeast = 1e-9;
  if (!(share > kLeast))
    return Likely::uniform(kept.lo, kept.hi);
  double shift = (density(low) - density(high)) / share;
  double factor =
      1 + (low * density(low) - high * density(high)) / share - shift * shift;
  return {x.mean + deviation * shift, x.variance * std::max(factor, 0.0),
          kept.lo, kept.hi};
}
