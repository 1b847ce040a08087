//===- ReductionRows.h - The rows that a reduction runs over ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction sees, for each group of its result, rows of elements: so many of
// this group of its input, so many of that. ReductionFunctions.h has what
// becomes of one row.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_OPS_REDUCTION_REDUCTIONROWS_H
#define MPOPT_LIB_RANGES_OPS_REDUCTION_REDUCTIONROWS_H

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "llvm/ADT/SmallBitVector.h"

namespace mpopt {

/// `count` elements of one group in each row.
struct RowTerm {
  Cell cell;
  Interval count;
};

struct Row {
  llvm::ArrayRef<RowTerm> terms;
  /// Elements of a row, and how many one expects (unknown dims as 1).
  Interval count;
  double expected = 1;
  /// Rows in the group, as draws of the likely tier.
  double draws = 1;
  /// Upper bound of the row's Euclidean norm.
  double euclid = kInfinity;
  /// The sum of the row, if it is known and no element is negative.
  std::optional<Interval> sum;
  /// The sums of squares of the group's rows, if the elements are constants.
  Interval squares{0, kInfinity};

  Interval hull() const;
  /// The elements of the row as one cell.
  Cell mixture() const;
};

/// The state that a function of a row reads and sets.
struct Reducing {
  const AbstractValue &input;
  const FloatFormat &accumulator;
  /// Attribute of some reductions: order of a norm, correction of a variance.
  double parameter = 0;
  /// Flags of the result, beyond those that follow from its bound.
  bool nan = false, posInf = false, negInf = false;

  /// A number that the accumulator has to hold on the way.
  void passes(const Interval &intermediate) {
    posInf |= intermediate.hi >= accumulator.overflowFrom;
    negInf |= intermediate.lo <= -accumulator.overflowFrom;
  }
};

using RowFunction = llvm::function_ref<Cell(const Row &, Reducing &)>;

/// Axes of `rank`; all of them where `axes` is empty.
llvm::SmallBitVector reducedAxes(llvm::ArrayRef<int64_t> axes, size_t rank);

/// The result of a reduction of `input`; `axes` is nothing if they are not
/// known.
AbstractValue reduceRows(TransferContext &ctx, mlir::Value input,
                         std::optional<llvm::SmallBitVector> axes,
                         bool keepDims, mlir::Value result, Reducing &state,
                         RowFunction function);

/// Numbers added up.
Cell addTerms(llvm::ArrayRef<RowTerm> terms, double expected, double draws,
              Reducing &state);

} // namespace mpopt

#endif // MPOPT_LIB_RANGES_OPS_REDUCTION_REDUCTIONROWS_H
