//===- GradientSupport.cpp - What gradient ops have in common
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/GradientSupport.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Likely.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

void gradients::give(TransferContext &ctx, unsigned index, Number number,
                     bool keepsEstimate) {
  if (!number.bound().isEmpty())
    number.range.finite = cells::roundedIn(*number.format, number.bound(), 4);
  if (!keepsEstimate)
    number.source = LikelySource::Unknown;
  ctx.result(index, number.value(ctx.op()->getResult(index)));
}

void gradients::giveSlope(TransferContext &ctx, const AbstractValue &grad,
                          const Interval &slope, const Number &whole) {
  const FloatFormat &format = *whole.format;
  AbstractValue value = AbstractValue::boundedLike(grad);
  Likely expected = Likely::uniform(slope.lo, slope.hi);
  for (CellRef cell : value.mutableCells()) {
    if (cell.empty())
      continue;
    Likely likely = likely::mul(cells::getLikely(cell), expected, 3);
    cells::setBound(cell,
                    cells::roundedIn(format, cells::bound(cell) * slope, 4));
    cells::setLikely(cell, likely);
  }
  // dY times a factor of the slope may overflow before another one, 0, follows.
  value.setNonFinite(whole.range.nan || whole.range.mayBeInf(),
                     whole.range.posInf, whole.range.negInf);
  value.source = std::max(grad.source, LikelySource::Propagated);
  if (grad.norm)
    value.claimNorm(
        grad.norm->axis,
        grad.norm->bound * slope.maxAbs() * (1 + 16 * format.unitRoundoff()) +
            std::sqrt(double(grad.norm->count)) * format.minSubnormal,
        grad.norm->count);
  ctx.result(0, std::move(value));
}

void gradients::giveSlope(TransferContext &ctx, Value grad,
                          const Interval &slope) {
  Number number = numberOf(grad, ctx);
  giveSlope(ctx, ctx.of(grad), slope,
            number * Number::within(slope, *number.format));
}

double gradients::rowNormOf(const AbstractValue &value, int64_t axis,
                            double count) {
  double norm = value.hull().absMax() * std::sqrt(count) * (1 + 1e-12);
  if (value.norm && value.norm->axis == axis)
    norm = std::min(norm, value.norm->bound);
  return std::isnan(norm) ? kInfinity : norm;
}

Number gradients::within(const Interval &bound, const Number &like) {
  Number number = Number::within(bound, *like.format);
  number.expected = Likely::point(0);
  number.source = LikelySource::Unknown;
  return number;
}

Number gradients::within(const Interval &bound, const Number &like,
                         const Likely &expected) {
  Number number = within(bound, like);
  number.expected = expected;
  number.source = LikelySource::Propagated;
  return number;
}

Number gradients::inSteps(Value value, TransferContext &ctx) {
  Number number = numberOf(value, ctx);
  if (const FloatFormat *own = getFloatFormat(getElementType(value));
      own && own->digits < number.format->digits)
    number.format = own;
  return number;
}

Number gradients::zeroOr(const Number &x) {
  return either(Number::constant(0, *x.format), x);
}

Number gradients::tainted(Number x, ValueRange values, TransferContext &ctx) {
  for (Value value : values)
    x.range.nan |= value && ctx.of(value).mayBeNonFinite();
  return x;
}

Number gradients::differenceOf(const Number &x) {
  const Number &other = x;
  return x - other;
}

Number gradients::sumOf(const Number &x, double count) {
  return mpopt::sumOf(x, count, 1);
}

MaybeShape gradients::broadcastOf(ValueRange values) {
  MaybeShape all = Shape();
  for (Value value : values) {
    auto both = broadcastShapes(all, getShape(value));
    if (failed(both) || !*both)
      return std::nullopt;
    all = std::move(*both);
  }
  return all;
}

double gradients::countOf(const MaybeShape &shape) {
  double count = shape ? 1 : kInfinity;
  for (int64_t dim : shape.value_or(Shape()))
    count = dim == 0 ? 0 : dim < 0 ? kInfinity : count * double(dim);
  return count;
}

Number gradients::summedTo(Value operand, const Number &each,
                           const MaybeShape &shape) {
  MaybeShape own = getShape(operand);
  double times = own && shape ? 1 : kInfinity;
  if (own && shape)
    for (size_t i = 0; i < shape->size(); ++i) {
      int64_t all = (*shape)[shape->size() - 1 - i];
      int64_t dim = i < own->size() ? (*own)[own->size() - 1 - i] : 1;
      if (dim != all)
        times *= all < 0 || dim < 0 ? kInfinity : std::max<double>(all, 1);
    }
  return times == 1 ? each : sumOf(each, times);
}

double gradients::countWithout(Value value, int64_t axis) {
  MaybeShape shape = getShape(value);
  if (!shape || axis < 0 || axis >= int64_t(shape->size()))
    return kInfinity;
  (*shape)[axis] = 1;
  return countOf(shape);
}

Number gradients::shareOf(const Number &grad, StringRef reduction,
                          const MaybeShape &shape) {
  if (reduction == "none" || reduction == "sum")
    return grad;
  double count = countOf(shape);
  if (reduction == "batchmean")
    count = !shape               ? kInfinity
            : shape->empty()     ? 1
            : shape->front() < 0 ? kInfinity
                                 : double(shape->front());
  // Divided by an unknown count of at least 1.
  if (!std::isfinite(count))
    return zeroOr(grad);
  return grad / Number::constant(std::max(count, 1.0), *grad.format);
}
