//===- OutputSize.cpp - What an output's error is relative to
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OutputSize.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Propagate/MeanSquare.h"

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// The expected largest error of so many elements, in units of their root mean
/// square. An element's error is a sum of roundings, which is normal, but of a
/// size that is the element's own, as gradients vary like values do: a product
/// of two normal numbers, whose tail is sqrt(2 / (pi t)) e^-t. Normal errors of
/// one size are half as far out.
static double expectedLargest(double count) {
  constexpr double kEuler = 0.5772156649015329;
  constexpr int kSteps = 8;
  double t = 1;
  for (int step = 0; step < kSteps; ++step)
    t = std::max(0.1,
                 std::log(std::max(count, 1.0) * std::sqrt(2 / (M_PI * t))));
  return t + kEuler; // the tail falls by e in each unit
}

double OutputSize::peak() const {
  return expectedLargest(moving) * std::sqrt(count / moving);
}

/// The share of the elements that hold nearly all of the error. Probabilities p
/// move by p (1 - p): of a row those that are not next to 0, as many as 1 over
/// the sum of p^2, and of logistic functions those between their ends.
static double shareMoving(Value output, double mean, double square) {
  Operation *op = getMaker(output, Peel::CastsAndViews);
  if (!op || !(square > 0) || !(mean > 0))
    return 1;
  if (hasRole(getResultMeaning(op), Role::Softmax))
    return std::min(1.0, mean * mean / square);
  std::optional<Unary> function = getFunction(op);
  if (function && function->function == UnaryFunction::Sigmoid)
    return std::clamp(4 * (mean - square), 0.0, 1.0);
  return 1;
}

/// The expected largest magnitude of a group. Extremes are those that none of
/// `count` elements is expected to pass; of numbers that end nearer to their
/// mean, as probabilities, the end is met.
static double expectedMost(const Cell &cell, double count) {
  double most = expectedMaximum(2 * count),
         ratio = most / expectedExtreme(count),
         near = most * std::sqrt(cell.variance);
  auto reach = [&](double distance) {
    return distance > near ? std::max(near, ratio * distance) : distance;
  };
  return std::max(std::fabs(cell.mean - reach(cell.mean - cell.likelyLo)),
                  std::fabs(cell.mean + reach(cell.likelyHi - cell.mean)));
}

std::optional<OutputSize> mpopt::sizeOf(Value output,
                                        const RangeAnalysis &ranges) {
  const AbstractValue &value = ranges.preRounding(output);
  if (!value.hasLikely())
    return std::nullopt;
  OutputSize size;
  double mean = 0;
  if (MaybeShape shape = getShape(output))
    for (int64_t dim : *shape)
      size.count *= double(std::max<int64_t>(dim, 1));
  for (const Cell &cell : value.cells()) {
    mean += cell.mean;
    size.rms += meanSquare(cell);
    size.most = std::max(size.most, expectedMost(cell, size.count));
  }
  mean /= double(value.groups());
  size.rms = std::sqrt(size.rms / double(value.groups()));
  if (!(size.rms > 0 || value.constant() == 0.0) || !std::isfinite(size.rms))
    return std::nullopt;
  size.most = std::max(size.most, size.rms);
  size.moving = std::max(
      1.0, size.count * shareMoving(output, mean, size.rms * size.rms));
  size.normal = size.count * size.rms * size.rms;
  return size;
}
