//===- CellSupport.h - Small arithmetic on groups of elements ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers for the transfer functions of several families. A tensor of unknown
// size is taken to have at least one element; where an error term needs an
// unknown number of terms, `kUnknownCount` stands for it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_CELLSUPPORT_H
#define MPOPT_RANGES_VALUE_CELLSUPPORT_H

#include "mpopt/Numerics/Accumulation.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Ranges/Value/TransferContext.h"

namespace mpopt::cells {

inline Interval bound(const Cell &cell) {
  return cell.empty() ? Interval::empty() : Interval{cell.lo, cell.hi};
}
inline void setBound(CellRef cell, const Interval &bound) {
  cell.lo = bound.lo;
  cell.hi = bound.hi;
}
inline Interval likelyInterval(const Cell &cell) {
  return {cell.likelyLo, cell.likelyHi};
}
inline Likely getLikely(const Cell &cell) {
  return {cell.mean, cell.variance, cell.likelyLo, cell.likelyHi};
}
inline void setLikely(CellRef cell, const Likely &likely) {
  cell.mean = likely.mean;
  cell.variance = likely.variance;
  cell.likelyLo = likely.lo;
  cell.likelyHi = likely.hi;
}
/// Sets the likely part of `cell`; its bound stays.
inline void setLikely(CellRef cell, const Cell &likely) {
  setLikely(cell, getLikely(likely));
}
Cell make(const Interval &bound, double mean, double variance,
          const Interval &likely);
inline Cell point(double value) {
  return {value, value, value, 0, value, value};
}
/// A cell of equally probable numbers in [lo, hi].
Cell uniform(double lo, double hi);

/// A mixture: the part `share` (0 to 1) of the elements is of `other`, the rest
/// of `cell`.
Cell blend(const Cell &cell, const Cell &other, double share);
/// `blend` for each group; where `other`'s likely tier is unknown the result's
/// is, too. Flags are joined, claims dropped.
AbstractValue blend(const AbstractValue &value, const AbstractValue &other,
                    double share);

/// The hull of the value as one cell in the rank of `like`, with the value's
/// flags and no claims.
AbstractValue spread(const AbstractValue &value, mlir::Value like);
/// The value with the rank of `like`; axes whose size differs, or is not known
/// to be the same, are merged, and claims along them are dropped.
AbstractValue fitTo(AbstractValue value, mlir::Value like);
/// A value of whole numbers in [lo, hi], equally probable.
AbstractValue integers(double lo, double hi, mlir::Value like);
/// A value of numbers in `bound`, equally probable.
AbstractValue numbers(const Interval &bound, mlir::Value like);

/// The number of a constant of one element, or of a value whose bound is one
/// number; nothing for others.
std::optional<double> constantOf(TransferContext &ctx, mlir::Value value);

/// `x` with its ends moved outward by `units` in the last place of the format.
Interval roundedIn(const FloatFormat &format, const Interval &x, double units);

/// `exact`, a sum of numbers in `term`, widened by `error`, a share of the sum
/// of their largest magnitudes: of terms of one sign, which cancel nothing,
/// that share of what they sum to at least.
Interval computedSum(const Interval &exact, const Interval &term, double error);
/// The sum of `count` (an interval) numbers of `x`.
Interval repeat(const Interval &x, const Interval &count);
/// The product of `count` (1 or more) numbers of `x`, partial ones included if
/// `count` is an interval.
Interval power(const Interval &x, const Interval &count);

} // namespace mpopt::cells

#endif // MPOPT_RANGES_VALUE_CELLSUPPORT_H
