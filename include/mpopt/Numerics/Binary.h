//===- Binary.h - Images under functions of several numbers -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operands vary independently: x - x is [-w, w] here, and what relates two
// operands is for the caller to know (apply(Square) for x * x). Each result is
// what a kernel computes before the final rounding; see ComputeError.h for why
// the basic operations add no error. Infinite and NaN operands contribute their
// consequences: 1 / Inf is 0, Inf - Inf and 0 * Inf are NaN, and max, min and
// clip may drop a NaN, because some kernels do.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_BINARY_H
#define MPOPT_NUMERICS_BINARY_H

#include "mpopt/Numerics/ComputeError.h"
#include "mpopt/Numerics/FloatRange.h"

#include <cstdint>
#include <optional>

namespace mpopt::range {

FloatRange neg(const FloatRange &x);
FloatRange add(const FloatRange &a, const FloatRange &b);
FloatRange sub(const FloatRange &a, const FloatRange &b);
FloatRange mul(const FloatRange &a, const FloatRange &b);
FloatRange div(const FloatRange &a, const FloatRange &b,
               const ComputeError &error);
FloatRange floorDiv(const FloatRange &a, const FloatRange &b,
                    const ComputeError &error);
/// Integer division toward zero; a zero divisor has no result.
FloatRange truncDiv(const FloatRange &a, const FloatRange &b);
/// The remainder with the sign of a, as C's fmod gives it.
FloatRange fmod(const FloatRange &a, const FloatRange &b);
/// The remainder with the sign of b, as Python's % gives it.
FloatRange remainder(const FloatRange &a, const FloatRange &b);
FloatRange pow(const FloatRange &base, const FloatRange &exponent,
               const ComputeError &error);
FloatRange atan2(const FloatRange &y, const FloatRange &x,
                 const ComputeError &error);
FloatRange min(const FloatRange &a, const FloatRange &b);
FloatRange max(const FloatRange &a, const FloatRange &b);

/// The outcomes that a condition may have.
struct Truth {
  bool mayBeTrue = false, mayBeFalse = false;
  static Truth unknown() { return {true, true}; }
  /// The outcomes as numbers, 0 and 1.
  FloatRange toRange() const;
  bool operator==(const Truth &other) const = default;
};
inline Truth operator!(Truth x) { return {x.mayBeFalse, x.mayBeTrue}; }
inline Truth operator&(Truth a, Truth b) {
  return {a.mayBeTrue && b.mayBeTrue, a.mayBeFalse || b.mayBeFalse};
}
inline Truth operator|(Truth a, Truth b) { return !(!a & !b); }
inline Truth operator^(Truth a, Truth b) { return (a & !b) | (!a & b); }

enum class Comparison : std::uint8_t {
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual
};
Truth compare(Comparison comparison, const FloatRange &a, const FloatRange &b);
Truth isNaN(const FloatRange &x);
Truth isFinite(const FloatRange &x);
Truth isInf(const FloatRange &x, bool negative = true, bool positive = true);

FloatRange where(Truth condition, const FloatRange &a, const FloatRange &b);
/// The values of `x` for which `x comparison bound` may hold, as a guard leaves
/// them in its branch. NaN stays for NotEqual only.
FloatRange refine(const FloatRange &x, Comparison comparison,
                  const FloatRange &bound);

/// min(max(x, low), high); a missing bound does not limit.
FloatRange clip(const FloatRange &x, const std::optional<FloatRange> &low,
                const std::optional<FloatRange> &high);
FloatRange prelu(const FloatRange &x, const FloatRange &slope);
FloatRange swiglu(const FloatRange &gate, const FloatRange &value, double alpha,
                  const ComputeError &error);
/// x + factor a b.
FloatRange addcmul(const FloatRange &x, const FloatRange &a,
                   const FloatRange &b, double factor,
                   const ComputeError &error);
/// x + factor a / b.
FloatRange addcdiv(const FloatRange &x, const FloatRange &a,
                   const FloatRange &b, double factor,
                   const ComputeError &error);
/// a + weight (b - a).
FloatRange lerp(const FloatRange &a, const FloatRange &b,
                const FloatRange &weight, const ComputeError &error);

} // namespace mpopt::range

#endif // MPOPT_NUMERICS_BINARY_H
