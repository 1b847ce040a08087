//===- Slope.cpp - Gradients through functions of one number
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Slope.h"

#include "Sums.h"

#include "mpopt/Gradients/SpreadModels.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

namespace {
/// Nodes for the expectation of a function of a standard normal number: points
/// of equal probability, which find a step anywhere, and have variance 1.
template <int count> struct NormalPoints {
  static constexpr int kCount = count;
  std::array<double, kCount> at;
  NormalPoints();
};

using Points = NormalPoints<34>;
/// For an expectation of expectations.
using OuterPoints = NormalPoints<10>;

/// Nodes and weights in place of the last point on each side, for slopes that
/// are 0 but for arguments seldom met: shares that halve from one to the next.
struct TailPoints {
  static constexpr int kCount = 16;
  std::array<double, kCount> at, weights;
  TailPoints();
};

/// The moments of a slope at a normal argument, and the share of exact zeros.
struct SlopeMoments {
  Moments moments;
  double zero = 0;
  double least = 0, most = 0;
  /// The covariance of slope and argument, in deviations of the latter.
  double tilt = 0;
};
} // namespace

template <int count> NormalPoints<count>::NormalPoints() {
  double squares = 0;
  for (int i = 0; i < kCount; ++i) {
    at[i] = normalQuantile((i + 0.5) / kCount);
    squares += at[i] * at[i];
  }
  // The tails' part of the variance is shared out.
  for (double &point : at)
    point *= std::sqrt(kCount / squares);
}

TailPoints::TailPoints() {
  double share = 1.0 / Points::kCount;
  for (int i = 0; i < kCount; ++i, share /= 2) {
    weights[i] = i + 1 < kCount ? share / 2 : share;
    at[i] = -normalQuantile(share / std::sqrt(2.0));
  }
}

static SlopeMoments slopeAt(const Cell &x,
                            llvm::function_ref<double(double)> slope,
                            bool peaked = false) {
  static const Points points;
  static const TailPoints tail;
  SlopeMoments result;
  double deviation = std::sqrt(std::max(x.variance, 0.0));
  bool first = true;
  auto add = [&](double point, double weight) {
    double argument = x.mean + deviation * point;
    // Extremes cut what a normal distribution would add to a rectified one.
    if (x.likelyLo <= x.likelyHi)
      argument = std::clamp(argument, x.likelyLo, x.likelyHi);
    double value = slope(argument);
    if (!std::isfinite(value))
      return;
    result.moments.mean += value * weight;
    result.moments.square += value * value * weight;
    result.tilt += point * value * weight;
    result.zero += value == 0 ? weight : 0;
    result.least = first ? value : std::min(result.least, value);
    result.most = first ? value : std::max(result.most, value);
    first = false;
  };
  ArrayRef<double> inner = points.at;
  for (double point : peaked ? inner.drop_front().drop_back() : inner)
    add(point, 1.0 / Points::kCount);
  for (int i = 0; peaked && i < TailPoints::kCount; ++i) {
    add(-tail.at[i], tail.weights[i]);
    add(tail.at[i], tail.weights[i]);
  }
  return result;
}

Moments mpopt::momentsOf(double mean, double variance,
                         llvm::function_ref<double(double)> function) {
  // Extremes that are empty cut nothing.
  Moments result = slopeAt(Cell{0, 0, mean, variance, 1, -1}, function).moments;
  result.common = result.mean * result.mean;
  return result;
}

Moments mpopt::momentsOfPeak(double mean, double variance,
                             llvm::function_ref<double(double)> function) {
  // A slope of a sigmoid or tanh is 1e-7 there, and smooth between steps;
  // quantiles of a narrower number meet it.
  constexpr double kStep = 0.25, kNarrow = 4;
  constexpr int kSteps = 64; // on either side, up to 16
  double deviation = std::sqrt(std::max(variance, 0.0));
  if (deviation < kNarrow)
    return momentsOf(mean, variance, function);
  Moments result;
  double scale = kStep / (deviation * std::sqrt(2 * std::numbers::pi));
  for (int step = -kSteps; step <= kSteps; ++step) {
    double at = step * kStep;
    double away = (at - mean) / deviation, value = function(at);
    double weight = scale * std::exp(-away * away / 2);
    result.mean += weight * value;
    result.square += weight * value * value;
  }
  result.common = result.mean * result.mean;
  return result;
}

/// E over what positions share of (E over what is a position's own)^2.
static double commonOf(const Cell &x, double alike,
                       llvm::function_ref<double(double)> slope) {
  static const OuterPoints points;
  if (alike <= 0) {
    double mean = slopeAt(x, slope).moments.mean;
    return mean * mean;
  }
  double shared = std::sqrt(std::max(x.variance * alike, 0.0));
  double common = 0;
  for (double point : points.at) {
    Cell own = x;
    own.mean += shared * point;
    own.variance = x.variance * (1 - alike);
    double mean = slopeAt(own, slope).moments.mean;
    common += mean * mean;
  }
  return common / OuterPoints::kCount;
}

/// A gradient times an independent slope.
static void multiplyCell(CellRef cell, const SlopeMoments &slopes) {
  Moments product = Moments::of(cell, 0) * slopes.moments;
  double most = std::max(std::fabs(slopes.least), std::fabs(slopes.most));
  cell.mean = product.mean;
  cell.variance = product.variance();
  double peak =
      std::max(std::fabs(cell.likelyLo), std::fabs(cell.likelyHi)) * most;
  cell.likelyLo = std::max(-peak, std::min(cell.likelyLo * most, 0.0));
  cell.likelyHi = std::min(peak, std::max(cell.likelyHi * most, 0.0));
  cell.lo = cell.likelyLo;
  cell.hi = cell.likelyHi;
}

/// Halfway to the exact argument: a secant's slope is nearly the one there.
/// Groups have errors as large as they are: one that is 0 beside others, as a
/// dead channel behind a norm is, has none.
static AbstractValue moveHalf(AbstractValue at, double error) {
  // The deviations within which all but a few are.
  constexpr double kFar = 4;
  double all = 0;
  for (const Cell &cell : at.cells())
    all += cell.mean * cell.mean + cell.variance;
  double groups = double(at.groups());
  for (CellRef cell : at.mutableCells()) {
    double square = cell.mean * cell.mean + cell.variance;
    double own = all > 0 ? error * square * groups / all : error;
    double far = kFar * std::sqrt(own) / 2;
    cell.variance += own / 4;
    cell.likelyLo -= far;
    cell.likelyHi += far;
  }
  return at;
}

void mpopt::giveSlope(BackwardSpreadContext &ctx, Value grad, Value x,
                      llvm::function_ref<double(double)> slope, bool peaked) {
  MaybeShape shape = getShape(ctx.op()->getResult(0));
  if (!shape)
    return;
  AbstractValue dy = AbstractValue(ctx.of(grad)).withRank(shape->size());
  AbstractValue at = AbstractValue(ctx.of(x)).withRank(shape->size());
  if (dy.rank() != at.rank())
    return;
  if (auto moved = ctx.op()->getAttrOfType<FloatAttr>(kMovedAttr))
    at = moveHalf(std::move(at), moved.getValueAsDouble());
  // The groups of both.
  AbstractValue::Dims dims;
  size_t groups = 1;
  for (auto [own, other] : llvm::zip(dy.dims(), at.dims())) {
    dims.push_back(std::max(own, other));
    groups *= size_t(dims.back());
  }
  if (groups > ctx.groupLimit().most) {
    at = at.merged();
    dims.assign(dy.dims().begin(), dy.dims().end());
  }
  dy = dy.regrouped(dims);
  bool one = at.groups() == 1;
  at = one ? at : at.regrouped(dims);
  const Spread &before = ctx.spread(grad);
  double alike = ctx.spread(x).alike;

  SlopeMoments slopes = slopeAt(at.cell(0), slope, peaked);
  double zero = 0, random = 0, square = 0;
  for (size_t group = 0; group < dy.groups(); ++group) {
    if (!one)
      slopes = slopeAt(at.cell(group), slope, peaked);
    multiplyCell(dy.mutableCells()[group], slopes);
    zero += slopes.zero;
    random += slopes.moments.variance();
    square += slopes.moments.square;
  }
  Spread spread = before;
  Cell hull = at.hull();
  SlopeMoments whole = slopeAt(hull, slope, peaked);
  Moments all = whole.moments;
  all.common = std::min(all.square, commonOf(hull, alike, slope));
  Moments product = ctx.moments(grad) * all;
  // Where the gradient depends on x, so it does on the slope.
  product.steady += responseToItself(ctx, grad) * ctx.moments(grad).variance() *
                    whole.tilt * whole.tilt;
  spread.alike = product.alike();
  spread.steady = product.steadyPart();
  if (all.square > 0)
    spread.response *= all.mean * all.mean / all.square;
  spread.zero = 1 - (1 - before.zero) * (1 - zero / double(dy.groups()));
  // A slope that is 0 or near 1 leaves sizes as they are; others are a factor.
  double live = square > 0 ? 1 - zero / double(dy.groups()) : 1;
  if (live > 0 && random > 0.5 * square && zero == 0)
    spread.factors += 1;
  AbstractValue value = AbstractValue(dims, dy.cells());
  value.source = LikelySource::Propagated;
  ctx.give(0, std::move(value), spread);
}

void mpopt::giveFunctionSpread(SpreadContext &ctx, Value x,
                               llvm::function_ref<double(double)> function) {
  Spread spread = ctx.spread(x);
  spread.unitSum = -1;
  spread.steady = 0;
  if (spread.alike > 0) {
    Cell hull = ctx.of(x).hull();
    Moments all = slopeAt(hull, function).moments;
    all.common = std::min(all.square, commonOf(hull, spread.alike, function));
    spread.alike = all.alike();
  }
  ctx.giveSpread(0, spread);
}
