//===- Random.cpp - Ranges of random numbers and dropout
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "mpopt/Dialect/Ops/RandomOps.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

/// No generator in use gives a normal number further out: Box-Muller on 64
/// random bits ends at sqrt(2 ln 2^64) = 9.4 deviations, the polar method on
/// 53-bit uniforms at 12.0, a ziggurat's tail at 3.7 + ln(2^53) / 3.7 = 13.7.
static constexpr double kNormalReach = 14;

static void transferNormal(mp::RandomNormalOp op, TransferContext &ctx) {
  double mean = op.getMean().convertToDouble();
  double scale = std::fabs(op.getScale().convertToDouble());
  double reach =
      scale * expectedExtreme(ctx.elementsPerGroup(op.getResult(), 1));
  AbstractValue value(
      AbstractValue::Dims(ctx.rankOf(op.getResult()), 1),
      make(Interval::point(mean) + Interval::symmetric(scale) * kNormalReach,
           mean, scale * scale, {mean - reach, mean + reach}));
  value.source = LikelySource::Declared;
  ctx.result(0, std::move(value));
}

static void transferUniform(mp::RandomUniformOp op, TransferContext &ctx) {
  // Rounding may reach the upper end.
  AbstractValue value =
      numbers({op.getLow().convertToDouble(), op.getHigh().convertToDouble()},
              op.getResult());
  value.source = LikelySource::Declared;
  ctx.result(0, std::move(value));
}

static void transferInt(mp::RandomIntOp op, TransferContext &ctx) {
  int64_t low = op.getLow(), high = op.getHigh();
  ctx.result(0, integers(double(low), double(std::max(high - 1, low)),
                         op.getResult()));
}

static void transferBernoulli(mp::BernoulliOp op, TransferContext &ctx) {
  AbstractValue value = integers(0, 1, op.getResult());
  Cell input = ctx.operand(0).hull();
  bool known = ctx.operand(0).hasLikely();
  double share = known ? std::clamp(input.mean, 0.0, 1.0) : 0.5;
  value.mutableCells().front() = Cell{0, 1, share, share * (1 - share), 0, 1};
  ctx.result(0, std::move(value));
}

static void transferMultinomial(mp::MultinomialOp op, TransferContext &ctx) {
  std::optional<int64_t> classes;
  if (size_t rank = ctx.rankOf(op.getInput()))
    classes = ctx.dimOf(op.getInput(), rank - 1);
  AbstractValue value =
      integers(0, classes ? std::max(0.0, double(*classes) - 1) : 0x1p31,
               op.getResult());
  if (!classes)
    value.source = LikelySource::Unknown;
  ctx.result(0, std::move(value));
}

/// Two flags: the op may drop elements, and it may leave them all.
static std::pair<bool, bool> whetherTraining(mp::DropoutOp op,
                                             TransferContext &ctx) {
  if (!op.getDynamicTraining())
    return {op.getTraining(), !op.getTraining()};
  std::optional<double> known = constantOf(ctx, op.getDynamicTraining());
  return {!known || *known != 0, !known || *known == 0};
}

static void transferDropout(mp::DropoutOp op, TransferContext &ctx) {
  auto [drops, keeps] = whetherTraining(op, ctx);
  const AbstractValue &x = ctx.operand(0);
  AbstractValue value =
      drops ? AbstractValue::boundedLike(x) : AbstractValue::sameAs(x);
  double expected = op.getRatio().convertToDouble();
  Interval ratio = Interval::point(expected);
  // A policy stores it in the format of the data.
  if (const FloatFormat *format = getFloatFormat(getElementType(op.getInput())))
    ratio = hull(ratio, format->round(expected));
  if (op.getDynamicRatio()) {
    Cell cell = ctx.of(op.getDynamicRatio()).hull();
    // PyTorch and ONNX take ratios in [0, 1].
    ratio = intersect(bound(cell), {0, 1});
    if (ratio.isEmpty())
      ratio = {0, 1};
    expected = std::clamp(cell.mean, ratio.lo, ratio.hi);
  }
  if (drops) {
    // A ratio of 1 leaves nothing.
    double stays = std::max(1 - ratio.hi, 0.0);
    double most = stays > 0 ? 1 / stays * (1 + 1e-7) : kInfinity;
    if (ratio.isPoint() && ratio.lo >= 1)
      most = 0;
    Interval scale = {0, keeps ? std::max(most, 1.0) : most};
    double factor = expected < 1 ? 1 / (1 - expected) : 0;
    for (CellRef cell : value.mutableCells()) {
      Interval all =
          bound(cell).isEmpty() ? Interval::point(0) : bound(cell) * scale;
      double second = (cell.variance + cell.mean * cell.mean) * factor;
      Interval dropped = hull(likelyInterval(cell) * factor, 0.0);
      if (keeps)
        dropped = hull(dropped, likelyInterval(cell));
      cell = make(all, cell.mean, std::max(0.0, second - cell.mean * cell.mean),
                  dropped);
    }
    value.nan |= value.mayBeInf(); // Inf * 0 where the mask is multiplied
    // Smaller than x where the ratio is negative only.
    value.keepsMinNonZero(x);
    if (x.norm && std::isfinite(x.norm->bound * std::max(1.0, most)))
      value.claimNorm(x.norm->axis, x.norm->bound * std::max(1.0, most),
                      x.norm->count);
    if (value.hasLikely())
      value.source = LikelySource::Propagated;
  }
  ctx.result(0, std::move(value));
  if (op.getNumResults() < 2)
    return;
  // Where nothing is dropped, 1; but older opsets leave it open, and kernels
  // then write 0.
  AbstractValue mask = integers(0, keeps || ratio.lo < 1 ? 1 : 0, op.getMask());
  double share = drops ? 1 - expected : 1;
  CellRef cell = mask.mutableCells().front();
  cell.mean = share;
  cell.variance = share * (1 - share);
  if (!drops)
    cell.likelyLo = 1;
  ctx.result(1, std::move(mask));
}

void mpopt::attachRandomTransfers(MLIRContext *context) {
  attachTransfer<transferNormal, mp::RandomNormalOp>(context);
  attachTransfer<transferUniform, mp::RandomUniformOp>(context);
  attachTransfer<transferInt, mp::RandomIntOp>(context);
  attachTransfer<transferBernoulli, mp::BernoulliOp>(context);
  attachTransfer<transferMultinomial, mp::MultinomialOp>(context);
  attachTransfer<transferDropout, mp::DropoutOp>(context);
}
