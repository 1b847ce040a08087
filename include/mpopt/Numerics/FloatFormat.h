//===- FloatFormat.h - The limits of every float format ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table of the limits of formats. The largest finite value and the overflow
// threshold, from which values round to Inf, are different: under
// round-to-nearest-even an FP16 value between 65504 and 65520 is stored as
// 65504. The table knows no IR: Dialect/TypeSupport.h maps an MLIR type to its
// format.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_FLOATFORMAT_H
#define MPOPT_NUMERICS_FLOATFORMAT_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace mpopt {

struct FloatFormat {
  /// The name of the type in MLIR: `f16`, `f8E4M3FN`.
  llvm::StringRef name;
  const llvm::fltSemantics *semantics;
  /// Width of the storage, in bits.
  unsigned bits;
  /// Digits of the significand, the implicit one included.
  unsigned digits;
  /// A value that overflows becomes Inf if the format has it, else NaN if the
  /// format has that, else `maxFinite`.
  bool hasInf, hasNaN;
  /// False for E8M0, which holds powers of two only.
  bool hasZero;
  double maxFinite, minNormal, minSubnormal;
  /// The smallest double that does not round to a finite value of the format
  /// (65520 for f16). Infinity for f64, whose threshold no double can express.
  double overflowFrom;
  /// The largest double that rounds to zero (2^-25 for f16). 0 if only zero
  /// does, or if no double can express it (f64).
  double flushAt;

  static const FloatFormat &f64();
  static const FloatFormat &f32();
  static const FloatFormat &f16();
  static const FloatFormat &bf16();
  static llvm::ArrayRef<FloatFormat> all();

  /// The format of that name; null if there is none.
  static const FloatFormat *byName(llvm::StringRef name);
  /// The format of those semantics; null if the table has none.
  static const FloatFormat *bySemantics(const llvm::fltSemantics &semantics);

  /// `value` rounded to the format, to nearest even. Overflow gives Inf also
  /// where the format would store NaN or its largest value.
  double round(double value) const;

  /// u, half of `epsilon`: the relative error of one rounding to nearest.
  double unitRoundoff() const { return getPower(-int(digits)); }
  /// One unit in the last place of 1.
  double epsilon() const { return getPower(1 - int(digits)); }
  /// One unit in the last place of a normal number.
  double ulp(double value) const {
    return std::ldexp(1.0, std::ilogb(value) + 1 - int(digits));
  }

  /// True if `value` is finite and does not round to a finite value.
  bool overflows(double value) const;
  /// True if `value` is finite and non-zero, and rounds to zero.
  bool flushes(double value) const;
  /// True if |value| is below `minNormal` before rounding and does not round to
  /// zero.
  bool becomesSubnormal(double value) const;

  /// True if some finite value of `other` overflows or flushes here.
  bool losesValuesOf(const FloatFormat &other) const {
    return overflowFrom <= other.maxFinite ||
           (hasZero && flushAt >= other.minSubnormal);
  }

private:
  /// 2^exponent, a normal double.
  static double getPower(int exponent) {
    return std::bit_cast<double>(std::uint64_t(1023 + exponent) << 52);
  }
};

} // namespace mpopt

#endif // MPOPT_NUMERICS_FLOATFORMAT_H
