//===- Rounding.h - Directed rounding of doubles ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// +, -, *, / and sqrt rounded down or up without touching the FPU mode: the
// rounding error of the nearest result is itself computed without error
// (Knuth's TwoSum, a fused multiply-add for the others), and its sign says
// whether to step to the neighbour. So an exact result stays exact: 1 + 1 is
// [2, 2].
//
// Infinite operands are ends of unbounded intervals, not values: 0 * Inf is 0,
// x / Inf is 0. A finite result that overflows is rounded to Inf in one
// direction and to the largest double in the other. No result is -0.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_ROUNDING_H
#define MPOPT_NUMERICS_ROUNDING_H

#include "mpopt/Numerics/Infinity.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace mpopt {

inline double nextUp(double x) {
  if (!(x < kInfinity))
    return x;
  if (x == 0)
    return std::numeric_limits<double>::denorm_min();
  auto bits = std::bit_cast<std::int64_t>(x);
  return std::bit_cast<double>(x > 0 ? bits + 1 : bits - 1);
}
inline double nextDown(double x) { return -nextUp(-x); }

namespace detail {
/// The error of a product or quotient below this may not be a double.
constexpr double kExactAbove = 0x1p-960;

/// A double at or below a real number that rounds to `nearest` and is 0 or has
/// that sign.
/// True if both have 24 digits at most, so that their product has 48.
inline bool areFloats(double a, double b) {
  auto bits = std::bit_cast<std::uint64_t>(a) | std::bit_cast<std::uint64_t>(b);
  return (bits & 0x1fffffff) == 0;
}

inline double stepDown(double nearest, bool negative) {
  if (negative || nearest > 0)
    return nextDown(nearest);
  return 0;
}
} // namespace detail

inline double addDown(double a, double b) {
  double sum = a + b;
  if (std::isinf(sum) || std::isnan(sum)) {
    if (std::isnan(sum))
      return -kInfinity;
    return std::isinf(a) || std::isinf(b) ? sum : nextDown(sum);
  }
  sum += 0.0; // -0 becomes 0.
  double part = sum - a;
  double error = (a - (sum - part)) + (b - part);
  return error >= 0 ? sum : nextDown(sum);
}
inline double addUp(double a, double b) { return 0.0 - addDown(-a, -b); }
inline double subDown(double a, double b) { return addDown(a, -b); }
inline double subUp(double a, double b) { return addUp(a, -b); }

inline double mulDown(double a, double b) {
  if (a == 0 || b == 0)
    return 0;
  double product = a * b;
  if (std::isinf(product))
    return std::isinf(a) || std::isinf(b) ? product : nextDown(product);
  if (std::fabs(product) < detail::kExactAbove)
    return detail::stepDown(product, (a < 0) != (b < 0));
  if (detail::areFloats(a, b))
    return product;
  return std::fma(a, b, -product) >= 0 ? product : nextDown(product);
}
inline double mulUp(double a, double b) { return 0.0 - mulDown(-a, b); }

/// a / b rounded down; `b` must not be zero.
inline double divDown(double a, double b) {
  if (a == 0 || std::isinf(b))
    return 0;
  double quotient = a / b;
  if (std::isinf(quotient))
    return std::isinf(a) ? quotient : nextDown(quotient);
  if (std::fabs(quotient) < detail::kExactAbove ||
      std::fabs(a) < detail::kExactAbove)
    return detail::stepDown(quotient, (a < 0) != (b < 0));
  double rest = std::fma(-quotient, b, a);
  bool below = b > 0 ? rest < 0 : rest > 0;
  return below ? nextDown(quotient) : quotient;
}
inline double divUp(double a, double b) { return 0.0 - divDown(-a, b); }

/// sqrt(x) rounded down; `x` must not be negative.
inline double sqrtDown(double x) {
  double root = std::sqrt(x);
  if (x == 0 || std::isinf(x))
    return root;
  if (x < detail::kExactAbove)
    return nextDown(root);
  return std::fma(-root, root, x) >= 0 ? root : nextDown(root);
}
inline double sqrtUp(double x) {
  double root = std::sqrt(x);
  if (x == 0 || std::isinf(x))
    return root;
  if (x < detail::kExactAbove)
    return nextUp(root);
  return std::fma(-root, root, x) <= 0 ? root : nextUp(root);
}

} // namespace mpopt

#endif // MPOPT_NUMERICS_ROUNDING_H
