//===- Normalization.cpp - Ranges of layer, group and other norms
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms over rows of the input, by the closed bounds of Standardize.h; batch
// statistics are in BatchNorm.cpp, norms of vectors in VectorNorm.cpp.
//
//===----------------------------------------------------------------------===//

#include "Standardize.h"
#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Ranges/RangeInterface.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

/// Gain and bias may be applied behind a store in the input's dtype (the ONNX
/// function bodies do that): the coarser one counts.
static const FloatFormat &affineFormat(Value input,
                                       const FloatFormat *statistics) {
  const FloatFormat *own = getFloatFormat(getElementType(input));
  return own && own->digits < statistics->digits ? *own : *statistics;
}

static double maxMagnitude(const AbstractValue *value, double none) {
  if (!value)
    return none;
  double most = 0;
  for (const Cell &cell : value->cells())
    most = std::max(most, cell.absMax());
  return most;
}

/// A row's norm behind gain and bias; an infinite one says nothing.
static void setNorm(AbstractValue &result, double norm,
                    const AbstractValue *scale, const AbstractValue *bias,
                    int64_t axis, std::optional<int64_t> count,
                    const FloatFormat &format) {
  if (!count || !std::isfinite(norm))
    return;
  double bound = norm * maxMagnitude(scale, 1);
  if (bias) {
    AbstractValue row = bias->withRank(result.rank());
    bound += normByCells(row, axis, *count);
  }
  bound *= 1 + (scale || bias ? 4 * format.unitRoundoff() : 0) + 1e-12;
  if (std::isfinite(bound))
    result.norm = NormFact{axis, bound, *count};
}

//===----------------------------------------------------------------------===//
// Over the last axes
//===----------------------------------------------------------------------===//

/// Axes `first` to the last; none if the rank is not known.
static SmallVector<int64_t> axesFrom(Value input, int64_t first) {
  int64_t rank = TransferContext::rankOf(input);
  return llvm::to_vector(
      llvm::seq(normalizeAxis(first, rank).value_or(rank), rank));
}

template <typename OpTy>
static Standardized transferRows(OpTy op, bool centred,
                                 const AbstractValue *bias,
                                 TransferContext &ctx) {
  Value input = op.getInput();
  const FloatFormat &format = ctx.statisticsFormat(input, op.getStashType());
  Standardized rows = standardize(getShape(input), ctx.of(input),
                                  {axesFrom(input, op.getAxis()), centred,
                                   op.getEpsilon().convertToDouble(), &format});
  const AbstractValue *scale = op.getScale() ? &ctx.of(op.getScale()) : nullptr;
  const FloatFormat &affine = affineFormat(input, &format);
  AbstractValue result = scaleAndShift(rows.value, scale, bias, affine, ctx);
  // Part of a row that spans several axes is no longer than the whole.
  if (int64_t rank = TransferContext::rankOf(input))
    setNorm(result, rows.norm, scale, bias, rank - 1,
            TransferContext::dimOf(input, rank - 1), affine);
  ctx.result(0, std::move(result));
  return rows;
}

static void transferLayerNorm(mp::LayerNormOp op, TransferContext &ctx) {
  const AbstractValue *bias = op.getBias() ? &ctx.of(op.getBias()) : nullptr;
  Standardized rows = transferRows(op, /*centred=*/true, bias, ctx);
  if (op.getStats().size() == 2) {
    ctx.result(1, std::move(rows.mean));
    ctx.result(2, std::move(rows.inverse));
  }
}

static void transferRMSNorm(mp::RMSNormOp op, TransferContext &ctx) {
  Standardized rows = transferRows(op, /*centred=*/false, nullptr, ctx);
  if (op.getInvRms())
    ctx.result(1, std::move(rows.inverse));
}

//===----------------------------------------------------------------------===//
// Over positions
//===----------------------------------------------------------------------===//

static void transferInstanceNorm(mp::InstanceNormOp op, TransferContext &ctx) {
  Value input = op.getInput();
  size_t rank = TransferContext::rankOf(input);
  const FloatFormat &format = ctx.sumFormat(input);
  Standardized rows = standardize(
      getShape(input), ctx.of(input),
      {axesFrom(input, 2), true, op.getEpsilon().convertToDouble(), &format});
  std::optional<AbstractValue> scale, bias;
  if (op.getScale())
    scale = alongAxis(ctx.of(op.getScale()), 1, rank);
  if (op.getBias())
    bias = alongAxis(ctx.of(op.getBias()), 1, rank);
  ctx.result(0, scaleAndShift(rows.value, scale ? &*scale : nullptr,
                              bias ? &*bias : nullptr,
                              affineFormat(input, &format), ctx));
}

/// [N, C, ...] seen as [N, G, C / G, ...], standardised, and back. The norm is
/// that of a position's channels.
static std::pair<AbstractValue, double>
standardizeGroups(const Shape &shape, const AbstractValue &x, int64_t axis,
                  int64_t groups, Standardization how, size_t limit) {
  Shape grouped = shape;
  int64_t channels = shape[axis];
  grouped[axis] = groups;
  grouped.insert(grouped.begin() + axis + 1,
                 channels < 0 ? kDynamic : channels / groups);
  for (int64_t other = 1; other < int64_t(grouped.size()); ++other)
    if (other != axis)
      how.axes.push_back(other);
  Standardized rows =
      standardize(grouped, x.reshaped(shape, grouped, limit), how);
  // The groups' channels together: their squares add up.
  return {rows.value.reshaped(grouped, shape, limit),
          rows.norm * std::sqrt(double(groups)) * (1 + 1e-12)};
}

static void transferGroupNorm(mp::GroupNormOp op, TransferContext &ctx) {
  Value input = op.getInput();
  int64_t rank = TransferContext::rankOf(input);
  if (rank < 2)
    return ctx.unknown();
  int64_t channelAxis = op.getChannelsLast() ? rank - 1 : 1;
  const FloatFormat &format = ctx.statisticsFormat(input, op.getStashType());
  auto [y, norm] = standardizeGroups(
      *getShape(input), ctx.of(input), channelAxis, op.getNumGroups(),
      {{}, true, op.getEpsilon().convertToDouble(), &format}, ctx.maxGroups());
  std::optional<AbstractValue> scale, bias;
  std::optional<int64_t> channels = TransferContext::dimOf(input, channelAxis);
  auto parameter = [&](Value value) {
    const AbstractValue &vector = ctx.of(value);
    // One per group instead of one per channel.
    bool byChannel = channels && TransferContext::dimOf(value, 0) == channels;
    return alongAxis(byChannel ? vector : vector.merged(), channelAxis, rank);
  };
  if (op.getScale())
    scale = parameter(op.getScale());
  if (op.getBias())
    bias = parameter(op.getBias());
  const FloatFormat &affine = affineFormat(input, &format);
  AbstractValue result = scaleAndShift(y, scale ? &*scale : nullptr,
                                       bias ? &*bias : nullptr, affine, ctx);
  setNorm(result, norm, scale ? &*scale : nullptr, bias ? &*bias : nullptr,
          channelAxis, channels, affine);
  ctx.result(0, std::move(result));
}

void mpopt::attachNormalizationTransfers(MLIRContext *context) {
  attachTransfer<transferLayerNorm, mp::LayerNormOp>(context);
  attachTransfer<transferRMSNorm, mp::RMSNormOp>(context);
  attachTransfer<transferInstanceNorm, mp::InstanceNormOp>(context);
  attachTransfer<transferGroupNorm, mp::GroupNormOp>(context);
}
