//===- Likely.h - Expected ranges of numbers --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The estimate beside the bound: mean and variance of one element and the
// extremes that one evaluation of all elements is expected to reach. Operands
// are taken as independent, distributions as near normal unless the extremes
// say otherwise. Nothing here is rounded outward: it is evidence, not proof.
//
// Extremes are kept beside the variance because tails do not follow from it:
// e^x of a normal x has its extremes at e^lo and e^hi, far from mean ± k sigma.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_LIKELY_H
#define MPOPT_NUMERICS_LIKELY_H

#include "mpopt/Numerics/Interval.h"
#include "mpopt/Numerics/Unary.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace mpopt {

struct Likely {
  double mean = 0, variance = 0;
  /// Least and greatest value expected in one evaluation of all elements.
  double lo = 0, hi = 0;

  static Likely point(double value) { return {value, 0, value, value}; }
  /// A normal value, whose extremes are k standard deviations from the mean.
  static Likely normal(double mean, double variance, double k);
  /// A value that is uniform on [lo, hi].
  static Likely uniform(double lo, double hi);

  double deviation() const;
  double absMax() const;
  /// The estimate with the extremes cut to `bound` and the moments cut to the
  /// extremes: the mean lies between them and, after Bhatia and Davis, variance
  /// <= (hi-m)(m-lo).
  Likely within(const Interval &bound) const;
};

/// The k for which the largest of `count` elements, each drawn `draws` times,
/// is not expected above mean + k sigma: sqrt(2 ln(count draws)), with at least
/// two draws. It is above the expectation itself, which is `expectedMaximum`.
double expectedExtreme(double count, double draws = 1);

/// The same for the responses of trained filters to signals. Those of natural
/// images and sounds are nearly Laplacian (Field, "Relations between the
/// statistics of natural images and the response properties of cortical cells",
/// 1987; Mallat 1989), whose extreme is ln(count) / sqrt(2); those of signals
/// without structure are normal. The geometric mean of both extremes,
/// ln(count)^(3/4), is within a factor 1.6 of either up to 10^9 draws.
double expectedFilterExtreme(double count);
/// The least of as many draws of a positive number as `k` stands for
/// (expectedExtreme). Sums of squares and of other positive terms are near a
/// gamma distribution of their mean and variance, whose density at 0 decides
/// how near to it the least one comes: x with P(X < x) = exp(-k^2 / 2).
double expectedLeast(double mean, double variance, double k);
/// The least of so many draws of a sum of positive terms, a gamma variable of
/// that mean and variance: few squares that decide a sum of squares are all
/// small now and then. Wilson and Hilferty's cube of a normal one, and where
/// that is near zero the first term of the distribution's series. It lies below
/// `expectedLeast`, as terms that depend on each other have smaller sums.
double leastOfPositive(double mean, double variance, double draws);
/// The expectation of the largest of `count` normal draws, in standard
/// deviations from the mean; 0 for one draw.
double expectedMaximum(double count);
/// The variance of the largest of `count` normal draws, in variances of a draw:
/// that of a Gumbel variable whose scale is 1 / `expectedExtreme`.
double varianceOfMaximum(double count);

namespace likely {

/// scale x + shift.
Likely affine(const Likely &x, double scale, double shift);
/// The sum of independent operands. The extremes' distances from the mean add
/// in quadrature, as two extremes seldom meet.
Likely add(const Likely &a, const Likely &b);
Likely sub(const Likely &a, const Likely &b);
/// The product of independent operands: variance v_a v_b + v_a m_b^2 + v_b
/// m_a^2. `k` as in expectedExtreme: the extremes of the product are not the
/// product of the extremes, which seldom meet, but both factors somewhat less
/// far out.
Likely mul(const Likely &a, const Likely &b, double k);
/// The square of a normal value: mean m^2 + v, variance 2 v^2 + 4 m^2 v.
Likely square(const Likely &x);
/// a / b, by the moments of 1 / b.
Likely div(const Likely &a, const Likely &b, double k);
/// 1 / x. If zero lies within the extremes, the smallest magnitude expected
/// among the draws that k stands for bounds the result.
Likely reciprocal(const Likely &x, double k);
/// The maximum of two independent normal values (Clark, "The Greatest of a
/// Finite Set of Random Variables", 1961).
Likely max(const Likely &a, const Likely &b);
Likely min(const Likely &a, const Likely &b);
/// A mixture of both, in which `a` has that probability.
Likely mix(const Likely &a, const Likely &b, double probability = 0.5);

/// A normal value of which only those in the range are taken: the truncated
/// normal distribution (Johnson, Kotz, Balakrishnan, "Continuous Univariate
/// Distributions", volume 1, chapter 13).
Likely truncate(const Likely &x, const Interval &range);

/// f(x): moments by Gauss-Hermite quadrature with 15 points (for a normal x
/// that is cut at its extremes), extremes over a grid between the operand's.
Likely apply(llvm::function_ref<double(double)> function, const Likely &x);
Likely apply(const Unary &unary, const Likely &x);
/// The same for a function that is monotone and has a value everywhere, whose
/// extremes are at the ends.
Likely applyMonotone(llvm::function_ref<double(double)> function,
                     const Likely &x);

/// `apply` for a function of which much is known: where it is monotone its
/// extremes are those at the ends and where it turns, and no grid is needed.
class UnaryEstimate {
public:
  explicit UnaryEstimate(const Unary &unary);
  Likely operator()(const Likely &x) const;

private:
  Unary unary;
  /// Monotone in pieces between `breaks`, within the open domain.
  Interval domain;
  bool monotone;
  llvm::SmallVector<double, 2> breaks;
};

/// A sum of many independent terms, of that mean and variance: normal, unless
/// few heavy-tailed terms decide. Then the largest single contribution does:
/// `tail` is the 6-norm over the terms of |weight| (hi - lo) / 2.
Likely sum(double mean, double variance, double tail, double k);
/// The norm by its 6th power.
double tailFromPower(double power);

} // namespace likely
} // namespace mpopt

#endif // MPOPT_NUMERICS_LIKELY_H
