//===- ShapeSupport.h - Abstract values under changes of shape --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_VALUE_SHAPESUPPORT_H
#define MPOPT_RANGES_VALUE_SHAPESUPPORT_H

#include "mpopt/Dialect/WindowSupport.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <utility>

namespace mpopt {
namespace mp {
class PadOp;
class SliceOp;
} // namespace mp

/// The same numbers in other places: one cell, `rank` axes, no claims about
/// rows.
AbstractValue smeared(const AbstractValue &value, size_t rank);

/// The value without the given axis, which is merged, or with a merged one put
/// in. Claims about other axes follow.
AbstractValue withoutAxis(const AbstractValue &value, int64_t axis);
AbstractValue withAxis(const AbstractValue &value, int64_t axis);

/// The elements `first`, `first + step`, ... (`count` of them) of an axis.
AbstractValue sliced(const AbstractValue &value, int64_t axis, int64_t first,
                     int64_t step, int64_t count);
/// Some elements of an axis, none twice, of unknown positions.
AbstractValue someOf(const AbstractValue &value, int64_t axis);

/// The parts one after another along an axis; `sizes` (negative: unknown) has
/// one entry for each of `parts`, which have the same rank.
AbstractValue concatenated(llvm::ArrayRef<AbstractValue> parts, int64_t axis,
                           llvm::ArrayRef<int64_t> sizes, size_t limit);

/// The numbers of an attribute, or what is known of the operand that may have
/// them instead.
std::optional<llvm::SmallVector<int64_t>>
getNumbers(std::optional<llvm::ArrayRef<int64_t>> attribute,
           mlir::Value operand, TransferContext &ctx);

/// `count` elements of a result along an axis: index i is index
/// `offset + i stride` of the operand, which has `size`.
struct AxisSlice {
  int64_t offset = 0, stride = 1, size = 0, count = 0;
  int64_t of(int64_t index) const { return offset + index * stride; }
  /// The elements that a border adds at each end, negative where it crops.
  int64_t before() const { return -offset; }
  int64_t after() const { return count - size + offset; }
  bool isWhole() const { return offset == 0 && stride == 1 && count == size; }
};

/// The slices that a slice of an operand of that shape, or a border around it,
/// gives; nothing if they are not known.
std::optional<llvm::SmallVector<AxisSlice>>
partsOf(mp::SliceOp op, llvm::ArrayRef<int64_t> shape, TransferContext &ctx);
std::optional<llvm::SmallVector<AxisSlice>>
partsOf(mp::PadOp op, llvm::ArrayRef<int64_t> shape, TransferContext &ctx);

/// The number of a constant border; nothing if it is not known, and for borders
/// that repeat elements.
std::optional<double> borderOf(mp::PadOp op, TransferContext &ctx);

/// The tensor around whose positions an op of its own puts a border of zeros,
/// and `window` with that border as padding: only a window knows which taps
/// read a zero. Both as they are where `input` is no such tensor.
std::pair<mlir::Value, Window> withBorder(mlir::Value input, Window window,
                                          TransferContext &ctx);

/// A tensor whose elements are all `number`, of one cell.
AbstractValue constantValue(double number, size_t rank);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_SHAPESUPPORT_H
