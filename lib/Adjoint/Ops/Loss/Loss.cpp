//===- Loss.cpp - Gradients of losses and distances
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "lib/Adjoint/Ops/GradientOp.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

using namespace mlir;
using namespace mpopt;

static void buildSoftmaxCrossEntropy(mp::SoftmaxCrossEntropyOp op,
                                     GradientContext &ctx) {
  if (ctx.wants(op.getWeight()))
    ctx.lack();
  if (ctx.gradient(0)) {
    SmallVector<NamedAttribute> attributes = {
        ctx.word("reduction", op.getReduction())};
    if (op.getIgnoreIndex())
      attributes.push_back(ctx.integer("ignore_index", *op.getIgnoreIndex()));
    ctx.give(0, ctx.make<mp::SoftmaxCrossEntropyGradOp>(
                    {ctx.dy(0), op.getLogProb(), op.getTarget(), op.getWeight(),
                     op.getIgnore(), Value()},
                    attributes));
  }
  if (ctx.gradient(1))
    ctx.give(0, ctx.make<mp::LogSoftmaxGradOp>({ctx.dy(1), op.getLogProb()},
                                               {ctx.integer("axis", 1)}));
}

void mpopt::attachLossGradients(MLIRContext *context) {
  attachGradient<buildSoftmaxCrossEntropy, mp::SoftmaxCrossEntropyOp>(context);
  attachGradientOp<mp::CrossEntropyOp, mp::CrossEntropyGradOp>(context);
  attachGradientOp<mp::NllLossOp, mp::NllLossGradOp>(context);
  attachGradientOp<mp::MultiMarginLossOp, mp::MultiMarginLossGradOp>(context);
  attachGradientOp<mp::MseLossOp, mp::MseLossGradOp>(context);
  attachGradientOp<mp::L1LossOp, mp::L1LossGradOp>(context);
  attachGradientOp<mp::SmoothL1LossOp, mp::SmoothL1LossGradOp>(context);
  attachGradientOp<mp::HuberLossOp, mp::HuberLossGradOp>(context);
  attachGradientOp<mp::KlDivOp, mp::KlDivGradOp>(context);
  attachGradientOp<mp::PoissonNllLossOp, mp::PoissonNllLossGradOp>(context);
  attachGradientOp<mp::SoftMarginLossOp, mp::SoftMarginLossGradOp>(context);
  attachGradientOp<mp::HingeEmbeddingLossOp, mp::HingeEmbeddingLossGradOp>(
      context);
  attachGradientOp<mp::BinaryCrossEntropyOp, mp::BinaryCrossEntropyGradOp>(
      context);
  attachGradientOp<mp::BinaryCrossEntropyWithLogitsOp,
                   mp::BinaryCrossEntropyWithLogitsGradOp>(context);
  attachGradientOp<mp::GaussianNllLossOp, mp::GaussianNllLossGradOp>(context);
  attachGradientOp<mp::MultilabelMarginLossOp, mp::MultilabelMarginLossGradOp>(
      context);
  attachGradientOp<mp::MarginRankingLossOp, mp::MarginRankingLossGradOp>(
      context);
  attachGradientOp<mp::CosineEmbeddingLossOp, mp::CosineEmbeddingLossGradOp>(
      context);
  attachGradientOp<mp::TripletMarginLossOp, mp::TripletMarginLossGradOp>(
      context);
  attachGradientOp<mp::CtcLossOp, mp::CtcLossGradOp>(context);
  attachGradientOp<mp::CosineSimilarityOp, mp::CosineSimilarityGradOp>(context);
  attachGradientOp<mp::PdistOp, mp::PdistGradOp>(context);
  attachGradientOp<mp::CdistOp, mp::CdistGradOp>(context);
  attachGradientOp<mp::DistOp, mp::DistGradOp>(context);
  attachGradientOp<mp::RenormOp, mp::RenormGradOp>(context);
}
