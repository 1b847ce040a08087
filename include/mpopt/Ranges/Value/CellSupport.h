//===- CellSupport.h - Small arithmetic on groups of elements ---*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What transfer functions of several families share. A tensor of unknown size
// is taken to have at least one element; where an error term needs a number of
// terms that is not known, `kUnknownCount` stands for it.
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
inline void setBound(Cell &cell, const Interval &bound) {
  cell.lo = bound.lo;
  cell.hi = bound.hi;
}
inline Interval likelyInterval(const Cell &cell) {
  return {cell.likelyLo, cell.likelyHi};
}
inline Likely getLikely(const Cell &cell) {
  return {cell.mean, cell.variance, cell.likelyLo, cell.likelyHi};
}
inline void setLikely(Cell &cell, const Likely &likely) {
  cell.mean = likely.mean;
  cell.variance = likely.variance;
  cell.likelyLo = likely.lo;
  cell.likelyHi = likely.hi;
}
/// The bound of `cell` stays.
inline void setLikely(Cell &cell, const Cell &likely) {
  setLikely(cell, getLikely(likely));
}
Cell make(const Interval &bound, double mean, double variance,
          const Interval &likely);
inline Cell point(double value) {
  return {value, value, value, 0, value, value};
}
/// Equally probable numbers.
Cell uniform(double lo, double hi);

/// A share of the elements are of `other`, the rest of `cell`.
Cell blend(const Cell &cell, const Cell &other, double share);
/// `blend` for each group; where `other`'s likely tier is unknown the result's
/// is, too. Flags are joined, facts are gone.
AbstractValue blend(const AbstractValue &value, const AbstractValue &other,
                    double share);

/// One cell in the rank of `like`, with the value's flags and no facts.
AbstractValue spread(const AbstractValue &value, mlir::Value like);
/// Of the value's rank if that is `like`'s; axes whose size is another (or not
/// known to be the same) are merged. Facts along such axes are gone.
AbstractValue fitTo(AbstractValue value, mlir::Value like);
/// Whole numbers in [lo, hi], equally likely.
AbstractValue integers(double lo, double hi, mlir::Value like);
/// Numbers in `bound`, of which the middle is as likely as the rest.
AbstractValue numbers(const Interval &bound, mlir::Value like);

/// A constant of one element, or a value whose bound is one number.
std::optional<double> constantOf(TransferContext &ctx, mlir::Value value);

/// `x` moved outward by `units` in the last place of the format.
Interval roundedIn(const FloatFormat &format, const Interval &x, double units);

/// A sum of numbers in `term` that is off by `error`: never below 0 if none of
/// them is.
Interval computedSum(const Interval &exact, const Interval &term, double error);
/// `count` (an interval) numbers of `x` added up.
Interval repeat(const Interval &x, const Interval &count);
/// The product of `count` (1 or more) numbers of `x`, partial ones included if
/// `count` is an interval.
Interval power(const Interval &x, const Interval &count);

} // namespace mpopt::cells

#endif // MPOPT_RANGES_VALUE_CELLSUPPORT_H
