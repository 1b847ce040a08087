//===- Normalization.cpp - Gradients of normalisations
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "lib/Adjoint/Ops/GradientOp.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

using namespace mlir;
using namespace mpopt;

static Value onesOf(ArrayRef<int64_t> shape, GradientContext &ctx) {
  return ctx.filled(1, RankedTensorType::get(shape, getElementType(ctx.x())));
}

static void buildLayerNorm(mp::LayerNormOp op, GradientContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  std::optional<int64_t> axis =
      shape ? normalizeAxis(op.getAxis(), shape->size()) : std::nullopt;
  if (!axis || llvm::any_of(llvm::seq<unsigned>(1, op->getNumResults()),
                            [&](unsigned i) { return bool(ctx.gradient(i)); }))
    return ctx.lack();
  Value scale = op.getScale();
  if (!scale) {
    ArrayRef<int64_t> row = ArrayRef(*shape).drop_front(*axis);
    if (llvm::is_contained(row, kDynamic))
      return ctx.lack();
    scale = op.getBias() ? Value(ctx.ones(op.getBias())) : onesOf(row, ctx);
  }
  if (ctx.wants(op.getBias()) && getShape(op.getBias()) != getShape(scale))
    return ctx.lack();
  Value mean, inverse;
  if (op.getStats().size() == 2) {
    mean = op.getStats()[0];
    inverse = op.getStats()[1];
  }
  auto grad = ctx.makeOp<mp::LayerNormGradOp>(
      {ctx.dy(), ctx.x(), scale, mean, inverse, Value()},
      {ctx.integer("axis", *axis),
       ctx.number("epsilon", op.getEpsilon().convertToDouble())},
      /*results=*/3);
  ctx.give(0, grad.getInputGrad());
  if (op.getScale())
    ctx.give(op.getScale(), grad.getScaleGrad());
  if (op.getBias())
    ctx.give(op.getBias(), grad.getBiasGrad());
}

static void buildRmsNorm(mp::RMSNormOp op, GradientContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  std::optional<int64_t> axis =
      shape ? normalizeAxis(op.getAxis(), shape->size()) : std::nullopt;
  if (!axis || (op.getInvRms() && ctx.gradient(1)))
    return ctx.lack();
  ArrayRef<int64_t> row = ArrayRef(*shape).drop_front(*axis);
  if (!op.getScale() && llvm::is_contained(row, kDynamic))
    return ctx.lack();
  auto grad = ctx.makeOp<mp::RmsNormGradOp>(
      {ctx.dy(), ctx.x(), op.getScale() ? op.getScale() : onesOf(row, ctx),
       op.getInvRms()},
      {ctx.integer("axis", *axis),
       ctx.number("epsilon", op.getEpsilon().convertToDouble())},
      /*results=*/2);
  ctx.give(0, grad.getInputGrad());
  if (op.getScale())
    ctx.give(op.getScale(), grad.getScaleGrad());
}

/// With the batch's own statistics while training, else with the kept ones,
/// which are no parameters.
/// Running statistics are no parameters, but may be off: with the factor s r of
/// x - m, r = 1 / sqrt(v + e), the gradients are -s r sum(dY) of the mean m and
/// -s r^2 sum(dY (x - m) r) / 2 of the variance v.
static void giveStatistics(mp::BatchNormOp op, Term factor, Term inverse,
                           mp::BatchNormGradOp grad, GradientContext &ctx) {
  if (ctx.wants(op.getMean()))
    ctx.give(op.getMean(), -(factor * Term(ctx, grad.getBiasGrad())));
  if (ctx.wants(op.getVariance()))
    ctx.give(op.getVariance(),
             factor * inverse * Term(ctx, grad.getScaleGrad()) * -0.5);
}

static void buildBatchNorm(mp::BatchNormOp op, GradientContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  if (!shape || shape->size() < 2 || !op.getSpatial() ||
      (!op.getTraining() && (!op.getMean() || !op.getVariance())))
    return ctx.lack();
  Value scale = op.getScale();
  Value kept = op.getMean();
  if (!scale) {
    if (!kept && (*shape)[1] < 0)
      return ctx.lack();
    scale = kept ? Value(ctx.ones(kept)) : onesOf({(*shape)[1]}, ctx);
  }
  Value mean = op.getMean(), variance = op.getVariance();
  SmallVector<NamedAttribute> attributes = {
      ctx.number("epsilon", op.getEpsilon().convertToDouble())};
  if (op.getTraining()) {
    // As wide as the parameters: in 16 bits squares overflow.
    Value x = ctx.cast(op.getInput(), getElementType(scale));
    SmallVector<int64_t> axes = {0};
    llvm::append_range(axes, llvm::seq<int64_t>(2, shape->size()));
    mean = ctx.mean(x, axes, /*keepDims=*/false);
    variance =
        ctx.make<mp::VarianceOp>({x, Value()}, {ctx.integers("axes", axes),
                                                ctx.number("correction", 0)});
  } else {
    attributes.push_back(ctx.unit("frozen"));
  }
  Value inverse = ctx.make<mp::RsqrtOp>(
      {Term(ctx, variance) + op.getEpsilon().convertToDouble()});
  auto grad = ctx.makeOp<mp::BatchNormGradOp>(
      {ctx.dy(), ctx.x(), scale, mean, inverse}, attributes, /*results=*/3);
  ctx.give(0, grad.getInputGrad());
  if (op.getScale())
    ctx.give(op.getScale(), grad.getScaleGrad());
  if (op.getBias())
    ctx.give(op.getBias(), grad.getBiasGrad());
  if (!op.getTraining())
    giveStatistics(op, Term(ctx, scale) * Term(ctx, inverse), {ctx, inverse},
                   grad, ctx);
}

void mpopt::attachNormalizationGradients(MLIRContext *context) {
  attachGradient<buildLayerNorm, mp::LayerNormOp>(context);
  attachGradient<buildRmsNorm, mp::RMSNormOp>(context);
  attachGradient<buildBatchNorm, mp::BatchNormOp>(context);
  attachGradientOp<mp::InstanceNormOp, mp::InstanceNormGradOp>(context);
  attachGradientOp<mp::GroupNormOp, mp::GroupNormGradOp>(context);
  attachGradientOp<mp::LRNOp, mp::LRNGradOp>(context);
  attachGradientOp<mp::LpNormalizeOp, mp::LpNormalizeGradOp>(context);
  attachGradientOp<mp::MeanVarianceNormOp, mp::MeanVarianceNormGradOp>(context);
}
