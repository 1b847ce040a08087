//===- Sorting.cpp - Ranges of positions, sorted and selected elements
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

/// No tensor has a longer axis.
static constexpr double kLongestAxis = 0x1p48;

/// Positions along `axis` of `input`, or in the flattened tensor without it.
static AbstractValue positions(Value input, std::optional<int64_t> axis,
                               Value result) {
  MaybeShape shape = getShape(input);
  double count = kLongestAxis;
  if (shape && !axis) {
    if (std::optional<int64_t> all = getNumElements(shape))
      count = double(*all);
  } else if (shape) {
    std::optional<int64_t> known = normalizeAxis(*axis, shape->size());
    if (shape->empty())
      count = 1;
    else if (known && (*shape)[*known] >= 0)
      count = double((*shape)[*known]);
  }
  AbstractValue value = integers(0, std::max(count - 1, 0.0), result);
  if (count == kLongestAxis)
    value.source = LikelySource::Unknown;
  return value;
}

template <typename OpTy>
static void transferArg(OpTy op, TransferContext &ctx) {
  ctx.result(0, positions(op.getInput(), op.getAxis(), op.getResult()));
}

/// With `axis` merged; everything without it.
static AbstractValue mergedAlong(const AbstractValue &value,
                                 std::optional<int64_t> axis) {
  if (!axis)
    return value.merged();
  std::optional<int64_t> known = normalizeAxis(*axis, value.rank());
  return known ? value.merging(*known) : value.merged();
}

/// Elements of each row along `axis` in another order. Rows along other axes
/// are put together from elements of several: the largest of each column, say.
static AbstractValue sortedAlong(const AbstractValue &value, int64_t axis) {
  AbstractValue merged = mergedAlong(value, axis);
  AbstractValue result = AbstractValue::pickedFrom(merged);
  if (std::optional<int64_t> known = normalizeAxis(axis, value.rank()))
    result.keepsRowsAlong(*known, merged);
  return result;
}

static void transferTopK(mp::TopKOp op, TransferContext &ctx) {
  // `fitTo` drops what is claimed of whole rows where some elements are left.
  AbstractValue value =
      fitTo(sortedAlong(ctx.operand(0), op.getAxis()), op.getValues());
  if (value.hasLikely())
    value.source = LikelySource::Propagated;
  // The better half of the elements lies on one side of the mean.
  MaybeShape in = getShape(op.getInput()), out = getShape(op.getValues());
  std::optional<int64_t> axis =
      in ? normalizeAxis(op.getAxis(), in->size()) : std::nullopt;
  if (axis && out && (*in)[*axis] > 1 && (*out)[*axis] > 0 &&
      2 * (*out)[*axis] <= (*in)[*axis])
    for (CellRef cell : value.mutableCells()) {
      // Each result is the largest of so many elements.
      int64_t among = (*in)[*axis] / (*out)[*axis];
      double reach = std::sqrt(cell.variance) * expectedMaximum(double(among));
      cell.variance /= 2;
      if (op.getLargest()) {
        cell.likelyLo = cell.mean;
        cell.mean += reach;
      } else {
        cell.likelyHi = cell.mean;
        cell.mean -= reach;
      }
    }
  ctx.result(0, std::move(value));
  ctx.result(1, positions(op.getInput(), op.getAxis(), op.getIndices()));
}

static void transferSort(mp::SortOp op, TransferContext &ctx) {
  ctx.result(0,
             fitTo(sortedAlong(ctx.operand(0), op.getAxis()), op.getValues()));
  ctx.result(1, positions(op.getInput(), op.getAxis(), op.getIndices()));
}

static void transferMedian(mp::MedianOp op, TransferContext &ctx) {
  AbstractValue value =
      spread(mergedAlong(ctx.operand(0), op.getAxis()), op.getValues());
  if (value.hasLikely())
    value.source = LikelySource::Propagated;
  double count = 1;
  if (MaybeShape shape = getShape(op.getInput()))
    for (auto [axis, dim] : llvm::enumerate(*shape))
      if (!op.getAxis() ||
          normalizeAxis(*op.getAxis(), shape->size()) == int64_t(axis))
        count *= std::max<double>(dim, 1);
  if (count > 2) // pi / 2 of the mean's variance, for many normal draws
    for (CellRef cell : value.mutableCells()) {
      cell.variance *= std::min(1.0, M_PI / 2 / count);
      double reach = expectedExtreme(
                         ctx.elementsPerGroup(op.getValues(), value.groups())) *
                     std::sqrt(cell.variance);
      cell.likelyLo = std::max(cell.likelyLo, cell.mean - reach);
      cell.likelyHi = std::min(cell.likelyHi, cell.mean + reach);
    }
  ctx.result(0, std::move(value));
  ctx.result(1, positions(op.getInput(), op.getAxis(), op.getIndices()));
}

void mpopt::attachSortingTransfers(MLIRContext *context) {
  attachTransfer<transferArg<mp::ArgMaxOp>, mp::ArgMaxOp>(context);
  attachTransfer<transferArg<mp::ArgMinOp>, mp::ArgMinOp>(context);
  attachTransfer<transferTopK, mp::TopKOp>(context);
  attachTransfer<transferSort, mp::SortOp>(context);
  attachTransfer<transferMedian, mp::MedianOp>(context);
}
