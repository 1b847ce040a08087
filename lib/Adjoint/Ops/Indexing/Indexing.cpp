//===- Indexing.cpp - Gradients of gathers and scatters
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Term scattered(GradientContext &ctx, Value gradient, Value shape,
                      Value indices, mp::GatherKind kind, int64_t axis,
                      int64_t batchDims = 0,
                      std::optional<int64_t> padding = std::nullopt) {
  SmallVector<NamedAttribute> attributes = {
      ctx.integer("axis", axis), ctx.word("kind", stringifyEnum(kind)),
      ctx.integer("batch_dims", batchDims)};
  if (padding)
    attributes.push_back(ctx.integer("padding_index", *padding));
  return ctx.make<mp::GatherGradOp>({gradient, shape, indices}, attributes);
}

static void buildGather(mp::GatherOp op, GradientContext &ctx) {
  ctx.give(0, scattered(ctx, ctx.dy(), ctx.shapeOf(ctx.x()), op.getIndices(),
                        mp::GatherKind::Slices, op.getAxis()));
}

static void buildEmbedding(mp::EmbeddingOp op, GradientContext &ctx) {
  ctx.give(0, scattered(ctx, ctx.dy(), ctx.shapeOf(ctx.x()), op.getIndices(),
                        mp::GatherKind::Slices, 0, 0, op.getPaddingIndex()));
}

static void buildGatherElements(mp::GatherElementsOp op, GradientContext &ctx) {
  ctx.give(0, scattered(ctx, ctx.dy(), ctx.shapeOf(ctx.x()), op.getIndices(),
                        mp::GatherKind::Elements, op.getAxis()));
}

static void buildGatherND(mp::GatherNDOp op, GradientContext &ctx) {
  ctx.give(0, scattered(ctx, ctx.dy(), ctx.shapeOf(ctx.x()), op.getIndices(),
                        mp::GatherKind::Tuples, 0, op.getBatchDims()));
}

/// The slices that are kept, by number.
static void buildCompress(mp::CompressOp op, GradientContext &ctx) {
  Value kept = ctx.reshaped(ctx.make<mp::NonZeroOp>({op.getCondition()}), {-1});
  if (op.getAxis())
    return ctx.give(0, scattered(ctx, ctx.dy(), ctx.shapeOf(ctx.x()), kept,
                                 mp::GatherKind::Slices, *op.getAxis()));
  ctx.give(0,
           ctx.reshapedLike(scattered(ctx, ctx.dy(), ctx.flatShapeOf(ctx.x()),
                                      kept, mp::GatherKind::Slices, 0),
                            ctx.x()));
}

/// Each value is its first occurrence.
static void buildUnique(mp::UniqueOp op, GradientContext &ctx) {
  if (!ctx.gradient())
    return;
  if (op.getAxis())
    return ctx.give(0, scattered(ctx, ctx.dy(), ctx.shapeOf(ctx.x()),
                                 op.getIndices(), mp::GatherKind::Slices,
                                 *op.getAxis()));
  ctx.give(
      0, ctx.reshapedLike(scattered(ctx, ctx.dy(), ctx.flatShapeOf(ctx.x()),
                                    op.getIndices(), mp::GatherKind::Slices, 0),
                          ctx.x()));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// A replaced element gets nothing, one that was added to all. Where updates
/// are replaced by each other, which one stays is not said, nor which gradient.
template <typename OpTy, typename ReadTy>
static void buildScatter(OpTy op, GradientContext &ctx,
                         ArrayRef<NamedAttribute> axis) {
  auto reduction = mp::symbolizeScatterReduction(op.getReduction());
  bool adds = reduction == mp::ScatterReduction::Add;
  if (!adds && reduction != mp::ScatterReduction::None)
    return ctx.lack();
  if (ctx.wants(op.getInput()))
    ctx.give(op.getInput(), adds ? ctx.dy()
                                 : ctx.make<OpTy>({ctx.dy(), op.getIndices(),
                                                   ctx.zeros(op.getUpdates())},
                                                  axis));
  if (ctx.wants(op.getUpdates()))
    ctx.give(op.getUpdates(),
             ctx.make<ReadTy>({ctx.dy(), op.getIndices()}, axis));
}

static void buildScatterElements(mp::ScatterElementsOp op,
                                 GradientContext &ctx) {
  buildScatter<mp::ScatterElementsOp, mp::GatherElementsOp>(
      op, ctx, {ctx.integer("axis", op.getAxis())});
}
static void buildScatterND(mp::ScatterNDOp op, GradientContext &ctx) {
  buildScatter<mp::ScatterNDOp, mp::GatherNDOp>(op, ctx, {});
}

static void buildMaskedFill(mp::MaskedFillOp op, GradientContext &ctx) {
  if (ctx.wants(op.getInput()))
    ctx.give(op.getInput(),
             ctx.make<mp::MaskedFillOp>(
                 {ctx.dy(), op.getMask(),
                  ctx.scalar(0, getElementType(op.getInput()))}));
  if (ctx.wants(op.getValue()))
    ctx.give(op.getValue(), ctx.where(op.getMask(), ctx.dy()));
}

void mpopt::attachIndexingGradients(MLIRContext *context) {
  attachGradient<buildGather, mp::GatherOp>(context);
  attachGradient<buildEmbedding, mp::EmbeddingOp>(context);
  attachGradient<buildGatherElements, mp::GatherElementsOp>(context);
  attachGradient<buildGatherND, mp::GatherNDOp>(context);
  attachGradient<buildCompress, mp::CompressOp>(context);
  attachGradient<buildUnique, mp::UniqueOp>(context);
  attachGradient<buildScatterElements, mp::ScatterElementsOp>(context);
  attachGradient<buildScatterND, mp::ScatterNDOp>(context);
  attachGradient<buildMaskedFill, mp::MaskedFillOp>(context);
  attachNoGradient<mp::NonZeroOp, mp::NonMaxSuppressionOp>(context);
}
