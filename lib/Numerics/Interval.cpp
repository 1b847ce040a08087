//===- Interval.cpp - Closed intervals, rounded outward
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pow is the one function here that needs libm. glibc's is within 0.53 ulp
// (Zimmermann et al., "Accuracy of Mathematical Functions in Single, Double,
// Double Extended, and Quadruple Precision"; its manual's table says 1 ulp);
// results are widened by 2.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/Interval.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"

using namespace mpopt;

// The ends of an infinite interval for its midpoint.
static constexpr double kLargest = std::numeric_limits<double>::max();

double Interval::midpoint() const {
  if (isEmpty())
    return 0;
  double low = std::max(lo, -kLargest), high = std::min(hi, kLargest);
  // Halving a subnormal may leave the interval.
  return std::clamp(low / 2 + high / 2, low, high);
}

double Interval::radius() const {
  if (isEmpty())
    return 0;
  double middle = midpoint();
  return std::max(subUp(middle, lo), subUp(hi, middle));
}

double Interval::width() const { return isEmpty() ? 0 : subUp(hi, lo); }

Interval Interval::widened(double relative, double absolute) const {
  return widened({relative, absolute}, {relative, absolute});
}

Interval Interval::widened(const Margin &below, const Margin &above) const {
  if (isEmpty())
    return *this;
  auto reach = [](double end, const Margin &margin) {
    return addUp(mulUp(margin.relative, std::fabs(end)), margin.absolute);
  };
  return {std::isinf(lo) ? lo : subDown(lo, reach(lo, below)),
          std::isinf(hi) ? hi : addUp(hi, reach(hi, above))};
}

Interval mpopt::operator*(const Interval &a, const Interval &b) {
  if (a.isEmpty() || b.isEmpty())
    return Interval::empty();
  // The usual case analysis on signs: two products instead of eight.
  if (a.lo >= 0 && b.lo >= 0)
    return {mulDown(a.lo, b.lo), mulUp(a.hi, b.hi)};
  if (a.hi <= 0 && a.lo < 0)
    return -(-a * b);
  if (b.hi <= 0 && b.lo < 0)
    return -(a * -b);
  if (a.lo >= 0) // b holds 0 inside.
    return {mulDown(a.hi, b.lo), mulUp(a.hi, b.hi)};
  if (b.lo >= 0)
    return {mulDown(a.lo, b.hi), mulUp(a.hi, b.hi)};
  return {std::min(mulDown(a.lo, b.hi), mulDown(a.hi, b.lo)),
          std::max(mulUp(a.lo, b.lo), mulUp(a.hi, b.hi))};
}

Interval mpopt::operator/(const Interval &a, const Interval &b) {
  if (a.isEmpty() || b.isEmpty() || (b.lo == 0 && b.hi == 0))
    return Interval::empty();
  if (a.lo == 0 && a.hi == 0)
    return a;
  if (b.lo < 0 && b.hi > 0)
    return a.contains(0.0) ? Interval::whole()
                           : hull(a / Interval{b.lo, 0}, a / Interval{0, b.hi});
  if (b.hi <= 0)
    return -(a / -b);
  // 0 <= b.lo; a divisor that tends to 0 makes the quotient unbounded.
  auto down = [&](double x, double y) {
    return y == 0 ? (x < 0 ? -kInfinity : 0) : divDown(x, y);
  };
  auto up = [&](double x, double y) {
    return y == 0 ? (x > 0 ? kInfinity : 0) : divUp(x, y);
  };
  return {down(a.lo, a.lo < 0 ? b.lo : b.hi), up(a.hi, a.hi > 0 ? b.lo : b.hi)};
}

Interval mpopt::abs(const Interval &x) {
  if (x.isEmpty() || x.lo >= 0)
    return x;
  if (x.hi <= 0)
    return -x;
  return {0, x.maxAbs()};
}

Interval mpopt::min(const Interval &a, const Interval &b) {
  if (a.isEmpty() || b.isEmpty())
    return Interval::empty();
  return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
}

Interval mpopt::max(const Interval &a, const Interval &b) {
  if (a.isEmpty() || b.isEmpty())
    return Interval::empty();
  return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
}

Interval mpopt::square(const Interval &x) {
  Interval positive = abs(x);
  return positive * positive;
}

Interval mpopt::sqrt(const Interval &x) {
  Interval domain = intersect(x, {0, kInfinity});
  if (domain.isEmpty())
    return domain;
  return {sqrtDown(domain.lo), sqrtUp(domain.hi)};
}

Interval mpopt::reciprocal(const Interval &x) { return Interval::point(1) / x; }

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// Powers of a base that is not negative: y ln x is bilinear in y and ln x, so
/// its extremes lie in the corners, and the exponential keeps their order.
static Interval powOfPositive(const Interval &base, const Interval &exponent) {
  if (base.isEmpty() || exponent.isEmpty())
    return Interval::empty();
  if (exponent.isPoint()) {
    if (exponent.lo == 0)
      return Interval::point(1);
    if (exponent.lo == 1)
      return base;
    if (exponent.lo == 2)
      return square(base);
    if (exponent.lo == 0.5)
      return sqrt(base);
    if (exponent.lo == -1)
      return reciprocal(base);
  }
  if (base.hi == 0 && exponent.hi < 0)
    return Interval::empty();
  double low = kInfinity, high = 0;
  for (double x : {base.lo, base.hi})
    for (double y : {exponent.lo, exponent.hi}) {
      double value = std::pow(x + 0.0, y); // Not -0.
      // 1^y and x^0 are exact; the margin covers what libm rounds.
      bool exact = x == 1 || y == 0 || (x == 0 && y > 0);
      low = std::min(low, exact ? value : nextDown(nextDown(value)));
      high = std::max(high, exact ? value : nextUp(nextUp(value)));
    }
  // x < 1 < x' with y < 0 < y': 1 = x^0 lies between the corners anyway.
  return {std::max(low, 0.0), high};
}

/// True if [lo, hi], whose ends are integers, holds an integer of that parity.
/// From 2^53 on every double is even, and there each interval is taken to hold
/// both.
static bool holdsParity(double lo, double hi, bool odd) {
  if (hi > lo)
    return true;
  return (std::fmod(lo, 2) != 0) == odd;
}

Interval mpopt::pow(const Interval &base, const Interval &exponent) {
  if (base.isEmpty() || exponent.isEmpty())
    return Interval::empty();
  Interval result = powOfPositive(intersect(base, {0, kInfinity}), exponent);
  if (base.lo >= 0)
    return result;
  Interval integers = {std::ceil(exponent.lo), std::floor(exponent.hi)};
  if (integers.isEmpty())
    return result;
  Interval magnitude =
      powOfPositive(-intersect(base, {-kInfinity, 0}), integers);
  if (holdsParity(integers.lo, integers.hi, /*odd=*/false))
    result = hull(result, magnitude);
  if (holdsParity(integers.lo, integers.hi, /*odd=*/true))
    result = hull(result, -magnitude);
  return result;
}
