//===- Image.cpp - Ranges of blocks, windows and resampled images
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interpolation takes weights that sum to 1: convex ones (linear), or ones with
// a bounded sum of magnitudes (cubic). The likely tier keeps the operand's
// moments: neighbouring pixels are alike.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "mpopt/Dialect/InferenceSupport.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Weights/ProductSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

//===----------------------------------------------------------------------===//
// Blocks and windows
//===----------------------------------------------------------------------===//

/// Only batch and channel are distinguished.
static AbstractValue byChannel(const AbstractValue &value) {
  return AbstractValue::pickedFrom(value.rank() < 2 ? value.merged()
                                                    : value.keeping({0, 1}));
}

static void transferDepthToSpace(mp::DepthToSpaceOp op, TransferContext &ctx) {
  AbstractValue value = byChannel(ctx.operand(0));
  int64_t block = multiplyDims(op.getBlockSize(), op.getBlockSize());
  if (value.rank() != 4 || value.dims()[1] == 1 || block < 1 ||
      value.dims()[1] % block)
    return ctx.result(
        0, fitTo(value.rank() == 4 ? value.merging(1) : value, op.getResult()));
  int64_t channels = value.dims()[1] / block;
  AbstractValue::Dims dims = {value.dims()[0], channels, 1, 1};
  std::vector<Cell> cells;
  for (int64_t batch = 0; batch < dims[0]; ++batch)
    for (int64_t channel = 0; channel < channels; ++channel) {
      SmallVector<Cell> parts;
      for (int64_t k = 0; k < block; ++k) {
        int64_t from = op.getMode() == "CRD" ? channel * block + k
                                             : k * channels + channel;
        parts.push_back(value.cell(batch * value.dims()[1] + from));
      }
      cells.push_back(mergeCells(parts));
    }
  AbstractValue result(dims, cells);
  result.copyFlags(value);
  ctx.result(0, std::move(result));
}

static void transferSpaceToDepth(mp::SpaceToDepthOp op, TransferContext &ctx) {
  AbstractValue value = byChannel(ctx.operand(0));
  if (value.rank() == 4 && value.dims()[1] != 1) {
    int64_t block = multiplyDims(op.getBlockSize(), op.getBlockSize());
    int64_t channels = multiplyDims(value.dims()[1], block);
    int64_t groups = multiplyDims(value.dims()[0], channels);
    SmallVector<int64_t> from;
    bool few = groups >= 0 && groups <= int64_t(ctx.maxGroups());
    for (int64_t i = 0; few && i < channels; ++i)
      from.push_back(op.getMode() == "CRD" ? i / block : i % value.dims()[1]);
    value = few ? value.selected(1, from) : value.merging(1);
  }
  ctx.result(0, fitTo(value, op.getResult()));
}

static AbstractValue zero() {
  AbstractValue value(AbstractValue::Dims(), point(0));
  value.source = LikelySource::Weight;
  return value;
}

static void transferIm2Col(mp::Im2ColOp op, TransferContext &ctx) {
  AbstractValue value = spread(ctx.operand(0), op.getResult());
  if (llvm::any_of(op.getPads().value_or(ArrayRef<int64_t>()),
                   [](int64_t pad) { return pad != 0; }))
    value = blend(value, zero(), 0.05);
  ctx.result(0, std::move(value));
}

/// Each pixel is the sum of the windows over it: one for each element of the
/// block, or fewer where the strides are wider than 1.
static void transferCol2Im(mp::Col2ImOp op, TransferContext &ctx) {
  AbstractValue value =
      AbstractValue::boundedLike(spread(ctx.operand(0), op.getResult()));
  value.keepsIntegral(ctx.operand(0));
  double most = kInfinity, expected = 1;
  if (auto block = ctx.shapes().constants(op.getBlockShape())) {
    most = 1;
    for (auto [i, size] : llvm::enumerate(*block)) {
      int64_t stride = op.getStrides() ? (*op.getStrides())[i] : 1;
      int64_t dilation = op.getDilations() ? (*op.getDilations())[i] : 1;
      double over = dilation == 1 ? std::ceil(double(size) / stride) : size;
      most *= over;
      expected *= std::max(1.0, double(size) / stride);
    }
  }
  const FloatFormat &format = ctx.sumFormat(op.getInput());
  bool inf = false;
  for (CellRef cell : value.mutableCells()) {
    Interval sum = bound(cell) * Interval{0, most};
    if (bound(cell).isEmpty())
      sum = Interval::point(0);
    sum = sum + Interval::symmetric(sumError({&format}, most, sum.maxAbs()));
    inf |= sum.maxAbs() >= format.overflowFrom;
    double reach = std::sqrt(expected);
    double mean = cell.mean * expected;
    cell = make(sum, mean, cell.variance * expected,
                {mean - reach * (cell.mean - cell.likelyLo),
                 mean + reach * (cell.likelyHi - cell.mean)});
  }
  value.nan |= value.posInf && value.negInf;
  value.posInf |= inf;
  value.negInf |= inf;
  ctx.result(0, std::move(value));
}

//===----------------------------------------------------------------------===//
// Interpolation
//===----------------------------------------------------------------------===//

/// Weights that sum to 1 and whose magnitudes sum to `weight` at most: c + w r
/// around the centre of the values. Those of most pixels sum to `typical`.
static AbstractValue weighted(const AbstractValue &operand, double weight,
                              double typical, const FloatFormat &format) {
  AbstractValue value = AbstractValue::boundedLike(operand);
  for (CellRef cell : value.mutableCells()) {
    if (cell.empty())
      continue;
    Interval x = bound(cell);
    Interval result = x;
    // Products and partial sums, whose signs differ.
    if (weight > 1 && x.maxAbs() * weight * 1.001 >= format.overflowFrom)
      value.nan = value.posInf = value.negInf = true;
    if (weight > 1) {
      double middle = x.midpoint(), radius = x.radius();
      result = Interval::point(middle) + Interval::symmetric(radius) * weight;
      double deviation = std::sqrt(cell.variance) * (typical - 1);
      cell.likelyLo -= deviation;
      cell.likelyHi += deviation;
    }
    // Some ten roundings of weights and sums.
    double error = 16 * weight * format.unitRoundoff() * x.maxAbs() +
                   16 * format.minSubnormal;
    result = result + Interval::symmetric(error);
    cell.lo = result.lo;
    cell.hi = result.hi;
  }
  // 0 * Inf for neighbours of weight 0.
  value.nan |= value.mayBeInf();
  if (weight > 1 && value.mayBeInf())
    value.posInf = value.negInf = true;
  return value;
}

/// The largest sum of magnitudes of the four cubic weights on an axis: between
/// pixels the outer two sum to a t (1 - t), all to 1. Infinity if there is
/// none.
static double cubicWeight(double a, bool renormalised) {
  double outer = std::fabs(a) / 4;
  double weight = a >= -1 && a <= 0 ? 1 + 2 * outer : 1 + 8 * outer;
  // Weights outside the image are dropped and the rest divided by its sum, or
  // the kernel is stretched over more pixels. For other `a` that sum may
  // vanish.
  if (renormalised && !(a >= -1 && a <= 0))
    return kInfinity;
  return renormalised ? 2 * weight : weight;
}

/// Axes that a resize leaves alone: not in `axes`, or of scale 1.
static SmallVector<int64_t> keptAxes(mp::ResizeOp op, TransferContext &ctx,
                                     const Shape &in) {
  SmallVector<int64_t> kept;
  SmallVector<int64_t> axes;
  if (std::optional<ArrayRef<int64_t>> given = op.getAxes()) {
    for (int64_t axis : *given)
      axes.push_back(normalizeAxis(axis, in.size()).value_or(0));
  } else {
    for (size_t axis = 0; axis < in.size(); ++axis)
      axes.push_back(axis);
  }
  Elements sizes, scales;
  if (op.getSizes())
    sizes = ctx.shapes().elements(op.getSizes());
  if (op.getScales())
    scales = ctx.shapes().elements(op.getScales());
  // Either moves pixels along axes whose size stays.
  bool crops = op.getCoordinateTransformation() == "tf_crop_and_resize" ||
               op.getKeepAspectRatioPolicy() != "stretch";
  for (size_t axis = 0; axis < in.size(); ++axis) {
    auto *at = llvm::find(axes, int64_t(axis));
    if (at == axes.end()) {
      kept.push_back(axis);
      continue;
    }
    size_t i = at - axes.begin();
    bool same = false;
    if (sizes && i < sizes->size())
      same = (*sizes)[i] && (*sizes)[i] == in[axis];
    else if (scales && i < scales->size())
      same = (*scales)[i] == 1;
    if (same && !crops)
      kept.push_back(axis);
  }
  return kept;
}

static void transferResize(mp::ResizeOp op, TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  MaybeShape shape = getShape(op.getInput());
  SmallVector<int64_t> kept;
  size_t resized = 4;
  if (shape && shape->size() == input.rank()) {
    kept = keptAxes(op, ctx, *shape);
    resized = shape->size() - kept.size();
  }
  AbstractValue same = input.keeping(kept);
  AbstractValue value = AbstractValue::pickedFrom(same);
  if (op.getMode() != "nearest") {
    double weight = 1, typical = 1;
    if (op.getMode() == "cubic") {
      double a = op.getCubicCoeffA().convertToDouble();
      bool renormalised = op.getExcludeOutside() || op.getAntialias();
      weight = std::pow(cubicWeight(a, renormalised), double(resized));
      typical = std::pow(cubicWeight(a, false), double(resized));
    }
    if (std::isinf(weight))
      return ctx.unknown();
    value = weighted(value, weight, typical, ctx.functionFormat(op.getInput()));
    // Integers are rounded back, or truncated.
    if (isa<IntegerType>(getElementType(op.getResult())))
      for (CellRef cell : value.mutableCells()) {
        cell.lo = std::floor(cell.lo);
        cell.hi = std::ceil(cell.hi);
      }
  }
  if (op.getCoordinateTransformation() == "tf_crop_and_resize") {
    AbstractValue outside(AbstractValue::Dims(),
                          point(op.getExtrapolationValue().convertToDouble()));
    outside.source = LikelySource::Weight;
    value = blend(value, outside, 0.05);
  } else if (op.getMode() == "nearest") {
    for (int64_t axis : kept)
      value.keepsRowsAlong(axis, same);
  } else if (op.getMode() != "cubic" && same.norm &&
             llvm::is_contained(kept, same.norm->axis)) {
    // A mean of rows is no longer than the longest, but for its rounding.
    const FloatFormat &format = ctx.functionFormat(op.getInput());
    ProductResult::setNorm(value, same.norm->axis, same.norm->count,
                           same.norm->bound,
                           16 * (format.unitRoundoff() * same.hull().absMax() +
                                 format.minSubnormal));
  }
  ctx.result(0, fitTo(std::move(value), op.getResult()));
}

static void transferGridSample(mp::GridSampleOp op, TransferContext &ctx) {
  AbstractValue value = byChannel(ctx.operand(0));
  const AbstractValue &grid = ctx.operand(1);
  size_t rank = value.rank();
  double weight = 1;
  if (op.getMode() == "cubic")
    weight = std::pow(cubicWeight(-0.75, false), rank > 2 ? rank - 2 : 3);
  if (op.getMode() != "nearest")
    value = weighted(value, weight, weight, ctx.functionFormat(op.getInput()));
  // Positions that are no number have no pixel; zeros also make up for pixels
  // outside one by one, with the weights of those inside.
  if (op.getPaddingMode() == "zeros" || grid.mayBeNonFinite()) {
    if (weight > 1)
      for (CellRef cell : value.mutableCells()) {
        double most = cell.absMax() * weight;
        cell.lo = -most;
        cell.hi = most;
      }
    value = blend(value, zero(), 0.05);
  }
  value.nan |= grid.mayBeNonFinite() && op.getMode() != "nearest";
  ctx.result(0, fitTo(std::move(value), op.getResult()));
}

/// theta [x, y, ..., 1] with |x|, |y| <= 1.
static void transferAffineGrid(mp::AffineGridOp op, TransferContext &ctx) {
  const AbstractValue &theta = ctx.operand(0);
  Cell x = theta.hull();
  double axes = 3;
  if (MaybeShape shape = getShape(op.getTheta()); shape && shape->size() == 3)
    if ((*shape)[1] > 0)
      axes = double((*shape)[1]);
  const FloatFormat &format = ctx.productFormat(op.getTheta());
  Interval sum =
      Interval::symmetric(1 + 4 * std::ldexp(1.0, -24)) * (bound(x) * axes) +
      bound(x);
  if (x.empty())
    sum = Interval::point(0);
  double magnitude = bound(x).maxAbs() * (axes + 1);
  sum = sum + Interval::symmetric(dotError({&format}, axes + 2, magnitude));
  double deviation = std::sqrt(x.variance + x.mean * x.mean);
  double reach = 1.5 * std::sqrt(axes) * deviation;
  AbstractValue value(
      AbstractValue::Dims(ctx.rankOf(op.getResult()), 1),
      make(sum, x.mean, x.variance + axes / 3 * deviation * deviation,
           hull(likelyInterval(x), {x.mean - reach, x.mean + reach})));
  value.nan = theta.mayBeNonFinite();
  value.posInf = value.negInf =
      theta.mayBeInf() || magnitude >= format.overflowFrom;
  value.nan |= value.posInf;
  value.source = theta.source;
  ctx.result(0, std::move(value));
}

/// Hadamard: the product of the rows' norms.
static void transferDet(mp::DetOp op, TransferContext &ctx) {
  const AbstractValue &input = ctx.operand(0);
  size_t rank = input.rank();
  std::optional<int64_t> size =
      rank < 2 ? std::nullopt : ctx.dimOf(op.getInput(), rank - 1);
  if (!size && rank >= 2)
    size = ctx.dimOf(op.getInput(), rank - 2);
  if (!size)
    return ctx.unknown();
  double n = double(*size);
  Cell x = input.hull();
  double row = std::sqrt(n) * bound(x).maxAbs();
  if (input.norm && (input.norm->axis == int64_t(rank) - 1 ||
                     input.norm->axis == int64_t(rank) - 2))
    row = std::min(row, input.norm->bound);
  double most = n == 0 ? 1 : std::pow(row, n) * (1 + 1e-12);
  // Elimination with partial pivoting: the growth factor is 2^(n - 1) at most
  // (Wilkinson), each of the n steps rounds.
  const FloatFormat &format = ctx.productFormat(op.getInput());
  double growth = std::pow(2, n - 1);
  double error = std::expm1(4 * n * n * n * growth * format.unitRoundoff()) *
                     std::pow(std::max(bound(x).maxAbs(), 1e-300), n) *
                     std::tgamma(std::min(n, 170.0) + 1) +
                 n * format.minSubnormal;
  Interval result = std::isfinite(most + error)
                        ? Interval::symmetric(most + error)
                        : Interval::whole();
  // n! products of random signs.
  double deviation = std::sqrt(std::tgamma(std::min(n, 170.0) + 1)) *
                     std::pow(std::sqrt(x.variance + x.mean * x.mean), n);
  double reach = deviation *
                 (1 + expectedExtreme(ctx.elementsPerGroup(op.getResult(), 1)));
  AbstractValue value(AbstractValue::Dims(ctx.rankOf(op.getResult()), 1),
                      make(result, 0, deviation * deviation, {-reach, reach}));
  value.nan = input.mayBeNonFinite();
  value.posInf = value.negInf =
      input.mayBeInf() || result.maxAbs() >= format.overflowFrom;
  value.nan |= value.posInf;
  value.source = input.hasLikely() ? LikelySource::Propagated : input.source;
  ctx.result(0, std::move(value));
}

void mpopt::attachImageTransfers(MLIRContext *context) {
  attachTransfer<transferDepthToSpace, mp::DepthToSpaceOp>(context);
  attachTransfer<transferSpaceToDepth, mp::SpaceToDepthOp>(context);
  attachTransfer<transferIm2Col, mp::Im2ColOp>(context);
  attachTransfer<transferCol2Im, mp::Col2ImOp>(context);
  attachTransfer<transferResize, mp::ResizeOp>(context);
  attachTransfer<transferGridSample, mp::GridSampleOp>(context);
  attachTransfer<transferAffineGrid, mp::AffineGridOp>(context);
  attachTransfer<transferDet, mp::DetOp>(context);
}
