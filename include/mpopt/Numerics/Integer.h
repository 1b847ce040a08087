//===- Integer.h - Images under operations on bits --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges of integers are FloatRanges with `integral` set. Ends beyond 2^53 are
// rounded outward to doubles.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_INTEGER_H
#define MPOPT_NUMERICS_INTEGER_H

#include "mpopt/Numerics/FloatRange.h"

namespace mpopt {

struct IntegerFormat {
  unsigned bits;
  bool isSigned;

  double min() const { return isSigned ? -std::ldexp(1.0, bits - 1) : 0; }
  /// The largest value, rounded up to a double from 54 bits on.
  double max() const;
  /// Every value of the type.
  FloatRange all() const;
  /// The values that `x` may have when stored in this type: itself if the type
  /// holds it, else every value of the type (integers wrap around, and casts of
  /// Inf and NaN are not defined).
  FloatRange wrap(const FloatRange &x) const;
};

namespace range {

FloatRange bitwiseNot(const FloatRange &x, IntegerFormat format);
FloatRange bitwiseAnd(const FloatRange &a, const FloatRange &b,
                      IntegerFormat format);
FloatRange bitwiseOr(const FloatRange &a, const FloatRange &b,
                     IntegerFormat format);
FloatRange bitwiseXor(const FloatRange &a, const FloatRange &b,
                      IntegerFormat format);
/// a 2^b; bits beyond the type are dropped.
FloatRange shiftLeft(const FloatRange &a, const FloatRange &b,
                     IntegerFormat format);
/// floor(a / 2^b).
FloatRange shiftRight(const FloatRange &a, const FloatRange &b,
                      IntegerFormat format);

} // namespace range
} // namespace mpopt

#endif // MPOPT_NUMERICS_INTEGER_H
