//===- Aligned.h - Operands under broadcasting ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_LINEAR_ALIGNED_H
#define MPOPT_LIB_RANGES_LINEAR_ALIGNED_H

#include "Step.h"

namespace mpopt::linear {

/// An operand whose axes are aligned to the right of the result's.
struct Aligned {
  /// Nothing where it is not known which element an element of the result
  /// reads.
  static std::optional<Aligned> get(mlir::Value value, mlir::Value result,
                                    TransferContext &ctx);

  Box box(const Box &result) const;
  /// Says which elements take part in the results in a box.
  void trace(const Box &result, Trace &trace) const {
    if (!fixed) {
      trace.read(value, box(result));
      return;
    }
    for (size_t axis = 0; axis < repeated.size(); ++axis)
      if (cells.isKept(axis) && !repeated[axis])
        trace.note(result.first[axis + shift]);
  }
  /// Adds `factor` times the coefficients of a result to those of its element.
  void add(const double *from, llvm::ArrayRef<int64_t> result, double factor,
           Forms &forms) const {
    Index own = index(result);
    if (fixed)
      return forms.addNumber(from, factor * cell(own).lo);
    Part &to = forms.of(value);
    forms.add(from, to.numbers.data() + size_t(to.box.find(own)) * forms.rows,
              factor);
  }
  /// The operand's index for an index of the result.
  Index index(llvm::ArrayRef<int64_t> result) const;
  Cell cell(llvm::ArrayRef<int64_t> own) const {
    return known.cell(cells(own));
  }
  /// Every element is known, and takes part as a number.
  bool findFixed() const {
    return llvm::all_of(known.cells(),
                        [](const Cell &cell) { return cell.lo == cell.hi; });
  }

  mlir::Value value;
  AbstractValue known;
  CellMap cells;
  size_t shift = 0;
  /// The operand has one element along that axis, for all of the result's.
  llvm::SmallVector<bool, 6> repeated;
  bool fixed = false;
};

} // namespace mpopt::linear

#endif // MPOPT_LIB_RANGES_LINEAR_ALIGNED_H
