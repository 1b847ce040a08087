//===- Likely.cpp - Expected ranges of numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/LikelyGroups.h"

#include "Gamma.h"
#include "Quadrature.h"

#include "mpopt/Numerics/EstimateMath.h"
#include "mpopt/Numerics/FunctionTable.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Normal.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numbers>
#include <optional>

using namespace mpopt;
using llvm::ArrayRef, llvm::MutableArrayRef, llvm::SmallVector;

/// Points of the grid on which a function's extremes are looked for.
static constexpr int kGrid = 33;

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

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {
/// Extremes of the values that are numbers.
struct Extremes {
  double low = kInfinity, high = -kInfinity;

  void add(double value) {
    // NaN is neither less nor greater.
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
};
} // namespace

/// The points at which quadrature asks for a function of x.
static constexpr size_t kPoints = 2 * std::size(kNodes) - 1;
using NodeNumbers = std::array<double, kPoints>;

static NodeNumbers findNodes(const Likely &x) {
  NodeNumbers points;
  double sigma = x.deviation();
  size_t count = 0;
  for (const QuadratureNode &node : kNodes) {
    if (node.at > 0)
      points[count++] = std::clamp(x.mean - node.at * sigma, x.lo, x.hi);
    points[count++] = std::clamp(x.mean + node.at * sigma, x.lo, x.hi);
  }
  return points;
}

/// The moments by the values at those points, with `extremes` as the extremes.
static Likely sumNodes(const NodeNumbers &values, const Extremes &extremes) {
  auto [low, high] = extremes;
  if (low > high)
    return {NAN, NAN, NAN, NAN}; // Outside the domain everywhere.
  Likely result = {low, 0, low, high};
  // Nodes outside the domain have no weight.
  auto forEach =
      [&](llvm::function_ref<void(double value, double weight)> add) {
        size_t count = 0;
        for (const QuadratureNode &node : kNodes)
          for (int side = node.at > 0 ? 2 : 1; side > 0; --side, ++count)
            if (std::isfinite(values[count]))
              add(values[count], node.weight);
      };
  double total = 0, mean = 0;
  forEach([&](double value, double weight) {
    total += weight;
    mean += weight * value;
  });
  if (total > 0) {
    mean /= total;
    // Around the mean: the difference of large moments would cancel.
    forEach([&](double value, double weight) {
      result.variance += weight / total * (value - mean) * (value - mean);
    });
    result.mean = mean;
  }
  return result.within({low, high});
}

/// The moments of f(x), and `extremes` as the extremes of its values.
template <typename Function>
static Likely integrate(const Function &function, const Likely &x,
                        const Extremes &extremes) {
  NodeNumbers values;
  if (x.variance == 0)
    values.fill(function(std::clamp(x.mean, x.lo, x.hi)));
  else
    llvm::transform(findNodes(x), values.begin(), function);
  return sumNodes(values, extremes);
}

/// Where extremes are looked for: a grid, and the mean, where a peak often is.
static SmallVector<double, kGrid + 1> findGrid(const Likely &x) {
  SmallVector<double, kGrid + 1> points = {std::clamp(x.mean, x.lo, x.hi)};
  for (int i = 0; i < kGrid && x.hi > x.lo; ++i) {
    double part = double(i) / (kGrid - 1);
    points.push_back(x.lo * (1 - part) + x.hi * part);
  }
  return points;
}

template <typename Function>
static Extremes searchExtremes(const Function &function, const Likely &x) {
  Extremes extremes;
  for (double point : findGrid(x))
    extremes.add(function(point));
  return extremes;
}

/// The same where the least value is about where a gamma distribution has it,
/// and a normal one would reach far below: sums of positive terms. Where an
/// epsilon holds up the least value, a shape of at least 1, whose density at 0
/// is finite, tells that numbers are not often next to it.
static std::optional<NodeNumbers> findGammaNodes(const Likely &x, double k) {
  double ratio = expectedLeast(x.mean, x.variance, k) / x.lo;
  double shape = x.mean * x.mean / x.variance;
  if (!(ratio > 0.5 && (ratio < 2 || shape >= 1)))
    return std::nullopt;
  NodeNumbers points = findNodes({0, 1, -kInfinity, kInfinity});
  for (double &at : points)
    at = std::clamp(gammaQuantileAt(shape, at) * x.variance / x.mean, x.lo,
                    x.hi);
  return points;
}

/// The same for the exponential of a normal number, whose logarithm has k
/// deviations to either extreme, if the moments are those of such a number.
static std::optional<NodeNumbers> findExponentialNodes(const Likely &x,
                                                       double k) {
  double lo = std::log(x.lo), hi = std::log(x.hi);
  NodeNumbers points =
      findNodes({(lo + hi) / 2, std::pow((hi - lo) / (2 * k), 2), lo, hi});
  llvm::transform(points, points.begin(),
                  [](double at) { return std::exp(at); });
  Likely told = sumNodes(points, {x.lo, x.hi});
  auto isNear = [](double one, double other) {
    return std::fabs(one - other) < 0.1 * other;
  };
  if (!isNear(told.mean, x.mean) || !isNear(told.deviation(), x.deviation()))
    return std::nullopt;
  return points;
}

/// Nothing if a normal number of these moments is positive, too.
static std::optional<NodeNumbers> findPositiveNodes(const Likely &x, double k) {
  if (!(x.lo > 0) || !(x.variance > 0) || x.mean - x.lo >= k * x.deviation())
    return std::nullopt;
  std::optional<NodeNumbers> nodes = findGammaNodes(x, k);
  return nodes ? nodes : findExponentialNodes(x, k);
}

Likely likely::apply(llvm::function_ref<double(double)> function,
                     const Likely &x) {
  return integrate(function, x, searchExtremes(function, x));
}

Likely likely::applyToAll(
    llvm::function_ref<void(ArrayRef<double>, MutableArrayRef<double>)>
        function,
    const Likely &x) {
  SmallVector<double, kPoints + kGrid + 1> points(findGrid(x));
  size_t grid = points.size();
  llvm::append_range(points, findNodes(x));
  SmallVector<double, kPoints + kGrid + 1> values(points.size());
  function(points, values);
  Extremes extremes;
  for (double value : ArrayRef(values).take_front(grid))
    extremes.add(value);
  NodeNumbers at;
  llvm::copy(ArrayRef(values).drop_front(grid), at.begin());
  return sumNodes(at, extremes);
}

Likely likely::applyMonotone(llvm::function_ref<double(double)> function,
                             const Likely &x) {
  Extremes extremes;
  extremes.add(function(x.lo));
  extremes.add(function(x.hi));
  return integrate(function, x, extremes);
}

Likely likely::reciprocal(const Likely &x, double k) {
  double least = std::min(std::fabs(x.lo), std::fabs(x.hi));
  bool holdsZero = x.lo <= 0 && x.hi >= 0;
  if (holdsZero) {
    // One of N draws, k^2 = 2 ln N, is expected within e of zero where N 2 e
    // density(0) = 1. The density is normal, at least that of a flat one over
    // the extremes.
    double sigma = x.deviation(), width = x.hi - x.lo;
    if (width == 0)
      return Likely::point(kInfinity);
    double draws = std::exp(std::min(k * k / 2, 700.0));
    double density = 1 / width;
    if (sigma > 0) {
      double z = x.mean / sigma;
      density =
          std::max(density, std::exp(-z * z / 2) /
                                (sigma * std::sqrt(2 * std::numbers::pi)));
    }
    least = 1 / (2 * draws * density);
  }
  auto invert = [&](double value) {
    return 1 / std::copysign(std::max(std::fabs(value), least),
                             value == 0 ? (x.hi > 0 ? 1 : -1) : value);
  };
  // It falls on either side of the pole, on which there are values only if
  // the operand's range reaches there.
  Extremes extremes;
  extremes.add(holdsZero && x.hi > 0 ? 1 / least : 1 / x.lo);
  extremes.add(holdsZero && x.lo < 0 ? -1 / least : 1 / x.hi);
  if (std::optional<NodeNumbers> nodes = findPositiveNodes(x, k)) {
    llvm::transform(*nodes, nodes->begin(), invert);
    return sumNodes(*nodes, extremes);
  }
  return integrate(invert, x, extremes);
}

Likely likely::div(const Likely &a, const Likely &b, double k) {
  return mul(a, reciprocal(b, k), k);
}

likely::UnaryEstimate::UnaryEstimate(const Unary &unary)
    : unary(unary), breaks(getBreaks(unary)) {
  FunctionFacts facts = getFacts(unary);
  domain = facts.domain;
  monotone = facts.spacing == 0 && !unary.function.row().interior &&
             (facts.monotone != Monotone::InPieces || !breaks.empty());
}

Likely likely::UnaryEstimate::operator()(const Likely &x) const {
  if (unary.function == UnaryFunction::Square)
    return square(x);
  auto function = [&](double at) { return evaluate(unary, at); };
  if (!monotone || !(domain.lo < x.lo && x.lo <= x.hi && x.hi < domain.hi))
    return integrate(function, x, searchExtremes(function, x));
  Extremes extremes;
  extremes.add(function(x.lo));
  extremes.add(function(x.hi));
  for (double at : breaks)
    if (x.lo < at && at < x.hi)
      extremes.add(function(at));
  return integrate(function, x, extremes);
}

Likely likely::apply(const Unary &unary, const Likely &x) {
  return UnaryEstimate(unary)(x);
}

Likely likely::sum(double mean, double variance, double tail, double k) {
  double reach = std::max(k * std::sqrt(variance), tail);
  return {mean, variance, mean - reach, mean + reach};
}

double likely::tailFromPower(double power) {
  return std::cbrt(std::sqrt(power));
}
