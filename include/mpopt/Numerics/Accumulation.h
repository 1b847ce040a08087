//===- Accumulation.h - The error of a sum ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bounds hold for every order of the additions, blocked and tree sums
// included. The classic factor gamma_n = n u / (1 - n u) (Higham, "Accuracy and
// Stability of Numerical Algorithms", section 4.2) says nothing from n u = 1
// on, which FP16 reaches at 2048 terms; for round to nearest n u itself holds
// without a limit on n (Jeannerod and Rump, "Improved error bounds for inner
// products in floating-point arithmetic", SIMAX 34, 2013).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_ACCUMULATION_H
#define MPOPT_NUMERICS_ACCUMULATION_H

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Numerics/Interval.h"

namespace mpopt {

/// How an accumulator rounds.
struct Accumulator {
  const FloatFormat *format;
  /// Truncating tensor cores lose up to a whole unit instead of half of one;
  /// for them the bound is gamma_n at twice the unit.
  bool truncates = false;
};

/// A number of terms that is not known counts as this many: more than any
/// tensor in use has along the axes of one sum.
inline constexpr double kUnknownCount = 1 << 24;

/// (terms + extra) u, where each term of a sum passes at most `extra` roundings
/// besides the additions: products, a quotient, a root, a stored result. A
/// product of k factors 1 + d, |d| <= u, is off by k u and less than (k u)^2,
/// which callers cover by an `extra` larger than what they count.
inline double relativeSumError(const FloatFormat &format, double terms,
                               double extra) {
  return (terms + extra) * format.unitRoundoff();
}

/// An upper bound of |computed - exact| for a sum of `terms` numbers whose
/// magnitudes add up to `magnitude` at most. Infinite if no bound is known;
/// infinitely many terms are taken as `kUnknownCount`.
double sumError(const Accumulator &accumulator, double terms, double magnitude);

/// The same for a dot product, `magnitude` bounding the sum of |x_i y_i|: each
/// product is rounded too, and may underflow. An exact product (a fused
/// multiply-add, or operands half as wide as the accumulator) loses less.
double dotError(const Accumulator &accumulator, double terms, double magnitude);
/// The same for many dot products of as many terms.
class DotError {
public:
  DotError(const Accumulator &accumulator, double terms);
  double of(double magnitude) const;

private:
  /// The error is `factor` times the magnitude, plus `absolute`.
  double factor = 0, absolute = 0;
};

/// Widens `exact`, an interval that contains the real sum, so that it contains
/// the computed sum.
Interval widenSum(const Interval &exact, const Accumulator &accumulator,
                  double terms, double magnitude);

} // namespace mpopt

#endif // MPOPT_NUMERICS_ACCUMULATION_H
