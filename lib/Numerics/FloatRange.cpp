//===- FloatRange.cpp - What a floating-point value may be
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/FloatRange.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/StorageFormat.h"

using namespace mpopt;

FloatRange FloatRange::of(const Interval &finite) {
  FloatRange range;
  range.finite = finite;
  range.tighten();
  return range;
}

FloatRange FloatRange::point(double value) {
  FloatRange range;
  range.nan = std::isnan(value);
  range.posInf = value == kInfinity;
  range.negInf = value == -kInfinity;
  if (!std::isfinite(value))
    return range;
  range.finite = Interval::point(value);
  range.integral = value == std::floor(value);
  range.minNonZero = std::fabs(value);
  return range;
}

FloatRange FloatRange::top() {
  FloatRange range;
  range.finite = Interval::whole();
  range.nan = range.posInf = range.negInf = true;
  return range;
}

bool FloatRange::contains(double value) const {
  if (std::isnan(value))
    return nan;
  if (std::isinf(value))
    return value > 0 ? posInf : negInf;
  return finite.contains(value) &&
         (value == 0 || std::fabs(value) >= minNonZero) &&
         (!integral || value == std::floor(value));
}

Interval FloatRange::positivePart() const {
  if (!(finite.hi > 0))
    return Interval::empty();
  return intersect(finite, {minNonZero, kInfinity});
}

Interval FloatRange::negativePart() const {
  if (!(finite.lo < 0))
    return Interval::empty();
  return intersect(finite, {-kInfinity, -minNonZero});
}

void FloatRange::tighten() {
  if (integral) {
    finite = {std::ceil(finite.lo) + 0.0, std::floor(finite.hi) + 0.0};
    minNonZero = std::max(minNonZero, 1.0);
  }
  if (finite.lo > 0)
    finite.lo = std::max(finite.lo, minNonZero);
  else if (finite.lo > -minNonZero)
    finite.lo = 0;
  if (finite.hi < 0)
    finite.hi = std::min(finite.hi, -minNonZero);
  else if (finite.hi < minNonZero)
    finite.hi = 0;
  if (finite.isEmpty())
    finite = Interval::empty();
  else
    minNonZero = std::max(minNonZero, finite.minAbs());
}

//===----------------------------------------------------------------------===//
// Storing
//===----------------------------------------------------------------------===//

FloatRange FloatRange::store(const StorageFormat &format) const {
  const FloatFormat *floats = format.floats;
  Interval edges = format.overflowFrom(), ends = format.ends();
  FloatRange stored = *this;
  bool past[2] = {negInf, posInf}; // Below, above.
  if (!finite.isEmpty()) {
    auto round = [&](double end) {
      bool isPast = end <= edges.lo || end >= edges.hi;
      return isPast && !format.saturates ? end : format.round(end);
    };
    past[0] |= finite.lo <= edges.lo;
    past[1] |= finite.hi >= edges.hi;
    stored.finite = {round(finite.lo) + 0.0, round(finite.hi) + 0.0};
  }

  // The smallest non-zero value of the format is always a lower bound.
  stored.minNonZero = format.step();
  if (minNonZero > format.flushAt() && -minNonZero > edges.lo &&
      minNonZero < edges.hi)
    stored.minNonZero = std::max(format.round(minNonZero), stored.minNonZero);
  // A format without zero rounds up to its smallest value, and has no sign.
  if (floats && !floats->hasZero && finite.lo < ends.lo) {
    stored.nan |= finite.lo < 0;
    stored.finite =
        hull(intersect(stored.finite, {ends.lo, kInfinity}), ends.lo);
  }

  bool toInf = floats && floats->hasInf && !format.saturates;
  bool toNaN = floats && floats->hasNaN && !toInf && !format.saturates;
  stored.negInf = past[0] && toInf;
  stored.posInf = past[1] && toInf;
  stored.nan |= toNaN && (past[0] || past[1]);
  if (!toInf && !toNaN) {
    if (past[0])
      stored.finite = hull(stored.finite, ends.lo);
    if (past[1])
      stored.finite = hull(stored.finite, ends.hi);
  }
  // The result of casting NaN to a format without NaN is not defined.
  if (stored.nan && !(floats && floats->hasNaN)) {
    stored.nan = false;
    stored.finite = hull(stored.finite, ends);
  }
  // Rounding keeps integers: the format's values between two integers are
  // either all integers or include those between.
  stored.integral = format.scale == 1 && (integral || !floats);
  stored.tighten();
  return stored;
}

FloatRange mpopt::join(const FloatRange &a, const FloatRange &b) {
  FloatRange both;
  both.finite = hull(a.finite, b.finite);
  both.nan = a.nan || b.nan;
  both.posInf = a.posInf || b.posInf;
  both.negInf = a.negInf || b.negInf;
  // A side without non-zero finite values has no say in the smallest.
  auto hasNonZero = [](const FloatRange &x) {
    return x.finite.lo < 0 || x.finite.hi > 0;
  };
  if (!hasNonZero(a))
    both.minNonZero = b.minNonZero;
  else if (!hasNonZero(b))
    both.minNonZero = a.minNonZero;
  else
    both.minNonZero = std::min(a.minNonZero, b.minNonZero);
  both.integral =
      (a.integral || a.finite.isEmpty()) && (b.integral || b.finite.isEmpty());
  both.tighten();
  return both;
}
