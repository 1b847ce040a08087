//===- EstimateMath.h - Functions of estimates, quickly ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An estimate may be off by some roundings, which lets the common cases go
// without libm. Bounds must not be computed with these.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_ESTIMATEMATH_H
#define MPOPT_NUMERICS_ESTIMATEMATH_H

#include <cmath>

namespace mpopt {

/// sqrt(a^2 + b^2); by hypot only where a square leaves the range of doubles.
inline double getLength(double a, double b) {
  double squares = a * a + b * b;
  return squares > 1e-290 && squares < 1e300 ? std::sqrt(squares)
                                             : std::hypot(a, b);
}

/// base^exponent; by products where the exponent is a small whole number, as
/// the power of a cube costs as much as fifty of them.
inline double raise(double base, double exponent) {
  if (exponent == 2)
    return base * base;
  if (exponent == 3)
    return base * base * base;
  return std::pow(base, exponent);
}

} // namespace mpopt

#endif // MPOPT_NUMERICS_ESTIMATEMATH_H
