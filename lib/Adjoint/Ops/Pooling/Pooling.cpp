//===- Pooling.cpp - Gradients of pools
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "lib/Adjoint/Ops/GradientOp.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

using namespace mlir;
using namespace mpopt;

static void buildGlobalAverage(mp::GlobalAveragePoolOp op,
                               GradientContext &ctx) {
  ctx.give(0, ctx.expandedLike(
                  ctx.dividedByCount(ctx.dy(), op.getInput(), op.getResult()),
                  op.getInput()));
}

/// The first maximum of each channel takes all, as in PyTorch's adaptive pool.
static void buildGlobalMax(mp::GlobalMaxPoolOp op, GradientContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  if (!shape || shape->size() < 3)
    return ctx.lack();
  Term rows = ctx.make<mp::ReshapeOp>({op.getInput(), ctx.indices({0, 0, -1})});
  Term grad = ctx.make<mp::ReshapeOp>({ctx.dy(), ctx.indices({0, 0, -1})});
  Value first = ctx.make<mp::ArgMaxOp>(
      {rows}, {ctx.integer("axis", 2), ctx.flag("keep_dims")});
  ctx.give(0,
           ctx.reshapedLike(
               ctx.make<mp::GatherGradOp>(
                   {grad, ctx.shapeOf(rows), first},
                   {ctx.integer("axis", 2),
                    ctx.word("kind", stringifyEnum(mp::GatherKind::Elements))}),
               op.getInput()));
}

static void buildGlobalLp(mp::GlobalLpPoolOp op, GradientContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  if (!shape || shape->size() < 3)
    return ctx.lack();
  ctx.give(0, ctx.make<mp::NormGradOp>(
                  {ctx.dy(), ctx.x(), Value()},
                  {ctx.integers("axes", llvm::to_vector(llvm::seq<int64_t>(
                                            2, shape->size()))),
                   ctx.number("ord", op.getP().convertToDouble()),
                   ctx.flag("keep_dims"), ctx.integers("wanted", {1})}));
}

/// Indices are positions in the whole result.
static void buildMaxUnpool(mp::MaxUnpoolOp op, GradientContext &ctx) {
  Value flat = ctx.reshaped(ctx.dy(), {-1});
  Term read =
      ctx.make<mp::GatherOp>({flat, op.getIndices()}, {ctx.integer("axis", 0)});
  ctx.give(0, read);
}

/// The image alone has a gradient: boxes say where to look.
template <typename OpTy, typename GradientOpTy>
static void buildRegions(OpTy, GradientContext &ctx) {
  makeGradientOp(ctx, GradientOpTy::getOperationName(), /*gradients=*/1,
                 /*segmented=*/false, /*firstOnly=*/true);
}

void mpopt::attachPoolingGradients(MLIRContext *context) {
  attachGradient<buildGlobalAverage, mp::GlobalAveragePoolOp>(context);
  attachGradient<buildGlobalMax, mp::GlobalMaxPoolOp>(context);
  attachGradient<buildGlobalLp, mp::GlobalLpPoolOp>(context);
  attachGradient<buildMaxUnpool, mp::MaxUnpoolOp>(context);
  attachGradient<buildRegions<mp::RoiAlignOp, mp::RoiAlignGradOp>,
                 mp::RoiAlignOp>(context);
  attachGradient<buildRegions<mp::MaxRoiPoolOp, mp::MaxRoiPoolGradOp>,
                 mp::MaxRoiPoolOp>(context);
  attachGradientOp<mp::MaxPoolOp, mp::MaxPoolGradOp>(context);
  attachGradientOp<mp::AveragePoolOp, mp::AveragePoolGradOp>(context);
  attachGradientOp<mp::LpPoolOp, mp::LpPoolGradOp>(context);
  attachGradientOp<mp::AdaptiveAvgPoolOp, mp::AdaptiveAvgPoolGradOp>(context);
  attachGradientOp<mp::AdaptiveMaxPoolOp, mp::AdaptiveMaxPoolGradOp>(context);
}
