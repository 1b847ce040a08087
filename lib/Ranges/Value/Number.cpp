//===- Number.cpp - Formulas over both tiers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/Number.h"

#include "mpopt/Numerics/Binary.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/StorageFormat.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

Number Number::of(const AbstractValue &value, const FloatFormat &format) {
  Cell cell = value.hull();
  Number number;
  number.range = FloatRange::of(cells::bound(cell));
  number.range.nan = value.nan;
  number.range.posInf = value.posInf;
  number.range.negInf = value.negInf;
  number.range.minNonZero = std::max(number.range.minNonZero, value.minNonZero);
  number.range.integral = value.integral;
  number.expected = {cell.mean, cell.variance, cell.likelyLo, cell.likelyHi};
  number.source = value.source;
  number.format = &format;
  return number;
}

Number Number::constant(double value, const FloatFormat &format) {
  Number number;
  double held = format.round(value);
  // A kernel may compute with the constant in a wider format.
  number.range = std::isfinite(held)
                     ? FloatRange::of(hull(Interval::point(value), held))
                     : FloatRange::point(value);
  number.expected = Likely::point(value);
  number.source = LikelySource::Weight;
  number.format = &format;
  return number;
}

Number Number::boundedLike(const Number &x) {
  Number result = x;
  result.range.minNonZero = 0;
  result.range.integral = false;
  return result;
}

Number Number::within(const Interval &bound, const FloatFormat &format) {
  Number number;
  number.range = FloatRange::of(bound);
  number.expected = Likely::uniform(bound.lo, bound.hi);
  number.source = LikelySource::Propagated;
  number.format = &format;
  return number;
}

AbstractValue Number::value(Value like) const {
  AbstractValue result(AbstractValue::Dims(TransferContext::rankOf(like), 1),
                       Cell{range.finite.lo, range.finite.hi, expected.mean,
                            expected.variance, expected.lo, expected.hi});
  result.nan = range.nan;
  result.posInf = range.posInf;
  result.negInf = range.negInf;
  result.source = source;
  return result;
}

Number Number::cut(const Interval &bound) const {
  Number number = *this;
  number.range.finite = intersect(range.finite, bound);
  if (number.range.finite.isEmpty())
    number.range.finite = bound;
  number.range.minNonZero = 0;
  number.expected = expected.within(number.range.finite);
  return number;
}

Number Number::clamped(double lo, double hi) const {
  Number number = *this;
  number.range =
      range::clip(range, FloatRange::point(lo), FloatRange::point(hi));
  number.expected =
      likely::apply([=](double x) { return std::clamp(x, lo, hi); }, expected);
  return number;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// A number like `like`: rounded as the kernel stores the step, and not rounded
/// where it keeps the step in a wider format or fuses it with the next.
static Number step(const Number &like, FloatRange range, Likely expected,
                   LikelySource source) {
  Number number;
  number.format = like.format;
  number.range = range.store(*like.format);
  if (!range.finite.isEmpty()) {
    number.range.finite = hull(number.range.finite, range.finite);
    number.range.minNonZero =
        std::min(number.range.minNonZero, range.minNonZero);
    number.range.integral &= range.integral;
  }
  number.expected = expected;
  number.source =
      source == LikelySource::Unknown ? source : LikelySource::Propagated;
  return number;
}

static ComputeError errorOf(const Number &x) {
  return ComputeError::in(*x.format);
}

Number mpopt::operator-(const Number &x) {
  Likely expected = {-x.expected.mean, x.expected.variance, -x.expected.hi,
                     -x.expected.lo};
  return step(x, range::neg(x.range), expected, x.source);
}
Number mpopt::operator+(const Number &a, const Number &b) {
  return step(a, range::add(a.range, b.range),
              likely::add(a.expected, b.expected),
              std::max(a.source, b.source));
}
Number mpopt::operator-(const Number &a, const Number &b) {
  return step(a, range::sub(a.range, b.range),
              likely::sub(a.expected, b.expected),
              std::max(a.source, b.source));
}
Number mpopt::operator*(const Number &a, const Number &b) {
  return step(a, range::mul(a.range, b.range),
              likely::mul(a.expected, b.expected, 3),
              std::max(a.source, b.source));
}
Number mpopt::operator/(const Number &a, const Number &b) {
  return step(a, range::div(a.range, b.range, errorOf(a)),
              likely::div(a.expected, b.expected, 3),
              std::max(a.source, b.source));
}
Number mpopt::apply(UnaryFunction function, const Number &x) {
  return step(x, apply(Unary{function}, x.range, errorOf(x)),
              likely::apply(Unary{function}, x.expected), x.source);
}
Number mpopt::either(const Number &a, const Number &b, double probability) {
  return step(a, join(a.range, b.range),
              likely::mix(a.expected, b.expected, probability),
              std::max(a.source, b.source));
}
Number mpopt::max(const Number &a, const Number &b) {
  return step(a, range::max(a.range, b.range),
              likely::max(a.expected, b.expected),
              std::max(a.source, b.source));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Number mpopt::sumOf(const Number &x, double count, double expected) {
  Interval terms = x.bound().isEmpty() ? Interval::point(0) : x.bound();
  Interval sum = cells::repeat(terms, {1, count});
  double magnitude = sum.maxAbs();
  sum = cells::computedSum(sum, terms, sumError({x.format}, count, magnitude));
  FloatRange range = FloatRange::of(sum);
  range.posInf = x.range.posInf || sum.hi >= x.format->overflowFrom;
  range.negInf = x.range.negInf || sum.lo <= -x.format->overflowFrom;
  range.nan = x.range.nan || (range.posInf && range.negInf);
  double mean = expected * x.expected.mean;
  double variance = expected * x.expected.variance;
  double reach = 3 * std::sqrt(variance);
  Likely likely = expected <= 1
                      ? x.expected
                      : Likely{mean, variance, mean - reach, mean + reach};
  return step(x, range, likely, x.source);
}

Number mpopt::meanOf(const Number &x, double count, double expected) {
  Number sum = sumOf(x, std::min(count, kUnknownCount), expected);
  Interval terms = x.bound().isEmpty() ? Interval::point(0) : x.bound();
  // Between the extremes, but for what the sum is off by.
  double most = std::min(count, kUnknownCount);
  double error =
      sumError({x.format}, most, most * terms.maxAbs()) / std::max(most, 1.0);
  Number mean = sum;
  mean.range.finite =
      cells::roundedIn(*x.format, cells::computedSum(terms, terms, error), 1);
  mean.range.minNonZero = 0;
  mean.range.integral = false;
  mean.expected = {sum.expected.mean / expected,
                   sum.expected.variance / expected / expected,
                   sum.expected.lo / expected, sum.expected.hi / expected};
  return mean;
}

Number mpopt::normOf(const Number &x, double p, double count, double expected) {
  Number size = apply(UnaryFunction::Abs, x);
  if (p == kInfinity)
    return size;
  if (p == 0) {
    Number number = Number::within({0, count}, *x.format);
    number.expected = Likely::point(expected);
    return number;
  }
  if (p == 1)
    return sumOf(size, count, expected);
  if (p == 2)
    return apply(UnaryFunction::Sqrt, sumOf(square(x), count, expected));
  if (p < 1) {
    Number number = size;
    number.range = FloatRange::top();
    number.range.negInf = false;
    number.range.finite = {0, kInfinity};
    return number;
  }
  Number norm = size;
  double root = count == kInfinity ? kInfinity : std::pow(count, 1 / p);
  double error =
      2 * relativeSumError(*x.format, std::min(count, kUnknownCount), 16);
  double hi = size.bound().hi;
  double tiny = std::pow(x.format->minSubnormal, 1 / p);
  norm.range.finite = {
      0, hi == 0 ? tiny : hi * root * (1 + error) + tiny * std::min(root, 1e9)};
  norm.range.minNonZero = 0;
  norm.range.integral = false;
  norm.range.posInf |= std::pow(hi, p) * std::min(count, kUnknownCount) >=
                       x.format->overflowFrom;
  double scale = std::pow(expected, 1 / p);
  norm.expected = {size.expected.mean * scale, size.expected.variance,
                   size.expected.mean * scale, size.expected.hi * scale};
  return norm;
}

Number mpopt::numberOf(Value value, TransferContext &ctx) {
  return Number::of(ctx.of(value), ctx.functionFormat(value));
}

double mpopt::countOf(Value value) {
  MaybeShape shape = getShape(value);
  double count = shape ? 1 : kInfinity;
  for (int64_t dim : shape.value_or(Shape()))
    count = dim == 0 ? 0 : dim < 0 ? kInfinity : count * double(dim);
  return count;
}

double mpopt::expectedCountOf(Value value) {
  double count = 1;
  for (int64_t dim : getShape(value).value_or(Shape()))
    count *= std::max(double(dim), 1.0);
  return count;
}
