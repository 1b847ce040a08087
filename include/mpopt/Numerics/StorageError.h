//===- StorageError.h - What storing numbers changes ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expected error of numbers that are rounded to a format, from their mean
// and variance. The unit in the last place of x is 2 u 2^e, with 2^e the power
// of two below |x|, and the error of a rounding is even within half of it, so
// its square is (2 u 2^e)^2 / 12. Over mantissas whose logarithm is even,
// E 4^e / E x^2 = 2 ln 2 / 3: the error's square is (2 ln 2 / 9) u^2 E x^2.
// Below the smallest normal number the unit is the smallest subnormal, as it is
// the step of integers everywhere; what is below half of that is lost with all
// its size, and so is what overflows, where it is not clipped.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_STORAGEERROR_H
#define MPOPT_NUMERICS_STORAGEERROR_H

#include "mpopt/Numerics/StorageFormat.h"

#include <numbers>

namespace mpopt {

/// The mean square of rounding normal numbers to nearest, in units of u^2 times
/// their own: of even logarithms, as derived above.
inline constexpr double kRoundingSquare = 2 * std::numbers::ln2 / 9;

/// The difference between stored and exact numbers.
struct StorageError {
  /// The expected difference and the expected square of it.
  double mean = 0, square = 0;

  void add(const StorageError &other, double weight = 1) {
    mean += weight * other.mean;
    square += weight * other.square;
  }
};

/// The ends of a format past which numbers occur: the tail of a normal number
/// has some that a bound excludes.
struct Tails {
  bool below = true, above = true;

  Tails() = default;
  /// Implicit: past both ends, or none.
  Tails(bool both) : below(both), above(both) {}
  Tails(bool below, bool above) : below(below), above(above) {}
};

/// The error of one number.
StorageError storageErrorOf(double value, const StorageFormat &format);

/// The error of normal numbers. `whole`: they are whole numbers, which are
/// exact up to 2^digits. `overflow`: the ends past which they occur.
StorageError storageErrorOf(double mean, double variance,
                            const StorageFormat &format, bool whole = false,
                            Tails overflow = {});

} // namespace mpopt

#endif // MPOPT_NUMERICS_STORAGEERROR_H
