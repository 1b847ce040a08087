//===- Create.cpp - Ranges of tensors that are made
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes as values, and ops whose elements come from attributes, counters and
// comparisons. The elements of integer results that shape arithmetic follows
// are known exactly anyway; this is what holds where dims are unknown.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/ShapeSupport.h"

#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// No tensor has a longer axis.
static constexpr double kLongestAxis = 0x1p48;

static AbstractValue integers(double lo, double hi, size_t rank) {
  AbstractValue value = AbstractValue::within(lo, hi, rank);
  value.claimIntegral();
  return value;
}

static void transferShape(mp::ShapeOp op, TransferContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  if (!shape)
    return ctx.result(0, integers(0, kLongestAxis, 1));
  auto [first, last] = op.getBounds(shape->size());
  SmallVector<AbstractValue> parts;
  for (int64_t axis = first; axis < last; ++axis)
    parts.push_back((*shape)[axis] < 0 ? integers(0, kLongestAxis, 1)
                                       : constantValue((*shape)[axis], 1));
  if (parts.empty())
    return ctx.result(0, integers(0, 0, 1));
  SmallVector<int64_t> sizes(parts.size(), 1);
  ctx.result(0, concatenated(parts, 0, sizes, ctx.maxGroups()));
}

static void transferSize(mp::SizeOp op, TransferContext &ctx) {
  std::optional<int64_t> count = getNumElements(getShape(op.getInput()));
  ctx.result(0,
             count ? constantValue(*count, 0) : integers(0, kLongestAxis, 0));
}

static void transferFill(mp::FillOp op, TransferContext &ctx) {
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  size_t rank = ctx.rankOf(op.getResult());
  if (!dense || dense.getNumElements() != 1)
    return ctx.unknown();
  Type element = dense.getElementType();
  if (isa<FloatType>(element)) {
    llvm::APFloat value = *dense.getValues<llvm::APFloat>().begin();
    bool inexact;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &inexact);
    return ctx.result(0, constantValue(value.convertToDouble(), rank));
  }
  if (auto integer = dyn_cast<IntegerType>(element)) {
    llvm::APInt value = *dense.getValues<llvm::APInt>().begin();
    bool isUnsigned = integer.isUnsigned() || integer.getWidth() == 1;
    return ctx.result(
        0, constantValue(value.roundToDouble(/*isSigned=*/!isUnsigned), rank));
  }
  ctx.unknown();
}

/// start + i delta, from start on, on this side of limit. Computed in the
/// result's type, whose rounding may carry the last one a little further.
static void transferRange(mp::RangeOp op, TransferContext &ctx) {
  const AbstractValue &start = ctx.operand(0), &limit = ctx.operand(1),
                      &delta = ctx.operand(2);
  if (start.mayBeNonFinite() || limit.mayBeNonFinite() ||
      delta.mayBeNonFinite())
    return ctx.unknown();
  Cell from = start.hull(), to = limit.hull(), step = delta.hull();
  double lo = from.lo, hi = from.hi;
  bool integral = start.integral && delta.integral && limit.integral;
  if (step.hi > 0)
    hi = std::max(hi, integral ? to.hi - 1 : to.hi);
  if (step.lo < 0)
    lo = std::min(lo, integral ? to.lo + 1 : to.lo);
  if (const FloatFormat *format =
          getFloatFormat(getElementType(op.getResult()))) {
    // Two roundings of a number no larger than these.
    double unit = 4.0 * format->unitRoundoff();
    double reach = unit * std::max(std::fabs(lo), std::fabs(hi)) +
                   4 * format->minSubnormal;
    if (!integral || reach > 0.5) {
      lo -= reach;
      hi += reach;
      integral = false;
    }
  }
  AbstractValue value = AbstractValue::within(lo, hi, 1);
  value.integral = integral;
  // The numbers of an axis of which nothing is known reach nowhere in
  // particular: its longest is a bound, and no expectation.
  if (start.hasLikely() && limit.hasLikely() && delta.hasLikely()) {
    double first = std::clamp(from.mean, lo, hi);
    double last = std::clamp(step.mean < 0 ? to.likelyLo - step.mean
                                           : to.likelyHi - step.mean,
                             lo, hi);
    Likely expected =
        Likely::uniform(std::min(first, last), std::max(first, last));
    cells::setLikely(value.mutableCells().front(), expected);
    value.source = LikelySource::Propagated;
  }
  ctx.result(0, std::move(value));
}

static void transferEyeLike(mp::EyeLikeOp op, TransferContext &ctx) {
  AbstractValue value = integers(0, 1, ctx.rankOf(op.getResult()));
  // A row of n elements has one 1 at most.
  double share = 0.01;
  if (std::optional<int64_t> columns = ctx.dimOf(op.getResult(), 1))
    share = 1.0 / double(std::max<int64_t>(*columns, 1));
  value.mutableCells().front() = Cell{0, 1, share, share * (1 - share), 0, 1};
  value.source = LikelySource::Propagated;
  ctx.result(0, std::move(value));
}

static void transferOneHot(mp::OneHotOp op, TransferContext &ctx) {
  size_t rank = ctx.rankOf(op.getResult());
  const AbstractValue &values = ctx.operand(2);
  AbstractValue result = smeared(values, rank);
  // Off nearly everywhere.
  const Cell &off = values.cell(0), &on = values.cell(values.groups() - 1);
  Cell depth = ctx.operand(1).hull();
  double share = depth.lo >= 2 ? 1 / depth.lo : 0.5;
  CellRef cell = result.mutableCells().front();
  double distance = on.mean - off.mean;
  cell.mean = off.mean + share * distance;
  cell.variance = share * (1 - share) * distance * distance;
  ctx.result(0, std::move(result));
}

void mpopt::attachCreateTransfers(MLIRContext *context) {
  attachTransfer<transferShape, mp::ShapeOp>(context);
  attachTransfer<transferSize, mp::SizeOp>(context);
  attachTransfer<transferFill, mp::FillOp>(context);
  attachTransfer<transferRange, mp::RangeOp>(context);
  attachTransfer<transferEyeLike, mp::EyeLikeOp>(context);
  attachTransfer<transferOneHot, mp::OneHotOp>(context);
}
