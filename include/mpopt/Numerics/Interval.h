//===- Interval.h - Closed intervals, rounded outward -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sets of real numbers between two doubles. An infinite end means unbounded;
// the values Inf and NaN are no members (FloatRange.h has flags for them).
// Every operation gives a superset of the real image: the four operations and
// the square root are rounded outward exactly (Rounding.h), what needs libm is
// widened by its error.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_INTERVAL_H
#define MPOPT_NUMERICS_INTERVAL_H

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"

#include <algorithm>
#include <cmath>

namespace mpopt {

/// A closed interval; either end may be infinite. Empty if `lo > hi`.
struct Interval {
  double lo = 0;
  double hi = 0;

  static constexpr Interval empty() { return {kInfinity, -kInfinity}; }
  static constexpr Interval whole() { return {-kInfinity, kInfinity}; }
  static constexpr Interval point(double value) { return {value, value}; }
  /// All values of a magnitude up to `bound`.
  static constexpr Interval symmetric(double bound) { return {-bound, bound}; }

  bool operator==(const Interval &other) const = default;

  bool isEmpty() const { return !(lo <= hi); }
  bool isPoint() const { return lo == hi; }
  bool isBounded() const {
    return isEmpty() || (std::isfinite(lo) && std::isfinite(hi));
  }
  bool contains(double value) const { return lo <= value && value <= hi; }
  bool contains(const Interval &other) const {
    return other.isEmpty() || (lo <= other.lo && other.hi <= hi);
  }

  /// The largest |x| and the smallest one; 0 for the empty interval.
  double maxAbs() const {
    return isEmpty() ? 0 : std::max(std::fabs(lo), std::fabs(hi));
  }
  double minAbs() const {
    if (isEmpty() || contains(0.0))
      return 0;
    return std::min(std::fabs(lo), std::fabs(hi));
  }

  /// A number near the middle: always finite and, unless the interval is empty,
  /// a member.
  double midpoint() const;
  /// Half the width, rounded up so that `midpoint() ± radius()` holds the
  /// interval.
  double radius() const;
  /// hi - lo, rounded up.
  double width() const;

  /// The interval with each end x moved outward by `relative` |x| + `absolute`.
  Interval widened(double relative, double absolute = 0) const;
  /// How far an end x moves: by `relative` |x| + `absolute`.
  struct Margin {
    double relative, absolute;
  };
  /// The same, by a margin for each end.
  Interval widened(const Margin &below, const Margin &above) const;
};

inline Interval hull(const Interval &a, const Interval &b) {
  if (a.isEmpty())
    return b;
  if (b.isEmpty())
    return a;
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}
inline Interval hull(const Interval &a, double value) {
  return hull(a, Interval::point(value));
}
inline Interval intersect(const Interval &a, const Interval &b) {
  Interval both = {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
  return both.isEmpty() ? Interval::empty() : both;
}

/// Products; 0 times an unbounded interval is 0, since its members are finite.
inline Interval operator-(const Interval &x) {
  return {0.0 - x.hi, 0.0 - x.lo}; // Never -0.
}

inline Interval operator+(const Interval &a, const Interval &b) {
  if (a.isEmpty() || b.isEmpty())
    return Interval::empty();
  return {addDown(a.lo, b.lo), addUp(a.hi, b.hi)};
}

inline Interval operator-(const Interval &a, const Interval &b) {
  return a + -b;
}

inline Interval operator+(const Interval &a, double b) {
  return a + Interval::point(b);
}

inline Interval operator*(const Interval &a, double b) {
  if (a.isEmpty())
    return a;
  if (b < 0)
    return {mulDown(a.hi, b), mulUp(a.lo, b)};
  return {mulDown(a.lo, b), mulUp(a.hi, b)};
}

Interval operator*(const Interval &a, const Interval &b);
/// Quotients by the divisor's non-zero members, so that a/[0, 0] is empty.
Interval operator/(const Interval &a, const Interval &b);

Interval abs(const Interval &x);
Interval min(const Interval &a, const Interval &b);
Interval max(const Interval &a, const Interval &b);
/// The squares of the members: never negative.
Interval square(const Interval &x);
/// The square roots of the members that are not negative.
Interval sqrt(const Interval &x);
/// The reciprocals of the non-zero members.
Interval reciprocal(const Interval &x);
/// The real values of x^y: a negative base counts for the integers among the
/// exponents only, a base of 0 for exponents from 0 on (0^0 = 1).
Interval pow(const Interval &base, const Interval &exponent);

} // namespace mpopt

#endif // MPOPT_NUMERICS_INTERVAL_H
