//===- Training.cpp - Gradients of what a training step adds
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

using namespace mlir;
using namespace mpopt;

static void buildLossScale(mp::LossScaleOp op, GradientContext &ctx) {
  ctx.give(0, ctx.make<mp::LossScaleOp>({ctx.dy(), op.getScale()},
                                        {ctx.flag("divide", op.getDivide())}));
}

static void buildGlobalNorm(GradientContext &ctx) {
  Term share = ctx.dy() / ctx.y();
  for (unsigned i = 0; i < ctx.op()->getNumOperands(); ++i)
    if (ctx.wants(i))
      ctx.give(i, ctx.x(i) * share);
}

void mpopt::attachTrainingGradients(MLIRContext *context) {
  attachGradient<buildLossScale, mp::LossScaleOp>(context);
  attachGradient<buildGlobalNorm, mp::GlobalNormOp>(context);
  attachNoGradient<mp::BroadcastGradientArgsOp, mp::SgdOp, mp::MomentumOp,
                   mp::AdagradOp, mp::AdamOp, mp::LambOp, mp::AccumulateOp,
                   mp::ZeroGradientOp, mp::AllFiniteOp, mp::ClipGradNormOp>(
      context);
}
