//===- Sorting.cpp - Ranges of positions, sorted and selected elements
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

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

/// The largest elements of a row of `count`, in order, as powers of a ratio r.
/// Then the sum of their squares, of the square of their sum, is
/// (1 - r)(1 + r^n) / ((1 + r)(1 - r^n)).
static double ratioOf(double collisions, double count) {
  double lo = 0, hi = 1;
  constexpr int kSteps = 48;
  for (int step = 0; step < kSteps; ++step) {
    double r = (lo + hi) / 2, all = std::pow(r, count);
    bool isEven = (1 - r) * (1 + all) < collisions * (1 + r) * (1 - all);
    (isEven ? hi : lo) = r;
  }
  return (lo + hi) / 2;
}

/// The largest `kept` of `count` elements that are not negative and sum to
/// `sum` are expected to hold this part of it.
static void estimateLargest(CellRef cell, double sum, double count,
                            double kept) {
  double square = cell.variance + cell.mean * cell.mean;
  double collisions = std::clamp(square * count / (sum * sum), 1 / count, 1.0);
  double r = ratioOf(collisions, count);
  auto part = [&](double ratio) {
    return ratio < 1 ? std::expm1(kept * std::log(ratio)) /
                           std::expm1(count * std::log(ratio))
                     : kept / count;
  };
  double mean = sum * part(r) / kept;
  cell.variance =
      std::max(0.0, square * count * part(r * r) / kept - mean * mean);
  cell.mean = mean;
  cell.likelyHi = std::max(cell.likelyHi, mean);
  cell.likelyLo = std::min(cell.likelyLo, mean);
}

/// The larger half, or less, of the elements that a row draws.
static void estimateHalf(CellRef cell, bool largest, int64_t among) {
  // Each result is the largest of so many elements.
  double reach = std::sqrt(cell.variance) * expectedMaximum(double(among));
  cell.variance /= 2;
  if (largest) {
    cell.likelyLo = cell.mean;
    cell.mean += reach;
  } else {
    cell.likelyHi = cell.mean;
    cell.mean -= reach;
  }
}

static void transferTopK(mp::TopKOp op, TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  // `fitTo` drops what is claimed of whole rows where some elements are left.
  AbstractValue value = fitTo(sortedAlong(input, op.getAxis()), op.getValues());
  if (value.hasLikely())
    value.source = LikelySource::Propagated;
  MaybeShape in = getShape(op.getInput()), out = getShape(op.getValues());
  std::optional<int64_t> axis =
      in ? normalizeAxis(op.getAxis(), in->size()) : std::nullopt;
  if (axis && out && (*out)[*axis] > 0 && (*in)[*axis] >= (*out)[*axis]) {
    int64_t count = (*in)[*axis], kept = (*out)[*axis];
    if (const std::optional<RowSumFact> &sum = input.rowSum;
        sum && sum->axis == *axis && sum->count == count && op.getLargest()) {
      // The largest have at least their share.
      value.claimRowSum(*axis,
                        sum->lo * double(kept) / double(count) * (1 - 1e-12),
                        sum->hi, kept);
      for (CellRef cell : value.mutableCells())
        estimateLargest(cell, (sum->lo + sum->hi) / 2, double(count),
                        double(kept));
    } else if (count > 1 && 2 * kept <= count) {
      for (CellRef cell : value.mutableCells())
        estimateHalf(cell, op.getLargest(), count / kept);
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
