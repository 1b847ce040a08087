//===- StorageError.h - What storing numbers changes ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expected error of numbers that are rounded to a format, from their mean
// and variance. The unit in the last place of x is 2 u 2^e, with 2^e the power
// of two below |x|, and the error of a rounding is even within half of it, so
// its square is (2 u 2^e)^2 / 12. Over mantissas whose logarithm is even,
// E 4^e / E x^2 = 2 ln 2 / 3: the error's square is (2 ln 2 / 9) u^2 E x^2.
// Below the smallest normal number the unit is the smallest subnormal; what is
// below half of that is lost with all its size, and so is what overflows.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_STORAGEERROR_H
#define MPOPT_NUMERICS_STORAGEERROR_H

#include "mpopt/Numerics/FloatFormat.h"

#include <numbers>

namespace mpopt {

/// The mean square of rounding normal numbers to nearest, in units of u^2 times
/// their own: of even logarithms, as derived above.
inline constexpr double kRoundingSquare = 2 * std::numbers::ln2 / 9;

/// The difference between stored and exact numbers.
struct StorageError {
  double mean = 0;
  /// The expected square, and how much of it is of numbers that became 0 and
  /// of numbers that overflow.
  double square = 0, flushed = 0, overflowed = 0;

  void add(const StorageError &other, double weight = 1) {
    mean += weight * other.mean;
    square += weight * other.square;
    flushed += weight * other.flushed;
    overflowed += weight * other.overflowed;
  }
};

/// The error of one number.
StorageError storageErrorOf(double value, const FloatFormat &format);

/// The error of normal numbers. `whole`: they are whole numbers, which are
/// exact up to 2^digits.
StorageError storageErrorOf(double mean, double variance,
                            const FloatFormat &format, bool whole = false);

} // namespace mpopt

#endif // MPOPT_NUMERICS_STORAGEERROR_H
