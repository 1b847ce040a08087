//===- FloatRange.h - What a floating-point value may be --------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The abstract value of one number: bounds of its finite values and flags for
// the others. A transfer function takes what is read from a tensor and gives
// what is computed; `store` turns that into what is read from the result.
//
// Bounds are not clipped at a format's edge. A value that may overflow keeps
// its bound (a superset of what is stored) and gains the flag, so that one pair
// of bounds answers both "how far past the edge" and "what may be stored".
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_FLOATRANGE_H
#define MPOPT_NUMERICS_FLOATRANGE_H

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Numerics/Interval.h"

namespace mpopt {

/// What a store does beyond rounding.
struct StoreMode {
  /// Past the edge, the largest value instead of Inf or NaN (ONNX Cast to the
  /// 8-bit formats).
  bool saturate = false;
  /// Subnormal results may be flushed to zero.
  bool flushSubnormals = false;
};

struct FloatRange {
  Interval finite = Interval::empty();
  bool nan = false, posInf = false, negInf = false;
  /// No non-zero finite value is smaller in magnitude; 0 if nothing is known.
  double minNonZero = 0;
  /// Every finite value is an integer.
  bool integral = false;

  static FloatRange of(const Interval &finite);
  /// Also of an infinity or NaN.
  static FloatRange point(double value);
  /// Every value of the format.
  static FloatRange allOf(const FloatFormat &format);
  /// Nothing known, not even the format.
  static FloatRange top();

  /// No value at all.
  bool isEmpty() const {
    return finite.isEmpty() && !nan && !posInf && !negInf;
  }
  bool mayBeInf() const { return posInf || negInf; }
  bool isFinite() const { return !nan && !mayBeInf(); }
  bool mayBeZero() const { return finite.contains(0.0); }
  bool mayBePositive() const { return posInf || finite.hi > 0; }
  bool mayBeNegative() const { return negInf || finite.lo < 0; }
  /// True if a finite value other than zero, or Inf, is possible.
  bool mayBeNonZero() const { return mayBePositive() || mayBeNegative(); }
  bool contains(double value) const;

  /// The values on one side of zero, without zero; their end towards zero is
  /// `minNonZero` (0 if that is not known). Empty if there are none.
  Interval positivePart() const;
  Interval negativePart() const;

  /// Draws every consequence of one field for the others: ends at integers, no
  /// end between zero and `minNonZero`, `minNonZero` from bounds without zero.
  void tighten();

  /// What a value of this range reads as after a store in the format, to
  /// nearest even.
  FloatRange store(const FloatFormat &format, StoreMode mode = {}) const;

  bool operator==(const FloatRange &other) const = default;
};

/// The values of either.
FloatRange join(const FloatRange &a, const FloatRange &b);

} // namespace mpopt

#endif // MPOPT_NUMERICS_FLOATRANGE_H
