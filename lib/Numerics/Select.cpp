//===- Select.cpp - Comparisons, branches and fused elementwise forms
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Binary.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Unary.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::range;

/// The least and the greatest value, infinities included; empty for NaN alone.
static Interval getExtent(const FloatRange &x) {
  Interval extent = x.finite;
  if (x.posInf)
    extent = hull(extent, kInfinity);
  if (x.negInf)
    extent = hull(extent, -kInfinity);
  return extent;
}

FloatRange Truth::toRange() const {
  FloatRange result;
  if (mayBeFalse)
    result = join(result, FloatRange::point(0));
  if (mayBeTrue)
    result = join(result, FloatRange::point(1));
  return result;
}

Truth range::compare(Comparison comparison, const FloatRange &a,
                     const FloatRange &b) {
  switch (comparison) {
  case Comparison::NotEqual:
    return !compare(Comparison::Equal, a, b);
  case Comparison::Greater:
    return compare(Comparison::Less, b, a);
  case Comparison::GreaterEqual:
    return compare(Comparison::LessEqual, b, a);
  default:
    break;
  }
  Interval x = getExtent(a), y = getExtent(b);
  Truth truth;
  truth.mayBeFalse = (a.nan && !b.isEmpty()) || (b.nan && !a.isEmpty());
  if (x.isEmpty() || y.isEmpty())
    return truth;
  switch (comparison) {
  case Comparison::Less:
    truth.mayBeTrue = x.lo < y.hi;
    truth.mayBeFalse |= x.hi >= y.lo;
    break;
  case Comparison::LessEqual:
    truth.mayBeTrue = x.lo <= y.hi;
    truth.mayBeFalse |= x.hi > y.lo;
    break;
  default:
    truth.mayBeTrue = !intersect(x, y).isEmpty();
    // A constant that cannot be a value of the other.
    if (y.isPoint() && !a.contains(y.lo))
      truth.mayBeTrue = false;
    if (x.isPoint() && !b.contains(x.lo))
      truth.mayBeTrue = false;
    truth.mayBeFalse |= !(x.isPoint() && y.isPoint() && x.lo == y.lo);
    break;
  }
  return truth;
}

Truth range::isNaN(const FloatRange &x) {
  return {x.nan, x.mayBeInf() || !x.finite.isEmpty()};
}

Truth range::isFinite(const FloatRange &x) {
  return {!x.finite.isEmpty(), !x.isFinite()};
}

Truth range::isInf(const FloatRange &x, bool negative, bool positive) {
  return {(negative && x.negInf) || (positive && x.posInf),
          !x.finite.isEmpty() || x.nan || (x.negInf && !negative) ||
              (x.posInf && !positive)};
}

FloatRange range::where(Truth condition, const FloatRange &a,
                        const FloatRange &b) {
  FloatRange result;
  if (condition.mayBeTrue)
    result = join(result, a);
  if (condition.mayBeFalse)
    result = join(result, b);
  return result;
}

FloatRange range::refine(const FloatRange &x, Comparison comparison,
                         const FloatRange &bound) {
  Interval limit = getExtent(bound);
  FloatRange result = x;
  if (comparison == Comparison::NotEqual) {
    // Only a zero can be taken out of the middle, and not from the interval.
    if (bound.finite == Interval::point(0) && bound.isFinite()) {
      if (result.finite.lo == 0 && x.minNonZero > 0)
        result.finite.lo = x.minNonZero;
      if (result.finite.hi == 0 && x.minNonZero > 0)
        result.finite.hi = -x.minNonZero;
      if (result.finite.isEmpty())
        result.finite = Interval::empty();
    }
    return result;
  }
  result.nan = false;
  if (limit.isEmpty())
    return {};
  bool below = comparison == Comparison::Less ||
               comparison == Comparison::LessEqual ||
               comparison == Comparison::Equal;
  bool above = comparison == Comparison::Greater ||
               comparison == Comparison::GreaterEqual ||
               comparison == Comparison::Equal;
  bool strict =
      comparison == Comparison::Less || comparison == Comparison::Greater;
  if (below) {
    result.finite = intersect(result.finite, {-kInfinity, limit.hi});
    result.posInf &= limit.hi == kInfinity && !strict;
  }
  if (above) {
    result.finite = intersect(result.finite, {limit.lo, kInfinity});
    result.negInf &= limit.lo == -kInfinity && !strict;
  }
  // Beyond zero begins the smallest non-zero value.
  if (strict && below && limit.hi == 0 && x.minNonZero > 0)
    result.finite = intersect(result.finite, {-kInfinity, -x.minNonZero});
  if (strict && above && limit.lo == 0 && x.minNonZero > 0)
    result.finite = intersect(result.finite, {x.minNonZero, kInfinity});
  result.tighten();
  return result;
}

//===----------------------------------------------------------------------===//
// Fused forms
//===----------------------------------------------------------------------===//

/// The range after an intermediate rounding in the kernel's format: Inf where
/// that overflows, some units of error otherwise.
static FloatRange roundIntermediate(FloatRange x, const ComputeError &error,
                                    double ulps = 1) {
  if (error.scale == 0)
    return x;
  x.finite = error.widen(x.finite, ulps);
  // Zero once the product underflows.
  if (x.minNonZero <= error.format->flushAt) {
    Interval tiny = Interval::symmetric(error.format->flushAt);
    if (!intersect(x.finite, tiny).isEmpty())
      x.finite = hull(x.finite, 0.0);
  }
  x.posInf |= x.finite.hi >= error.format->overflowFrom;
  x.negInf |= x.finite.lo <= -error.format->overflowFrom;
  x.minNonZero = 0;
  x.integral = false;
  x.tighten();
  return x;
}

FloatRange range::prelu(const FloatRange &x, const FloatRange &slope) {
  FloatRange below = refine(x, Comparison::Less, FloatRange::point(0));
  FloatRange above = refine(x, Comparison::GreaterEqual, FloatRange::point(0));
  FloatRange result = join(above, mul(below, slope));
  result.nan |= x.nan;
  return result;
}

FloatRange range::swiglu(const FloatRange &gate, const FloatRange &value,
                         double alpha, const ComputeError &error) {
  Unary silu = {UnaryFunction::Silu, alpha};
  return mul(roundIntermediate(apply(silu, gate, error), error), value);
}

FloatRange range::addcmul(const FloatRange &x, const FloatRange &a,
                          const FloatRange &b, double factor,
                          const ComputeError &error) {
  // (factor a) b or factor (a b), each step rounded or fused with the next. A
  // step that underflows loses up to half of itself before the next multiplies.
  FloatRange scale = FloatRange::of(error.constant(factor));
  FloatRange first = mul(roundIntermediate(mul(scale, a), error), b);
  FloatRange second = mul(scale, roundIntermediate(mul(a, b), error));
  return add(x, roundIntermediate(join(first, second), error));
}

FloatRange range::addcdiv(const FloatRange &x, const FloatRange &a,
                          const FloatRange &b, double factor,
                          const ComputeError &error) {
  FloatRange scale = FloatRange::of(error.constant(factor));
  FloatRange first = div(roundIntermediate(mul(scale, a), error), b, error);
  FloatRange second = mul(scale, roundIntermediate(div(a, b, error), error));
  return add(x, roundIntermediate(join(first, second), error, 2));
}

FloatRange range::lerp(const FloatRange &a, const FloatRange &b,
                       const FloatRange &weight, const ComputeError &error) {
  // PyTorch starts from the nearer end: a + w (b - a) or b - (b - a) (1 - w).
  FloatRange span = roundIntermediate(sub(b, a), error);
  FloatRange near = add(a, roundIntermediate(mul(weight, span), error));
  FloatRange rest = roundIntermediate(sub(FloatRange::point(1), weight), error);
  FloatRange far = sub(b, roundIntermediate(mul(span, rest), error));
  FloatRange result = join(near, far);
  // Between two points, in real numbers, if the weight lies in [0, 1].
  double margin = 4 * error.format->epsilon() * error.scale *
                  std::max(a.finite.maxAbs(), b.finite.maxAbs());
  if (!weight.finite.isEmpty() && Interval{0, 1}.contains(weight.finite) &&
      weight.isFinite() && a.isFinite() && b.isFinite())
    result.finite = intersect(result.finite,
                              hull(a.finite, b.finite).widened(0, margin * 2));
  result.integral = false;
  result.tighten();
  return result;
}
