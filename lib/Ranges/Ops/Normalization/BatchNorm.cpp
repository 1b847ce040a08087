//===- BatchNorm.cpp - Ranges of batch normalisation
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// At inference an affine map of each channel,
// (x - mean) / sqrt(variance + eps) * scale + bias; kernels also compute
// x a + (bias - mean a), so errors are relative to those terms. The running
// statistics say how the input was distributed in training: evidence beside
// the estimate that is propagated, and of the two the wider one counts, unless
// they are of another input. In training rows are channels over the batch, with
// the bounds of Standardize.h.
//
//===----------------------------------------------------------------------===//

#include "Standardize.h"
#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/TrainedStatistics.h"
#include "mpopt/Ranges/Weights/ProductSupport.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

static AbstractValue number(double value, size_t rank) {
  return AbstractValue(AbstractValue::Dims(rank, 1),
                       Cell{value, value, value, 0, value, value});
}

/// [C], or [C, ...] before opset 9, along the input's channels.
static AbstractValue parameter(Value value, double none, size_t rank,
                               TransferContext &ctx) {
  if (!value)
    return number(none, rank);
  const AbstractValue &known = ctx.of(value);
  if (known.rank() + 1 == rank && rank > 2)
    return known.withRank(rank);
  return alongAxis(known, 1, rank);
}

/// The result's likely tier by the running statistics alone: a normal value
/// behind gain and bias, a standard one but for epsilon.
static Cell byEvidence(const Cell &variance, const Cell &scale,
                       const Cell &bias, double epsilon, double draws) {
  double whole = variance.mean + epsilon;
  double share = whole > 0 ? std::clamp(variance.mean / whole, 0.0, 1.0) : 1;
  double reach =
      expectedExtreme(draws) * std::fabs(scale.mean) * std::sqrt(share);
  return Cell{0,
              0,
              bias.mean,
              scale.mean * scale.mean * share,
              bias.mean - reach,
              bias.mean + reach};
}

static Cell normalizeCell(const Cell &x, const Cell &mean, const Cell &variance,
                          const Cell &scale, const Cell &bias, double epsilon,
                          double unit, bool likely, bool fixed, bool trusted,
                          double draws) {
  Interval radicand = bound(variance) + epsilon;
  Interval root = sqrt(radicand);
  Interval factor = (bound(scale) / root).widened(8 * unit);
  Interval y = (bound(x) - bound(mean)) * factor + bound(bias);
  double terms = factor.maxAbs() * (bound(x).maxAbs() + bound(mean).maxAbs()) +
                 bound(bias).maxAbs();
  if (std::isnan(terms))
    terms = 0; // one of them is empty: no finite value
  Cell cell;
  setBound(cell, y.widened(0, 8 * unit * terms));

  Cell evidence = byEvidence(variance, scale, bias, epsilon, draws);
  double typical = variance.mean + epsilon;
  double slope = typical > 0 ? scale.mean / std::sqrt(typical) : 0;
  double shift = bias.mean - mean.mean * slope;
  if (!likely) {
    setLikely(cell, evidence);
    return cell;
  }
  double ends[] = {x.likelyLo * slope + shift, x.likelyHi * slope + shift};
  if (!fixed && slope != 0) {
    // Gain and variance have extremes of their own, which seldom fall together
    // with those of x: half way, by factors.
    double least = std::max(variance.likelyLo, 0.0) + epsilon;
    double most =
        std::max(std::fabs(scale.likelyLo), std::fabs(scale.likelyHi));
    double factor = std::sqrt(most / std::sqrt(least) / std::fabs(slope));
    if (std::isfinite(factor) && factor > 1)
      for (double &end : ends)
        end += (end - (x.mean * slope + shift)) * (factor - 1);
  }
  double wide = x.variance * slope * slope;
  if (!trusted) {
    setLikely(cell,
              Likely{x.mean * slope + shift, wide, std::min(ends[0], ends[1]),
                     std::max(ends[0], ends[1])});
    return cell;
  }
  bool wider = wide >= evidence.variance;
  cell.mean = wider ? x.mean * slope + shift : evidence.mean;
  cell.variance = std::max(wide, evidence.variance);
  cell.likelyLo = std::min({ends[0], ends[1], evidence.likelyLo});
  cell.likelyHi = std::max({ends[0], ends[1], evidence.likelyHi});
  return cell;
}

/// True if the running statistics are those of the input as it is estimated,
/// and were not filled in.
static bool areTrusted(ArrayRef<int64_t> dims, ArrayRef<AbstractValue> values,
                       int64_t channels) {
  StatisticsMatch match;
  if (values[0].hasLikely())
    forEachGroup(dims, values, [&](size_t, ArrayRef<size_t> at) {
      match.add(values[0].cell(at[0]), values[1].cell(at[1]).mean,
                values[2].cell(at[2]).mean);
    });
  return match.isNear() && !areFilled(values[1], values[2],
                                      size_t(std::max<int64_t>(channels, 0)));
}

/// ‖f x + b‖ <= max |f| ‖x‖ + ‖b‖, of the channels at a position.
static void setRowNorm(AbstractValue &result, ArrayRef<AbstractValue> values,
                       double epsilon, double unit, int64_t channels) {
  const std::optional<NormFact> &norm = values[0].norm;
  if (!norm || norm->axis != 1 || values[2].posInf)
    return;
  double most = 0, error = 0;
  AbstractValue offsets(
      AbstractValue::Dims(result.dims().begin(), result.dims().end()),
      result.cells());
  forEachGroup(result.dims(), values, [&](size_t group, ArrayRef<size_t> at) {
    Interval root = sqrt(bound(values[2].cell(at[2])) + epsilon);
    Interval factor = (bound(values[3].cell(at[3])) / root).widened(8 * unit);
    Interval shift = bound(values[1].cell(at[1])) * factor;
    Interval offset = bound(values[4].cell(at[4])) - shift;
    double x = bound(values[0].cell(at[0])).maxAbs();
    most = std::max(most, factor.maxAbs());
    error = std::max(
        error,
        8 * unit * (factor.maxAbs() * x + shift.maxAbs() + offset.maxAbs()));
    setBound(offsets.mutableCells()[group], offset);
  });
  double whole = most * norm->bound + rowNorm(offsets, 1, channels);
  if (std::isfinite(whole))
    ProductResult::setNorm(result, 1, channels, whole, error);
}

static void transferInference(mp::BatchNormOp op, TransferContext &ctx) {
  Value input = op.getInput();
  size_t rank = TransferContext::rankOf(input);
  double epsilon = op.getEpsilon().convertToDouble();
  // The whole map is one elementwise kernel.
  const FloatFormat &format = ctx.functionFormat(input);
  const AbstractValue &x = ctx.of(input);
  SmallVector<AbstractValue, 5> values = {
      x, parameter(op.getMean(), 0, rank, ctx),
      parameter(op.getVariance(), 1, rank, ctx),
      parameter(op.getScale(), 1, rank, ctx),
      parameter(op.getBias(), 0, rank, ctx)};
  AbstractValue::Dims dims = broadcastGroups(values, ctx.groupLimit());
  std::vector<Cell> cells(countGroups(dims));
  double draws = ctx.elementsPerGroup(op.getResult(), cells.size());
  double unit = format.unitRoundoff();
  bool negative = false, zero = false, overflow = false;
  bool fixed = values[2].source == LikelySource::Weight &&
               values[3].source == LikelySource::Weight;
  // In FP16 an epsilon of 1e-8 is none.
  double stored = format.round(epsilon);
  bool trusted = areTrusted(dims, values, ctx.dimOf(input, 1).value_or(0));
  forEachGroup(dims, values, [&](size_t group, ArrayRef<size_t> at) {
    const Cell &variance = values[2].cell(at[2]);
    cells[group] =
        normalizeCell(values[0].cell(at[0]), values[1].cell(at[1]), variance,
                      values[3].cell(at[3]), values[4].cell(at[4]), stored,
                      unit, x.hasLikely(), fixed, trusted, draws);
    // Kernels compute x factor + (bias - mean factor).
    Interval factor =
        (bound(values[3].cell(at[3])) / sqrt(bound(variance) + stored))
            .widened(8 * unit);
    double product =
        factor.maxAbs() * std::max(1.0, bound(values[1].cell(at[1])).maxAbs());
    overflow |= product >= format.overflowFrom;
    // Over the root of a variance that is stored as Inf, all but the bias is 0.
    if (values[2].posInf)
      setBound(cells[group],
               hull(bound(cells[group]), bound(values[4].cell(at[4]))));
    negative |= !variance.empty() && variance.lo + stored < 0;
    zero |= !variance.empty() && variance.lo + stored <= 0 &&
            variance.hi + stored >= 0;
  });
  AbstractValue result(dims, cells);
  setRowNorm(result, values, stored, unit, ctx.dimOf(input, 1).value_or(0));
  bool nonFinite = false;
  for (const AbstractValue &value : values) {
    result.nan |= value.nan;
    nonFinite |= value.mayBeInf();
  }
  result.nan |= negative || zero || nonFinite || overflow;
  result.posInf = result.negInf = zero || nonFinite || overflow;
  bool known = op.getMean() && op.getVariance();
  for (const AbstractValue &value : ArrayRef(values).drop_front())
    known &= value.hasLikely();
  result.source = known           ? LikelySource::Gain
                  : x.hasLikely() ? LikelySource::Propagated
                                  : LikelySource::Unknown;
  ctx.result(0, std::move(result));
}

/// old momentum + batch (1 - momentum), which lies between the two.
static AbstractValue blend(const AbstractValue &old, const AbstractValue &batch,
                           double momentum, const FloatFormat &format) {
  AbstractValue result = AbstractValue::boundedLike(old.join(batch));
  // Inf times 0, and Inf of both signs.
  result.nan |= (momentum == 1 && batch.mayBeInf()) ||
                (momentum == 0 && old.mayBeInf()) ||
                (result.posInf && result.negInf);
  bool convex = momentum >= 0 && momentum <= 1;
  for (CellRef cell : result.mutableCells())
    if (!convex)
      cell = Cell{-kInfinity, kInfinity};
    else if (!cell.empty()) {
      double off = 4 * format.unitRoundoff() * bound(cell).maxAbs();
      cell.lo = cell.lo >= 0 ? std::max(0.0, cell.lo - off) : cell.lo - off;
      cell.hi += off;
    }
  if (!convex)
    result.source = LikelySource::Unknown;
  return result;
}

/// Variance of values in [lo, hi]: at most a quarter of the squared width
/// (Popoviciu), half of it if divided by n - 1 instead of n. The sum of `count`
/// squares may overflow before the division.
static AbstractValue varianceOf(const AbstractValue &x, double count,
                                double error, const FloatFormat &format) {
  AbstractValue result = AbstractValue::boundedLike(x);
  bool overflow = false;
  for (CellRef cell : result.mutableCells()) {
    double width = bound(cell).width();
    double most = width * width / 2 * (1 + error);
    overflow |= !(most * std::max(count, 1.0) < format.overflowFrom);
    double typical = cell.variance;
    cell = Cell{0, most, typical, 0, typical, typical};
  }
  result.setNonFinite(x.mayBeNonFinite(), x.mayBeNonFinite() || overflow,
                      false);
  return result;
}

static AbstractValue asVector(const AbstractValue &perChannel) {
  AbstractValue::Dims dims = {int64_t(perChannel.groups())};
  AbstractValue result(dims, std::vector<Cell>(perChannel.cells().begin(),
                                               perChannel.cells().end()));
  result.copyFlags(perChannel);
  return result;
}

static void transferTraining(mp::BatchNormOp op, TransferContext &ctx) {
  Value input = op.getInput();
  int64_t rank = TransferContext::rankOf(input);
  const FloatFormat &format = ctx.sumFormat(input);
  Standardization how{{}, true, op.getEpsilon().convertToDouble(), &format};
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != 1)
      how.axes.push_back(axis);
  const AbstractValue &x = ctx.of(input);
  Standardized rows = standardize(getShape(input), x, how);
  AbstractValue scale = parameter(op.getScale(), 1, rank, ctx);
  AbstractValue bias = parameter(op.getBias(), 0, rank, ctx);
  ctx.result(0, scaleAndShift(rows.value, op.getScale() ? &scale : nullptr,
                              op.getBias() ? &bias : nullptr, format, ctx));
  if (op.getStats().empty())
    return;
  AbstractValue channels =
      rank >= 2 ? x.keeping({1}) : AbstractValue(x).merged();
  double n = 0, most = kInfinity;
  if (MaybeShape shape = getShape(input))
    if (std::optional<int64_t> count = countAlong(*shape, how.axes))
      n = most = double(*count);
  double error = relativeSumError(format, n, 8);
  AbstractValue batchMean = asVector(rows.mean);
  AbstractValue batchVariance =
      asVector(varianceOf(channels, most, error, format));
  batchVariance.nan |= batchMean.mayBeInf();
  double momentum = op.getMomentum().convertToDouble();
  unsigned index = 1;
  for (Value old : {op.getMean(), op.getVariance()}) {
    if (index > op.getStats().size())
      break;
    const AbstractValue &batch = index == 1 ? batchMean : batchVariance;
    if (old)
      ctx.result(index, blend(ctx.of(old), batch, momentum, format));
    else
      ctx.result(index, batch);
    ++index;
  }
  // The saved statistics; some kernels save 1 / deviation in place of the
  // variance.
  for (; index <= op.getStats().size(); ++index)
    if (index == 3)
      ctx.result(index, batchMean);
    else
      ctx.unknown(index);
}

static void transferBatchNorm(mp::BatchNormOp op, TransferContext &ctx) {
  if (op.getTraining())
    return transferTraining(op, ctx);
  transferInference(op, ctx);
}

void mpopt::attachBatchNormTransfers(MLIRContext *context) {
  attachTransfer<transferBatchNorm, mp::BatchNormOp>(context);
}
