//===- FloatRange.h - What a floating-point value may be --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The abstract value of one number: bounds of its finite values and flags for
// the others. A transfer function takes what is read from a tensor and gives
// what is computed; `store` turns that into what is read from the result.
//
// Bounds are not clipped at a format's largest finite value. A value that may
// overflow keeps its bound (a superset of the stored values) and gains the
// flag, so that one pair of bounds answers both "by how much it overflows" and
// "which values may be stored".
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_FLOATRANGE_H
#define MPOPT_NUMERICS_FLOATRANGE_H

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Numerics/Interval.h"

namespace mpopt {

struct StorageFormat;

struct FloatRange {
  Interval finite = Interval::empty();
  bool nan = false, posInf = false, negInf = false;
  /// No non-zero finite value is smaller in magnitude; 0 if nothing is known.
  double minNonZero = 0;
  /// Every finite value is an integer.
  bool integral = false;

  /// The finite values of an interval.
  static FloatRange of(const Interval &finite);
  /// One value, which may be an infinity or NaN.
  static FloatRange point(double value);
  /// Every value: nothing is known, not even the format.
  static FloatRange top();

  /// True if no value is possible.
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

  /// The values that are read back after a store in the format. A bound past
  /// its ends stays where the format does not saturate.
  FloatRange store(const StorageFormat &format) const;

  bool operator==(const FloatRange &other) const = default;
};

/// A range that holds the values of both.
FloatRange join(const FloatRange &a, const FloatRange &b);

} // namespace mpopt

#endif // MPOPT_NUMERICS_FLOATRANGE_H
