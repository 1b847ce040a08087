//===- Binary.cpp - Images under arithmetic on two numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Binary.h"

#include "mpopt/Numerics/Rounding.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::range;

FloatRange range::neg(const FloatRange &x) {
  FloatRange result = x;
  result.finite = x.finite.isEmpty() ? x.finite : -x.finite;
  std::swap(result.posInf, result.negInf);
  return result;
}

FloatRange range::add(const FloatRange &a, const FloatRange &b) {
  FloatRange result;
  if (a.isEmpty() || b.isEmpty())
    return result;
  result.finite = a.finite + b.finite;
  result.posInf = a.posInf || b.posInf;
  result.negInf = a.negInf || b.negInf;
  result.nan =
      a.nan || b.nan || (a.posInf && b.negInf) || (a.negInf && b.posInf);
  result.integral = a.integral && b.integral;
  // Terms of one sign do not cancel.
  if ((a.finite.lo >= 0 && b.finite.lo >= 0) ||
      (a.finite.hi <= 0 && b.finite.hi <= 0))
    result.minNonZero = std::min(a.minNonZero, b.minNonZero);
  result.tighten();
  return result;
}

FloatRange range::sub(const FloatRange &a, const FloatRange &b) {
  return add(a, neg(b));
}

/// Sets the infinities of a product or quotient in which `a` is infinite.
static void addInfinities(FloatRange &result, const FloatRange &a,
                          bool otherPositive, bool otherNegative) {
  result.posInf |= (a.posInf && otherPositive) || (a.negInf && otherNegative);
  result.negInf |= (a.posInf && otherNegative) || (a.negInf && otherPositive);
}

FloatRange range::mul(const FloatRange &a, const FloatRange &b) {
  FloatRange result;
  if (a.isEmpty() || b.isEmpty())
    return result;
  result.finite = a.finite * b.finite;
  addInfinities(result, a, b.mayBePositive(), b.mayBeNegative());
  addInfinities(result, b, a.mayBePositive(), a.mayBeNegative());
  result.nan = a.nan || b.nan || (a.mayBeInf() && b.mayBeZero()) ||
               (b.mayBeInf() && a.mayBeZero());
  result.integral = a.integral && b.integral;
  result.minNonZero = mulDown(a.minNonZero, b.minNonZero);
  result.tighten();
  return result;
}

/// Quotients of finite operands, the divisor not zero.
static Interval finiteQuotient(const FloatRange &a, const FloatRange &b) {
  return hull(a.finite / b.positivePart(), a.finite / b.negativePart());
}

/// Everything but the finite quotients.
static FloatRange divideSpecial(const FloatRange &a, const FloatRange &b) {
  FloatRange result;
  result.nan = a.nan || b.nan || (a.mayBeZero() && b.mayBeZero()) ||
               (a.mayBeInf() && b.mayBeInf());
  // A zero divisor may have either sign.
  bool zero = b.mayBeZero();
  bool positive = b.finite.hi > 0 || zero, negative = b.finite.lo < 0 || zero;
  addInfinities(result, a, positive, negative);
  if (zero && a.mayBeNonZero())
    result.posInf = result.negInf = true;
  if (b.mayBeInf() && !a.finite.isEmpty())
    result.finite = Interval::point(0);
  return result;
}

FloatRange range::div(const FloatRange &a, const FloatRange &b,
                      const ComputeError &error) {
  if (a.isEmpty() || b.isEmpty())
    return {};
  FloatRange result;
  result.finite = error.widen(finiteQuotient(a, b), error.divisionUlps);
  if (b.finite.maxAbs() > 0 && std::isfinite(b.finite.maxAbs()))
    result.minNonZero =
        error
            .widen(Interval::point(divDown(a.minNonZero, b.finite.maxAbs())),
                   error.divisionUlps)
            .lo;
  result.tighten();
  return join(result, divideSpecial(a, b));
}

FloatRange range::floorDiv(const FloatRange &a, const FloatRange &b,
                           const ComputeError &error) {
  if (a.isEmpty() || b.isEmpty())
    return {};
  FloatRange result = divideSpecial(a, b);
  // The quotient is rounded before the floor, or comes from a remainder.
  Interval quotient = error.widen(finiteQuotient(a, b), 1 + error.divisionUlps);
  if (a.integral && b.integral && quotient.maxAbs() < 0x1p53 &&
      a.finite.maxAbs() < 0x1p53 && b.finite.maxAbs() < 0x1p53)
    quotient = finiteQuotient(a, b);
  if (!quotient.isEmpty())
    result.finite =
        hull(result.finite, {std::floor(quotient.lo), std::floor(quotient.hi)});
  if (b.mayBeInf() && !a.finite.isEmpty())
    result.finite = hull(result.finite, {-1, 0});
  result.nan |= a.mayBeInf(); // Through the remainder of Inf.
  result.integral = true;
  result.tighten();
  return result;
}

FloatRange range::truncDiv(const FloatRange &a, const FloatRange &b) {
  FloatRange result;
  Interval quotient = finiteQuotient(a, b);
  if (!quotient.isEmpty())
    result.finite = {std::trunc(quotient.lo), std::trunc(quotient.hi)};
  result.integral = true;
  result.tighten();
  return result;
}

//===----------------------------------------------------------------------===//
// Remainders
//===----------------------------------------------------------------------===//

static FloatRange remainderSpecial(const FloatRange &a, const FloatRange &b) {
  FloatRange result;
  result.nan = a.nan || b.nan || a.mayBeInf() || b.mayBeZero();
  result.integral = a.integral && b.integral;
  return result;
}

FloatRange range::fmod(const FloatRange &a, const FloatRange &b) {
  if (a.isEmpty() || b.isEmpty())
    return {};
  FloatRange result = remainderSpecial(a, b);
  if (a.finite.isEmpty())
    return result;
  double least = b.mayBeZero() ? b.minNonZero : b.finite.minAbs();
  bool unchanged = b.finite.isEmpty() || a.finite.maxAbs() < least;
  if (unchanged || b.mayBeInf())
    result.finite = a.finite;
  if (!unchanged && b.finite.maxAbs() > 0) {
    double bound = std::min(a.finite.maxAbs(), b.finite.maxAbs());
    result.finite = hull(result.finite, {a.finite.lo < 0 ? -bound : 0,
                                         a.finite.hi > 0 ? bound : 0});
  }
  result.tighten();
  return result;
}

FloatRange range::remainder(const FloatRange &a, const FloatRange &b) {
  if (a.isEmpty() || b.isEmpty())
    return {};
  FloatRange result = remainderSpecial(a, b);
  if (a.finite.isEmpty())
    return result;
  // Towards a divisor of one sign: the fmod itself, or with that sign b more.
  auto towards = [&](const Interval &divisor) -> Interval {
    if (a.finite.lo >= 0)
      return a.finite.hi < divisor.lo
                 ? a.finite
                 : Interval{0, std::min(a.finite.hi, divisor.hi)};
    return {0, divisor.hi};
  };
  if (b.positivePart().hi > 0)
    result.finite = towards(b.positivePart());
  if (b.negativePart().lo < 0) {
    Interval mirrored = -b.negativePart();
    Interval image =
        a.finite.hi <= 0
            ? (-a.finite.lo < mirrored.lo
                   ? a.finite
                   : Interval{std::max(a.finite.lo, -mirrored.hi), 0})
            : Interval{-mirrored.hi, 0};
    result.finite = hull(result.finite, image);
  }
  // x mod Inf is x, or Inf where the signs differ.
  if (b.mayBeInf())
    result.finite = hull(result.finite, a.finite);
  result.posInf |= b.posInf && a.mayBeNegative();
  result.negInf |= b.negInf && a.mayBePositive();
  result.tighten();
  return result;
}

//===----------------------------------------------------------------------===//
// Minimum and maximum
//===----------------------------------------------------------------------===//

FloatRange range::max(const FloatRange &a, const FloatRange &b) {
  if (a.isEmpty() || b.isEmpty())
    return {};
  FloatRange result;
  result.finite = max(a.finite, b.finite);
  // -Inf leaves the other; a kernel may drop NaN and leave it, too.
  bool leavesA = b.negInf || b.nan, leavesB = a.negInf || a.nan;
  if (leavesA)
    result.finite = hull(result.finite, a.finite);
  if (leavesB)
    result.finite = hull(result.finite, b.finite);
  result.posInf = a.posInf || b.posInf;
  result.negInf = (a.negInf && leavesA) || (b.negInf && leavesB);
  result.nan = a.nan || b.nan;
  result.integral =
      (a.integral || a.finite.isEmpty()) && (b.integral || b.finite.isEmpty());
  result.minNonZero = a.finite.isEmpty() ? b.minNonZero
                      : b.finite.isEmpty()
                          ? a.minNonZero
                          : std::min(a.minNonZero, b.minNonZero);
  result.tighten();
  return result;
}

FloatRange range::min(const FloatRange &a, const FloatRange &b) {
  return neg(max(neg(a), neg(b)));
}

FloatRange range::clip(const FloatRange &x,
                       const std::optional<FloatRange> &low,
                       const std::optional<FloatRange> &high) {
  FloatRange result = x;
  if (low)
    result = max(result, *low);
  if (high)
    result = min(result, *high);
  return result;
}
