//===- Random.cpp - Gradients of dropout
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Dialect/Ops/RandomOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

using namespace mlir;
using namespace mpopt;

/// prepareGradients gave the op a mask.
static void buildDropout(mp::DropoutOp op, GradientContext &ctx) {
  if (!op.getTraining() && !op.getDynamicTraining())
    return ctx.give(0, ctx.dy());
  if (!op.getMask())
    return ctx.lack();
  Value ratio = op.getDynamicRatio();
  if (!ratio)
    ratio =
        ctx.scalar(op.getRatio().convertToDouble(), ctx.builder().getF32Type());
  ctx.give(op.getInput(),
           ctx.make<mp::DropoutGradOp>(
               {ctx.dy(), op.getMask(), ratio, op.getDynamicTraining()}));
}

void mpopt::attachRandomGradients(MLIRContext *context) {
  attachGradient<buildDropout, mp::DropoutOp>(context);
  attachNoGradient<mp::RandomNormalOp, mp::RandomUniformOp, mp::RandomIntOp,
                   mp::BernoulliOp, mp::MultinomialOp>(context);
}
