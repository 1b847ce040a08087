//===- CellSupport.cpp - Small arithmetic on groups of elements
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/CellSupport.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

Cell cells::make(const Interval &bound, double mean, double variance,
                 const Interval &likely) {
  return {bound.lo, bound.hi, mean, variance, likely.lo, likely.hi};
}

Cell cells::uniform(double lo, double hi) {
  double width = hi - lo;
  return {lo, hi, lo + width / 2, width * width / 12, lo, hi};
}

//===----------------------------------------------------------------------===//
// Mixtures
//===----------------------------------------------------------------------===//

Cell cells::blend(const Cell &cell, const Cell &other, double share) {
  Interval both = hull(bound(cell), bound(other));
  double mean = cell.mean * (1 - share) + other.mean * share;
  double distance = cell.mean - other.mean;
  double variance = cell.variance * (1 - share) + other.variance * share +
                    share * (1 - share) * distance * distance;
  Interval expected = share <= 0 ? likelyInterval(cell)
                      : share >= 1
                          ? likelyInterval(other)
                          : hull(likelyInterval(cell), likelyInterval(other));
  return make(both, mean, variance, expected);
}

AbstractValue cells::blend(const AbstractValue &value,
                           const AbstractValue &other, double share) {
  AbstractValue result = AbstractValue::boundedLike(value);
  Cell with = other.hull();
  for (CellRef cell : result.mutableCells())
    cell = blend(cell, with, share);
  result.addNonFinite(other);
  if (value.integral && other.integral)
    result.claimIntegral();
  result.claimMinNonZero(other.constant() == 0.0
                             ? value.minNonZero
                             : std::min(value.minNonZero, other.minNonZero));
  result.source = std::max(value.source, other.source);
  return result;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

AbstractValue cells::spread(const AbstractValue &value, Value like) {
  AbstractValue result(AbstractValue::Dims(TransferContext::rankOf(like), 1),
                       value.hull());
  result.copyFlags(value);
  return result;
}

AbstractValue cells::fitTo(AbstractValue value, Value like) {
  MaybeShape shape = getShape(like);
  if (!shape || shape->size() != value.rank())
    return spread(value, like);
  for (size_t axis = 0; axis < shape->size(); ++axis)
    if (value.dims()[axis] != 1 && value.dims()[axis] != (*shape)[axis])
      value = value.merging(axis);
  auto drop = [&](auto &fact) {
    if (fact && fact->count != (*shape)[fact->axis])
      fact.reset();
  };
  drop(value.norm);
  drop(value.rowSum);
  return value;
}

AbstractValue cells::integers(double lo, double hi, Value like) {
  AbstractValue result(AbstractValue::Dims(TransferContext::rankOf(like), 1),
                       uniform(lo, hi));
  result.claimIntegral();
  result.source = LikelySource::Propagated;
  return result;
}

AbstractValue cells::numbers(const Interval &bound, Value like) {
  AbstractValue result(AbstractValue::Dims(TransferContext::rankOf(like), 1),
                       uniform(bound.lo, bound.hi));
  result.source = LikelySource::Propagated;
  return result;
}

std::optional<double> cells::constantOf(TransferContext &ctx, Value value) {
  return ctx.of(value).constant();
}

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

Interval cells::roundedIn(const FloatFormat &format, const Interval &x,
                          double units) {
  Interval result = x.widened(units * format.epsilon(), format.minSubnormal);
  // No rounding changes a sign.
  if (x.lo >= 0)
    result.lo = std::max(result.lo, 0.0);
  if (x.hi <= 0)
    result.hi = std::min(result.hi, 0.0);
  return result;
}

Interval cells::computedSum(const Interval &exact, const Interval &term,
                            double error) {
  Interval sum = exact + Interval::symmetric(error);
  // The least sum of terms of one sign is off by no larger share of itself than
  // the largest.
  auto least = [&](double smallest, double largest) {
    double share = nextUp(error / largest);
    return smallest > 0 && std::isfinite(largest) && share < 1
               ? mulDown(smallest, nextDown(1 - share))
               : 0.0;
  };
  if (term.lo >= 0)
    sum.lo = std::max(sum.lo, least(exact.lo, exact.hi));
  if (term.hi <= 0)
    sum.hi = std::min(sum.hi, -least(-exact.hi, -exact.lo));
  return sum;
}

Interval cells::repeat(const Interval &x, const Interval &count) {
  return x.isEmpty() ? Interval::point(0) : x * count;
}

Interval cells::power(const Interval &x, const Interval &count) {
  if (x.isEmpty())
    return Interval::point(1);
  // Numbers of both signs multiply to either sign. |x|^n for the least and the
  // most factors; the error of libm's pow is below one unit.
  auto raise = [](double base, double exponent) {
    return base == 1 || exponent == 0 ? 1 : std::pow(base, exponent);
  };
  double big = x.maxAbs(), small = x.minAbs();
  double most = std::max(raise(big, count.lo), raise(big, count.hi));
  double least = std::min(raise(small, count.lo), raise(small, count.hi));
  Interval magnitude = Interval{least, most}.widened(1e-14, 0);
  magnitude.lo = std::max(magnitude.lo, 0.0);
  if (x.lo >= 0)
    return magnitude;
  if (count.isPoint() && x.hi <= 0)
    return std::fmod(count.lo, 2) == 0 ? magnitude : -magnitude;
  return Interval::symmetric(magnitude.hi);
}
