//===- Movement.cpp - Gradients of reordering, images and interpolation
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "lib/Adjoint/Ops/GradientOp.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Reordering
//===----------------------------------------------------------------------===//

static void buildReverse(mp::ReverseOp op, GradientContext &ctx) {
  ctx.give(0, ctx.make<mp::ReverseOp>({ctx.dy()},
                                      {ctx.integers("axes", op.getAxes())}));
}

static void buildRoll(mp::RollOp op, GradientContext &ctx) {
  SmallVector<int64_t> back =
      llvm::map_to_vector(op.getShifts(), [](int64_t shift) { return -shift; });
  SmallVector<NamedAttribute> attributes = {ctx.integers("shifts", back)};
  if (op.getAxes())
    attributes.push_back(ctx.integers("axes", *op.getAxes()));
  ctx.give(0, ctx.make<mp::RollOp>({ctx.dy()}, attributes));
}

static void buildReverseSequence(mp::ReverseSequenceOp op,
                                 GradientContext &ctx) {
  ctx.give(0, ctx.make<mp::ReverseSequenceOp>(
                  {ctx.dy(), op.getLengths()},
                  {ctx.integer("batch_axis", op.getBatchAxis()),
                   ctx.integer("time_axis", op.getTimeAxis())}));
}

static void buildTrilu(mp::TriluOp op, GradientContext &ctx) {
  ctx.give(0, ctx.make<mp::TriluOp>({ctx.dy(), op.getDynamicK()},
                                    {ctx.integer("k", op.getK()),
                                     ctx.flag("upper", op.getUpper())}));
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

template <typename OpTy, typename InverseTy>
static void buildBlocks(OpTy op, GradientContext &ctx) {
  ctx.give(0, ctx.make<InverseTy>({ctx.dy()},
                                  {ctx.integer("block_size", op.getBlockSize()),
                                   ctx.word("mode", op.getMode())}));
}

template <typename OpTy>
static SmallVector<NamedAttribute> windowOf(OpTy op, GradientContext &ctx) {
  SmallVector<NamedAttribute> attributes;
  auto add = [&](StringRef name, std::optional<ArrayRef<int64_t>> values) {
    if (values)
      attributes.push_back(ctx.integers(name, *values));
  };
  add("dilations", op.getDilations());
  add("pads", op.getPads());
  add("strides", op.getStrides());
  return attributes;
}

static void buildIm2Col(mp::Im2ColOp op, GradientContext &ctx) {
  Value image =
      ctx.make<mp::ShapeOp>({op.getInput()}, {ctx.integer("start", 2)});
  ctx.give(0, ctx.make<mp::Col2ImOp>(
                  {ctx.dy(), image, ctx.indices(op.getKernelShape())},
                  windowOf(op, ctx)));
}

static void buildCol2Im(mp::Col2ImOp op, GradientContext &ctx) {
  auto kernel = ctx.facts().constants(op.getBlockShape());
  if (!kernel)
    return ctx.lack();
  SmallVector<NamedAttribute> attributes = windowOf(op, ctx);
  attributes.push_back(ctx.integers("kernel_shape", *kernel));
  ctx.give(0, ctx.make<mp::Im2ColOp>({ctx.dy()}, attributes));
}

/// The grid is theta times the positions of an identity map, with a 1 behind.
static void buildAffineGrid(mp::AffineGridOp op, GradientContext &ctx) {
  MaybeShape theta = getShape(op.getTheta());
  if (!theta || llvm::is_contained(*theta, kDynamic))
    return ctx.lack();
  int64_t rank = (*theta)[1], batch = (*theta)[0];
  Value identity = ctx.make<mp::EyeLikeOp>(
      {ctx.reshaped(ctx.zeros(op.getTheta()), {batch * rank, rank + 1})});
  // One block a sample: the first is what each needs.
  identity = ctx.make<mp::SliceOp>(
      {identity, Value(), Value(), Value(), Value()},
      {ctx.integers("starts", {0}), ctx.integers("ends", {rank}),
       ctx.integers("axes", {0})});
  identity = ctx.make<mp::ExpandOp>({identity, ctx.indices(*theta)});
  SmallVector<NamedAttribute> corners;
  if (op.getAlignCorners())
    corners.push_back(ctx.unit("align_corners"));
  Term base = ctx.reshaped(
      ctx.make<mp::AffineGridOp>({identity, op.getSize()}, corners),
      {batch, -1, rank});
  Term grad = ctx.reshaped(ctx.dy(), {batch, -1, rank});
  auto product = [&](Value lhs, Value rhs) {
    return ctx.make<mp::MatMulOp>({lhs, rhs}, {ctx.flag("trans_a")});
  };
  Term offset =
      ctx.reshaped(ctx.sum(grad, {1}, /*keepDims=*/false), {batch, rank, 1});
  ctx.give(0, ctx.make<mp::ConcatOp>({product(grad, base), offset},
                                     {ctx.integer("axis", 2)}));
}

void mpopt::attachMovementGradients(MLIRContext *context) {
  attachGradient<buildReverse, mp::ReverseOp>(context);
  attachGradient<buildRoll, mp::RollOp>(context);
  attachGradient<buildReverseSequence, mp::ReverseSequenceOp>(context);
  attachGradient<buildTrilu, mp::TriluOp>(context);
  attachGradient<buildBlocks<mp::DepthToSpaceOp, mp::SpaceToDepthOp>,
                 mp::DepthToSpaceOp>(context);
  attachGradient<buildBlocks<mp::SpaceToDepthOp, mp::DepthToSpaceOp>,
                 mp::SpaceToDepthOp>(context);
  attachGradient<buildIm2Col, mp::Im2ColOp>(context);
  attachGradient<buildCol2Im, mp::Col2ImOp>(context);
  attachGradient<buildAffineGrid, mp::AffineGridOp>(context);
  attachGradientOp<mp::ResizeOp, mp::ResizeGradOp>(context);
  attachGradientOp<mp::GridSampleOp, mp::GridSampleGradOp>(context);
  attachGradientOp<mp::DetOp, mp::DetGradOp>(context);
}
