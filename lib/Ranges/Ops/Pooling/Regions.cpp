//===- Regions.cpp - Ranges of unpooling and of regions of interest
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops whose results are elements of the input at other positions, or zero.
//
//===----------------------------------------------------------------------===//

#include "Pool.h"
#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Weights/ProductSupport.h"

#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Numerics/Accumulation.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Elements of the input at other positions, or zero.
static AbstractValue withZero(const AbstractValue &input, Value result,
                              size_t spatial) {
  AbstractValue value = leadingGroups(input, result, spatial);
  for (CellRef cell : value.mutableCells()) {
    Interval bound = hull(cells::bound(cell), 0);
    cell.lo = bound.lo;
    cell.hi = bound.hi;
    cell.likelyLo = std::min(cell.likelyLo, 0.0);
    cell.likelyHi = std::max(cell.likelyHi, 0.0);
  }
  return value;
}

static void transferMaxUnpool(mp::MaxUnpoolOp op, TransferContext &ctx) {
  // Indices are positions in the whole tensor: nothing keeps a maximum in its
  // channel.
  ctx.result(0, withZero(ctx.operand(0).merged(), op.getResult(), 0));
}

/// Regions may reach past the map, and be empty: 0.
static void transferMaxRoiPool(mp::MaxRoiPoolOp op, TransferContext &ctx) {
  AbstractValue input = ctx.operand(0);
  if (input.rank() == 4)
    input = input.keeping({1});
  AbstractValue value = withZero(input, op.getResult(), 2);
  if (value.nan || value.negInf) {
    // A comparison that NaN fails, and no element is larger than -Inf, leaves
    // the number that it began with.
    double least = -ctx.functionFormat(op.getInput()).maxFinite;
    for (CellRef cell : value.mutableCells())
      cell.lo = std::min(cell.lo, least);
    value.negInf = true;
  }
  ctx.result(0, std::move(value));
}

/// Bilinear samples are convex combinations of elements; those past the map
/// are 0. A region that is not finite has no samples to speak of.
static void transferRoiAlign(mp::RoiAlignOp op, TransferContext &ctx) {
  AbstractValue input = ctx.operand(0);
  if (input.rank() == 4)
    input = input.keeping({1});
  AbstractValue value =
      AbstractValue::boundedLike(withZero(input, op.getResult(), 2));
  const AbstractValue &rois = ctx.operand(1);
  const FloatFormat &format = ctx.sumFormat(op.getInput());
  double unit = format.unitRoundoff();
  // With an adaptive grid the number of samples is that of the map's elements
  // in a bin: the region's size bounds it.
  double samples = double(op.getSamplingRatio());
  if (samples <= 0) {
    double size = rois.hull().absMax() *
                  std::fabs(op.getSpatialScale().convertToDouble());
    samples = 2 * size + 2;
  }
  samples *= samples;
  bool unbounded = !(samples < 0x1p40) || rois.mayBeNonFinite();
  for (CellRef cell : value.mutableCells()) {
    if (unbounded) {
      cell.lo = -kInfinity;
      cell.hi = kInfinity;
      continue;
    }
    double size = cell.absMax();
    double total = mulUp(size, samples);
    double error = sumError({&format}, uint64_t(samples) * 4 + 4, total);
    flagSum(value, total + error, total + error, format);
    Interval bound = cells::bound(cell).widened(
        16 * unit, size * 64 * unit + format.minSubnormal);
    bound = bound + Interval::symmetric(divUp(error, std::max(samples, 1.0)));
    cell.lo = bound.lo;
    cell.hi = bound.hi;
  }
  if (unbounded)
    value.nan = value.posInf = value.negInf = true;
  value.nan |= value.mayBeInf();
  ctx.result(0, std::move(value));
}

void mpopt::attachRegionsTransfers(MLIRContext *context) {
  attachTransfer<transferMaxUnpool, mp::MaxUnpoolOp>(context);
  attachTransfer<transferMaxRoiPool, mp::MaxRoiPoolOp>(context);
  attachTransfer<transferRoiAlign, mp::RoiAlignOp>(context);
}
