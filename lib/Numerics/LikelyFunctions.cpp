//===- LikelyFunctions.cpp - Expected ranges of functions of numbers
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
#include <cmath>
#include <iterator>
#include <optional>

using namespace mpopt;
using llvm::ArrayRef, llvm::MutableArrayRef, llvm::SmallVector;

/// Points of the grid on which a function's extremes are looked for.
static constexpr int kGrid = 33;

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
  // A number of one sign has few values next to 0, which it may reach.
  Likely positive = x;
  positive.lo = x.lo == 0 ? least : x.lo;
  if (std::optional<NodeNumbers> nodes = findPositiveNodes(positive, k)) {
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
