//===- Pooling.cpp - Ranges of pooling ops
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mean stays within the hull of its window but for the errors of the sum and
// of the division; padding that counts is a part of it. Windows that lie in the
// padding alone have no element: what a kernel makes of them (the identity of
// the maximum, 0 / 0) is flagged where pads are as large as the kernel.
//
//===----------------------------------------------------------------------===//

#include "Pool.h"
#include "lib/Ranges/Ops/Families.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Numerics/Accumulation.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/FunctionOf.h"
#include "mpopt/Ranges/Weights/ProductSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Maxima
//===----------------------------------------------------------------------===//

/// The part of an element's variance that the elements of a window share.
/// Elements that touch in the grid of `spatial` axes correlate by about a half
/// (neighbours in a row or column by 0.54 to 0.86 in front of the max pools of
/// three trained networks, opennsfw and two detectors) and others by nothing:
/// the variance of the window's mean over that of an element is then the mean
/// of the correlations.
static double sharedByWindow(double count, size_t spatial) {
  const double beside = 0.5;
  double touching = std::min(count, std::pow(3.0, double(spatial))) - 1;
  return (1 + beside * touching) / count;
}

/// The largest of `count` normal elements: the shared part moves all of them,
/// the others' extreme is that of independent draws.
static void likelyMaximum(CellRef cell, double count, size_t spatial) {
  if (count <= 1)
    return;
  double shared = sharedByWindow(count, spatial);
  double own = std::sqrt((1 - shared) * cell.variance);
  cell.mean = std::min(cell.likelyHi, cell.mean + own * expectedMaximum(count));
  cell.variance *= shared + (1 - shared) * varianceOfMaximum(count);
  cell.likelyLo =
      std::max(cell.likelyLo,
               std::min(cell.mean, cell.mean - 3 * std::sqrt(cell.variance)));
}

/// The rectifier whose results the windows hold; null for others. It increases,
/// so that the largest result is that of the largest argument, and arguments
/// are nearly normal, which results are not.
static Operation *findRectifier(Value source) {
  Operation *op = source.getDefiningOp();
  return op && op->getNumOperands() == 1 && hasRole(op, Role::Rectifier) &&
                 hasRole(op, Role::MakesZeros) && getFunction(op)
             ? op
             : nullptr;
}

/// Sets the estimates of the largest elements of windows, of which `value` has
/// those of an element.
static void estimateMaxima(AbstractValue &value, Value source, const Pool &pool,
                           TransferContext &ctx) {
  if (!pool.count)
    return;
  double count = double(*pool.count);
  MutableCells maxima = value.mutableCells();
  if (Operation *rectifier = findRectifier(source)) {
    AbstractValue arguments =
        windowGroups(ctx.of(rectifier->getOperand(0)), ctx.op()->getResult(0),
                     pool, PoolBound::Hull);
    if (value.hasLikely() && arguments.hasLikely() &&
        arguments.dims() == value.dims()) {
      Unary function = *getFunction(rectifier);
      for (auto [cell, argument] :
           llvm::zip_equal(maxima, arguments.mutableCells())) {
        likelyMaximum(argument, count, pool.spatial);
        cells::setLikely(cell,
                         likely::apply(function, cells::getLikely(argument)));
      }
      return;
    }
  }
  for (CellRef cell : maxima)
    likelyMaximum(cell, count, pool.spatial);
}

/// True if rows that have a norm lie across windows.
static bool isLeading(const AbstractValue &input, const Pool &pool) {
  return input.norm->axis + int64_t(pool.spatial) < int64_t(input.rank());
}

/// The values inside of a border that is below all of them, which is the
/// largest of no window; null for others. Codes have the order of numbers.
static Value insideOfBorder(Value value, TransferContext &ctx) {
  if (!isa<FloatType>(getElementType(value)))
    return {};
  Operation *maker = value.getDefiningOp();
  while (
      isa_and_nonnull<mp::IdentityOp, mp::QuantizeOp, mp::DequantizeOp>(maker))
    maker = maker->getOperand(0).getDefiningOp();
  auto pad = dyn_cast_if_present<mp::PadOp>(maker);
  std::optional<double> border =
      pad && pad.getValue() ? getSplatConstant(pad.getValue()) : std::nullopt;
  if (!border || pad.getMode() != stringifyEnum(mp::PadMode::Constant))
    return {};
  const AbstractValue &inner = ctx.of(pad.getInput());
  return inner.hasLikely() && *border < inner.hull().likelyLo ? pad.getInput()
                                                              : Value();
}

static void transferMaximum(Value source, const Pool &pool,
                            TransferContext &ctx) {
  const AbstractValue &input = ctx.of(source);
  Value result = ctx.op()->getResult(0);
  // The maximum of the lower bounds holds only if no element may be -Inf or
  // skipped.
  AbstractValue picked = windowGroups(
      input, result, pool,
      input.mayBeNonFinite() ? PoolBound::Hull : PoolBound::Maximum);
  AbstractValue value = AbstractValue::boundedLike(picked);
  if (Value inner = insideOfBorder(source, ctx); inner && value.hasLikely())
    for (CellRef cell : value.mutableCells())
      cells::setLikely(cell, ctx.of(inner).hull());
  // A kernel's initial value is an integer, too.
  value.keepsIntegral(picked);
  const FloatFormat *format = getFloatFormat(getElementType(source));
  for (CellRef cell : value.mutableCells()) {
    // A NaN that a kernel passes over leaves what it started from: -Inf or the
    // lowest finite number.
    if ((pool.empty || value.mayBeNonFinite()) && format) {
      double lowest = -ctx.functionFormat(source).maxFinite;
      cell.lo = std::min(cell.lo, lowest);
      cell.hi = std::max(cell.hi, lowest);
    }
  }
  estimateMaxima(value, source, pool, ctx);
  if (pool.empty) {
    value.negInf |= format != nullptr;
    if (!format)
      value = TransferContext::anything(result);
  }
  if (value.nan)
    value.negInf = true;
  if (!pool.empty && !value.mayBeNonFinite()) {
    value.keepsMinNonZero(picked);
    // Each element is one of the window's.
    if (input.norm && isLeading(input, pool) && pool.count)
      value.claimNorm(input.norm->axis,
                      input.norm->bound * sqrtUp(double(*pool.count)),
                      input.norm->count);
  }
  ctx.result(0, std::move(value));
  if (ctx.op()->getNumResults() < 2)
    return;
  // Positions are of the whole input, in the order that the op says.
  Value indices = ctx.op()->getResult(1);
  AbstractValue where = TransferContext::anything(indices);
  MaybeShape shape = getShape(source);
  std::optional<int64_t> elements =
      shape ? getNumElements(*shape) : std::nullopt;
  if (elements && *elements > 0 && !pool.empty && !input.nan)
    for (CellRef cell : where.mutableCells()) {
      double last = double(*elements) - 1;
      cell = Cell{0, last, last / 2, last * last / 12, 0, last};
    }
  if (elements && *elements > 0 && !pool.empty && !input.nan)
    where.source = LikelySource::Propagated;
  ctx.result(1, std::move(where));
}

static void transferMaxPool(mp::MaxPoolOp op, TransferContext &ctx) {
  transferMaximum(op.getInput(), getPool(op), ctx);
}
static void transferGlobalMaxPool(mp::GlobalMaxPoolOp op,
                                  TransferContext &ctx) {
  transferMaximum(op.getInput(), getGlobalPool(op.getInput()), ctx);
}
static void transferAdaptiveMaxPool(mp::AdaptiveMaxPoolOp op,
                                    TransferContext &ctx) {
  transferMaximum(op.getInput(),
                  getAdaptivePool(op.getInput(), op.getOutputSize()), ctx);
}

//===----------------------------------------------------------------------===//
// Means
//===----------------------------------------------------------------------===//

/// Positions of a map whose size is open: 7 x 7, the last one of a classifier.
static constexpr double kExpectedCount = 49;

/// The likely range of a mean of `count` elements, k deviations wide.
/// Neighbours in a map are alike: the variance does not fall with the count,
/// but with its root.
static void averageLikely(CellRef cell, double count, double k) {
  double variance = cell.variance / std::sqrt(std::max(count, 1.0));
  double reach =
      std::min(k * std::sqrt(variance),
               std::max(cell.likelyHi - cell.mean, cell.mean - cell.likelyLo));
  cell.variance = variance;
  double least = cell.mean - reach;
  // No mean of squares is as small as the least square.
  if (cell.likelyLo >= 0 && cell.mean > 0 && variance > 0)
    least = std::max(least, expectedLeast(cell.mean, variance, k));
  cell.likelyLo = std::max(cell.likelyLo, least);
  cell.likelyHi = std::min(cell.likelyHi, cell.mean + reach);
}

/// Elements of a window, or of the bins of a region.
static void transferMean(Value source, const Pool &pool, bool zeros,
                         TransferContext &ctx) {
  const AbstractValue &input = ctx.of(source);
  Value result = ctx.op()->getResult(0);
  AbstractValue value = AbstractValue::boundedLike(
      windowGroups(input, result, pool, PoolBound::Hull));
  // A mean of an open number stays between the extremes, but for the errors of
  // as many additions as a sum may have.
  double count = pool.count ? double(*pool.count) : kUnknownCount;
  double expected = pool.count ? count : kExpectedCount;
  const FloatFormat &format = ctx.sumFormat(source);
  double k = expectedExtreme(ctx.elementsPerGroup(result, 1), /*draws=*/1);
  double unit = format.unitRoundoff(), worst = 0;
  bool mixedInf = value.posInf && value.negInf;
  // The bound of the mean is taken only if every window lies inside the input;
  // else it is that of the elements.
  std::optional<AbstractValue> means, magnitudes;
  if (!pool.axes.empty() && !anyWindowLeaves(pool.axes)) {
    means = slideWindows(input, pool.axes, PoolBound::Mean);
    magnitudes = slideWindows(input, pool.axes, PoolBound::Magnitude);
    if (means && (!magnitudes || means->dims() != value.dims()))
      means.reset();
  }
  for (auto [group, cell] : llvm::enumerate(value.mutableCells())) {
    Interval bound = cells::bound(cell);
    if (!bound.isEmpty()) {
      if (zeros && !means)
        bound = hull(bound, 0);
      double size = bound.maxAbs();
      Interval elements = bound;
      if (means) {
        size = std::min(size, magnitudes->cell(group).hi);
        bound = intersect(bound, cells::bound(means->cell(group)));
      }
      double error = sumError({&format}, count, mulUp(size, count));
      flagSum(value, addUp(mulUp(std::max(elements.hi, 0.0), count), error),
              addUp(mulUp(std::max(-elements.lo, 0.0), count), error), format);
      // The errors of the sum, and of a division or a product with 1 / n.
      double off = divUp(error, std::max(count, 1.0));
      bound = (bound + Interval::symmetric(off))
                  .widened(4 * unit, format.minSubnormal);
      worst = std::max(worst, off + 8 * unit * size + format.minSubnormal);
      // No rounding changes the sign of a sum of numbers of one sign.
      if (elements.lo >= 0)
        bound.lo = std::max(bound.lo, 0.0);
      if (elements.hi <= 0)
        bound.hi = std::min(bound.hi, 0.0);
    }
    cells::setBound(cell, bound);
    averageLikely(cell, expected, k);
  }
  value.nan |= mixedInf || pool.empty;
  // A mean of rows is no longer than the longest.
  if (input.norm && isLeading(input, pool))
    ProductResult::setNorm(value, input.norm->axis, input.norm->count,
                           input.norm->bound, worst);
  if (value.hasLikely())
    value.source = LikelySource::Propagated;
  ctx.result(0, std::move(value));
}

static void transferAveragePool(mp::AveragePoolOp op, TransferContext &ctx) {
  Pool pool = getPool(op);
  // Runtimes also disagree about what of a last window counts.
  transferMean(op.getInput(), pool, pool.padded, ctx);
}
static void transferGlobalAveragePool(mp::GlobalAveragePoolOp op,
                                      TransferContext &ctx) {
  transferMean(op.getInput(), getGlobalPool(op.getInput()), false, ctx);
}
static void transferAdaptiveAvgPool(mp::AdaptiveAvgPoolOp op,
                                    TransferContext &ctx) {
  transferMean(op.getInput(),
               getAdaptivePool(op.getInput(), op.getOutputSize()), false, ctx);
}

//===----------------------------------------------------------------------===//
// p-norms
//===----------------------------------------------------------------------===//

/// (sum |x|^p)^(1/p): between the largest |x| and n^(1/p) times that.
static void transferLp(Value source, const Pool &pool, double p,
                       TransferContext &ctx) {
  const AbstractValue &input = ctx.of(source);
  Value result = ctx.op()->getResult(0);
  AbstractValue value =
      AbstractValue::boundedLike(leadingGroups(input, result, pool.spatial));
  if (!pool.count || !(p >= 1)) {
    AbstractValue unknown = AbstractValue::top(value.rank());
    return ctx.result(0, std::move(unknown));
  }
  const FloatFormat &format = ctx.sumFormat(source);
  double count = std::max<double>(double(*pool.count), 1);
  double unit = format.unitRoundoff();
  double root = std::pow(count, 1 / p) * (1 + 1e-12);
  bool infinite = value.mayBeInf();
  for (CellRef cell : value.mutableCells()) {
    Interval bound = cells::bound(cell);
    double least = pool.padded ? 0 : bound.minAbs(), most = bound.maxAbs();
    // Powers by exp and log are off by |p log x| units or so, and the sum by
    // n; a p-th root divides that by p.
    double powers = p == 1 || p == 2 ? 4 : 16 + 128 * p;
    double relative = ((count + powers) / p + 16 + powers) * unit;
    // Powers that underflow are lost.
    double tiny = std::pow(format.minNormal * count, 1 / p) * 2;
    double sum = std::pow(most, p) * count * (1 + relative);
    if (!(sum * (1 + 1e-9) < format.overflowFrom))
      value.posInf = true;
    cell.lo = std::max(0.0, least * root * (1 - relative) - tiny);
    // Windows may be cut at borders even without padding (ceil_mode).
    if (pool.padded || pool.empty)
      cell.lo = std::max(0.0, std::min(cell.lo, least));
    cell.hi = most * root * (1 + relative) + tiny;
    if (relative >= 1 || std::isnan(cell.hi)) {
      cell.lo = 0;
      cell.hi = kInfinity;
    }
    double power = cell.variance + cell.mean * cell.mean;
    double mean = std::pow(count * std::pow(power, p / 2), 1 / p);
    double far = std::max(std::fabs(cell.likelyLo), std::fabs(cell.likelyHi));
    cell.mean = mean;
    cell.variance = power;
    cell.likelyLo = std::min(mean, far);
    cell.likelyHi = std::max(mean, std::min(far * root, 2 * mean + far));
  }
  value.posInf |= infinite;
  value.negInf = false;
  if (value.hasLikely())
    value.source = LikelySource::Propagated;
  ctx.result(0, std::move(value));
}

static void transferLpPool(mp::LpPoolOp op, TransferContext &ctx) {
  transferLp(op.getInput(), getPool(op), op.getP().convertToDouble(), ctx);
}
static void transferGlobalLpPool(mp::GlobalLpPoolOp op, TransferContext &ctx) {
  transferLp(op.getInput(), getGlobalPool(op.getInput()),
             op.getP().convertToDouble(), ctx);
}

void mpopt::attachPoolingTransfers(MLIRContext *context) {
  attachTransfer<transferMaxPool, mp::MaxPoolOp>(context);
  attachTransfer<transferGlobalMaxPool, mp::GlobalMaxPoolOp>(context);
  attachTransfer<transferAdaptiveMaxPool, mp::AdaptiveMaxPoolOp>(context);
  attachTransfer<transferAveragePool, mp::AveragePoolOp>(context);
  attachTransfer<transferGlobalAveragePool, mp::GlobalAveragePoolOp>(context);
  attachTransfer<transferAdaptiveAvgPool, mp::AdaptiveAvgPoolOp>(context);
  attachTransfer<transferLpPool, mp::LpPoolOp>(context);
  attachTransfer<transferGlobalLpPool, mp::GlobalLpPoolOp>(context);
}
