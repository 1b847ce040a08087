//===- Number.h - Formulas over both tiers ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor as one number, for composite ops (losses, gradients, optimisers)
// whose kernels evaluate a formula step by step: each step is rounded in the
// format of the kernel, and may overflow there. Operands are taken as
// independent, except in `square`.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_NUMBER_H
#define MPOPT_RANGES_VALUE_NUMBER_H

#include "mpopt/Ranges/Value/CellSupport.h"

#include "mpopt/Numerics/FloatRange.h"
#include "mpopt/Numerics/Likely.h"

namespace mpopt {

/// Bound and estimate of one number, and the format it is computed in.
struct Number {
  FloatRange range = FloatRange::top();
  Likely expected;
  LikelySource source = LikelySource::Unknown;
  const FloatFormat *format = &FloatFormat::f32();

  /// The hull of a tensor, in a kernel that computes in `format`.
  static Number of(const AbstractValue &value, const FloatFormat &format);
  /// A constant, rounded as the kernel holds it.
  static Number constant(double value, const FloatFormat &format);
  /// The bound, estimate and non-finite values of `x`, without its claims (that
  /// it is whole, or has a least magnitude): the start of a formula that
  /// changes the bound.
  static Number boundedLike(const Number &x);
  /// A number that is uniform in `bound`.
  static Number within(const Interval &bound, const FloatFormat &format);

  const Interval &bound() const { return range.finite; }
  bool isWithin(double lo, double hi) const {
    return range.isFinite() && range.finite.lo >= lo && range.finite.hi <= hi;
  }

  /// The number as a value of one cell in the rank of `like`.
  AbstractValue value(mlir::Value like) const;

  /// The number with its bound cut to `bound`, which holds for reasons that the
  /// formula does not show.
  Number cut(const Interval &bound) const;
  Number clamped(double lo, double hi) const;
};

Number operator-(const Number &x);
Number operator+(const Number &a, const Number &b);
Number operator-(const Number &a, const Number &b);
Number operator*(const Number &a, const Number &b);
Number operator/(const Number &a, const Number &b);
Number apply(UnaryFunction function, const Number &x);
inline Number square(const Number &x) {
  return apply(UnaryFunction::Square, x);
}
/// One of both, `a` with that probability.
Number either(const Number &a, const Number &b, double probability = 0.5);
Number max(const Number &a, const Number &b);

/// The sum of `count` numbers like `x`, at most; `expected` is the number of
/// terms for the estimate.
Number sumOf(const Number &x, double count, double expected);
/// The mean of those; kernels compute the sum first.
Number meanOf(const Number &x, double count, double expected);
/// (sum of |x|^p)^(1/p) of those.
Number normOf(const Number &x, double p, double count, double expected);

/// The hull of `value`, in the format in which the op computes functions of it.
Number numberOf(mlir::Value value, TransferContext &ctx);
/// The number of elements of a tensor. With unknown dims `countOf` is infinite;
/// `expectedCountOf` takes each of those as 1.
double countOf(mlir::Value value);
double expectedCountOf(mlir::Value value);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_NUMBER_H
