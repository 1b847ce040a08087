//===- CellKernels.h - Vector code on the arrays of cells -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops without calls and without branches that depend on the numbers, compiled
// for several instruction sets. All of them give the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_VALUE_CELLKERNELS_H
#define MPOPT_LIB_RANGES_VALUE_CELLKERNELS_H

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Ranges/Value/Cells.h"

#include <vector>

namespace mpopt::cells {

/// How numbers of a format are rounded, without looking at the format again.
struct NumberRounding {
  explicit NumberRounding(const FloatFormat &format);

  /// Numbers from `overflowFrom` on stay what they are.
  double overflowFrom, flushAt, minNormal;
  /// Added to and subtracted from a subnormal it rounds it.
  double shift;
  /// The bits of a double that the format does not have.
  uint32_t dropped;
  bool evenBits;
};

/// The limits that hold for every cell of a value.
struct CellLimits {
  double lo, hi;
  /// The largest magnitude that the value's dtype flushes.
  double flushAt;
  bool likely;
};

struct CellFit {
  /// The least magnitude of an element that is not 0, by the bounds.
  double smallest;
  /// An estimate was no number.
  bool losesLikely;
};

/// The sums of two values' elements, besides their cells.
struct CellSum {
  /// The least magnitude of an element that is not 0.
  double smallest;
  /// Distances from a mean whose squares are no normal doubles: the estimates
  /// are to be made again.
  bool isExtreme;
};

/// The loops for one instruction set.
struct CellLoops {
  /// Rounds to nearest even the numbers of at least the magnitude `least`.
  void (*round)(const NumberRounding &rounding, double least, double *numbers,
                size_t count);
  /// True if that changes none of them.
  bool (*isRounded)(const NumberRounding &rounding, double least,
                    const double *numbers, size_t count);
  /// True if all numbers are floats; NaN is none.
  bool (*areFloats)(const double *numbers, size_t count);
  /// Moves ends outward to the next float, where they are normal floats' size.
  void (*widen)(double *lo, double *hi, size_t count);
  /// Cuts cells to the limits, and estimates to the bounds.
  CellFit (*fit)(const CellLimits &limits, const MutableCells &cells);
  /// Adds cells as `range::add` and `likely::add` do, if both have bounds whose
  /// elements other than 0 have at least the magnitude `minNonZero` where terms
  /// do not cancel. The result is put in place of `a`.
  CellSum (*add)(const MutableCells &a, const MutableCells &b,
                 double minNonZero);
  /// The largest of the numbers' magnitudes, but for empty bounds.
  double (*magnitude)(const double *lo, const double *hi, size_t count);
};

/// The fastest that this machine has.
const CellLoops &loops();
/// All that it has, portable code first.
const std::vector<CellLoops> &allLoops();

} // namespace mpopt::cells

#endif // MPOPT_LIB_RANGES_VALUE_CELLKERNELS_H
