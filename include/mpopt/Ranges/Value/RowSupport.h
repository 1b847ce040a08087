//===- RowSupport.h - Cells of ops that work on whole rows ------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What normalisations, softmax, attention and recurrent cells share.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_ROWSUPPORT_H
#define MPOPT_RANGES_VALUE_ROWSUPPORT_H

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Interval.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <cmath>

namespace mpopt::rows {

inline Interval bound(const Cell &cell) {
  return cell.empty() ? Interval::empty() : Interval{cell.lo, cell.hi};
}
inline void setBound(Cell &cell, const Interval &bound) {
  cell.lo = bound.lo;
  cell.hi = bound.hi;
}

/// Half a unit in the last place of 1: the relative error of one rounding.
inline double roundoff(const FloatFormat &format) {
  return std::ldexp(1.0, -int(format.digits));
}

/// The extremes of so many normal draws, in standard deviations.
inline double extremeOf(double count) {
  return std::sqrt(2 * std::log(std::max(count, 2.0)));
}

/// The number of elements of a slice along `axes`; nothing if one is unknown.
std::optional<int64_t> countAlong(llvm::ArrayRef<int64_t> shape,
                                  llvm::ArrayRef<int64_t> axes);

/// A vector's value as one along `axis` of a tensor of `rank`.
AbstractValue alongAxis(const AbstractValue &vector, int64_t axis, size_t rank);

/// At least the Euclidean norm of a row of `count` elements along `axis`, by
/// the bounds of its elements.
double normByCells(const AbstractValue &value, int64_t axis, int64_t count);

// Likely tier of independent operands; bounds are left alone.

/// `count` is the number of draws that the product's extremes are of.
Cell likelyProduct(const Cell &lhs, const Cell &rhs, double count);
Cell likelySum(const Cell &lhs, const Cell &rhs);
inline void setLikely(Cell &cell, const Cell &likely) {
  cell.mean = likely.mean;
  cell.variance = likely.variance;
  cell.likelyLo = likely.likelyLo;
  cell.likelyHi = likely.likelyHi;
}

} // namespace mpopt::rows

#endif // MPOPT_RANGES_VALUE_ROWSUPPORT_H
