//===- Integer.cpp - Images under operations on bits
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With negative operands the two's complement results are bounded by sign only:
// such masks are rare in models.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/Integer.h"

#include "mpopt/Numerics/Binary.h"

#include <cmath>

using namespace mpopt;

static FloatRange ofIntegers(Interval values) {
  FloatRange result;
  result.finite = values;
  result.integral = true;
  result.tighten();
  return result;
}

double IntegerFormat::max() const {
  double past = std::ldexp(1.0, isSigned ? bits - 1 : bits);
  return bits > 53 ? past : past - 1;
}

FloatRange IntegerFormat::all() const { return ofIntegers({min(), max()}); }

FloatRange IntegerFormat::wrap(const FloatRange &x) const {
  if (x.isEmpty())
    return x;
  if (!x.isFinite() || !Interval{min(), max()}.contains(x.finite))
    return all();
  FloatRange result = x;
  result.integral = true;
  result.tighten();
  return result;
}

/// The least 2^n - 1 that is not below `value`.
static double fillBits(double value) {
  return value < 1 ? 0 : std::ldexp(1.0, std::ilogb(value) + 1) - 1;
}

FloatRange range::bitwiseNot(const FloatRange &x, IntegerFormat format) {
  if (x.finite.isEmpty())
    return {};
  double top = format.isSigned ? -1 : format.max();
  return format.wrap(ofIntegers(-x.finite + top));
}

FloatRange range::bitwiseAnd(const FloatRange &a, const FloatRange &b,
                             IntegerFormat format) {
  if (a.finite.isEmpty() || b.finite.isEmpty())
    return {};
  bool signA = a.finite.lo < 0, signB = b.finite.lo < 0;
  if (signA && signB)
    return ofIntegers(
        {format.min(), std::max({a.finite.hi, b.finite.hi, -1.0})});
  // A non-negative operand masks the other.
  double high = signA   ? b.finite.hi
                : signB ? a.finite.hi
                        : std::min(a.finite.hi, b.finite.hi);
  return ofIntegers({0, high});
}

FloatRange range::bitwiseOr(const FloatRange &a, const FloatRange &b,
                            IntegerFormat format) {
  if (a.finite.isEmpty() || b.finite.isEmpty())
    return {};
  if (a.finite.lo < 0 || b.finite.lo < 0)
    return format.all();
  return ofIntegers({std::max(a.finite.lo, b.finite.lo),
                     fillBits(std::max(a.finite.hi, b.finite.hi))});
}

FloatRange range::bitwiseXor(const FloatRange &a, const FloatRange &b,
                             IntegerFormat format) {
  if (a.finite.isEmpty() || b.finite.isEmpty())
    return {};
  if (a.finite.lo < 0 || b.finite.lo < 0)
    return format.all();
  return ofIntegers({0, fillBits(std::max(a.finite.hi, b.finite.hi))});
}

/// 2^b for the shifts that have a meaning; empty if others are possible.
static Interval getPowers(const FloatRange &b, IntegerFormat format) {
  if (b.finite.lo < 0 || b.finite.hi >= format.bits)
    return Interval::empty();
  return {std::ldexp(1.0, int(b.finite.lo)), std::ldexp(1.0, int(b.finite.hi))};
}

FloatRange range::shiftLeft(const FloatRange &a, const FloatRange &b,
                            IntegerFormat format) {
  if (a.finite.isEmpty() || b.finite.isEmpty())
    return {};
  Interval powers = getPowers(b, format);
  return powers.isEmpty() ? format.all()
                          : format.wrap(ofIntegers(a.finite * powers));
}

FloatRange range::shiftRight(const FloatRange &a, const FloatRange &b,
                             IntegerFormat format) {
  if (a.finite.isEmpty() || b.finite.isEmpty())
    return {};
  Interval powers = getPowers(b, format);
  if (powers.isEmpty())
    return format.all();
  Interval quotient = a.finite / powers;
  return ofIntegers({std::floor(quotient.lo), std::floor(quotient.hi)});
}
