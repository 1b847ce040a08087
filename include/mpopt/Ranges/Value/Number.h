//===- Number.h - Formulas over both tiers ----------------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor as one number, for composite ops (losses, gradients, optimisers)
// whose kernels evaluate a formula step by step: each step is rounded in the
// format of the kernel, and may overflow there. Operands count as independent,
// except in `square`.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_NUMBER_H
#define MPOPT_RANGES_VALUE_NUMBER_H

#include "mpopt/Ranges/Value/CellSupport.h"

#include "mpopt/Numerics/FloatRange.h"
#include "mpopt/Numerics/Likely.h"

namespace mpopt {

struct Number {
  FloatRange range = FloatRange::top();
  Likely expected;
  LikelySource source = LikelySource::Unknown;
  const FloatFormat *format = &FloatFormat::f32();

  /// The hull of a tensor, computed with in `format`.
  static Number of(const AbstractValue &value, const FloatFormat &format);
  /// A constant as the kernel holds it.
  static Number constant(double value, const FloatFormat &format);
  /// The bound, estimate and non-finite values of `x`: not that it is whole, or
  /// has a least magnitude. What a formula starts from that changes the bound.
  static Number boundedLike(const Number &x);
  /// Anything in the bound.
  static Number within(const Interval &bound, const FloatFormat &format);

  const Interval &bound() const { return range.finite; }
  bool isWithin(double lo, double hi) const {
    return range.isFinite() && range.finite.lo >= lo && range.finite.hi <= hi;
  }

  /// As one cell in the rank of `like`.
  AbstractValue value(mlir::Value like) const;

  /// Only what lies in `bound` is possible: for what a formula cannot see.
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
/// Either, `a` with that probability.
Number either(const Number &a, const Number &b, double probability = 0.5);
Number max(const Number &a, const Number &b);

/// `count` of them added up, `expected` as far as one knows.
Number sumOf(const Number &x, double count, double expected);
/// Their mean; the sum is computed first.
Number meanOf(const Number &x, double count, double expected);
/// (sum of |x|^p)^(1/p) of `count` of them.
Number normOf(const Number &x, double p, double count, double expected);

/// The hull of what is known of `value`, as its kernel computes functions of
/// it.
Number numberOf(mlir::Value value, TransferContext &ctx);
/// Elements of a tensor: infinite, and expected 1 a dim, where one is unknown.
double countOf(mlir::Value value);
double expectedCountOf(mlir::Value value);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_NUMBER_H
