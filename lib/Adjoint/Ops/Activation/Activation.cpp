//===- Activation.cpp - Gradients of activations and softmax
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "lib/Adjoint/Ops/GradientOp.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

using namespace mlir;
using namespace mpopt;

static void buildRelu(GradientContext &ctx) {
  ctx.give(0, ctx.make<mp::ReluGradOp>({ctx.dy(), ctx.y()}));
}

static void buildSigmoid(GradientContext &ctx) {
  ctx.give(0, ctx.make<mp::SigmoidGradOp>({ctx.dy(), ctx.y()}));
}

/// x as well as y says which side of 0 it is on, for every slope.
static void buildLeakyRelu(mp::LeakyReluOp op, GradientContext &ctx) {
  ctx.give(0, ctx.make<mp::LeakyReluGradOp>(
                  {ctx.dy(), ctx.x()},
                  {ctx.number("alpha", op.getAlpha().convertToDouble())}));
}

static void buildGelu(mp::GeluOp op, GradientContext &ctx) {
  ctx.give(0, ctx.make<mp::GeluGradOp>(
                  {ctx.dy(), ctx.x(), Value()},
                  {ctx.word("approximate", op.getApproximate())}));
}

template <typename OpTy> static void buildSilu(OpTy op, GradientContext &ctx) {
  ctx.give(0, ctx.make<mp::QuickGeluGradOp>(
                  {ctx.dy(), ctx.x()},
                  {ctx.number("alpha", op.getAlpha().convertToDouble())}));
}

/// With s = 1 + |x|: dY / s^2.
static void buildSoftsign(GradientContext &ctx) {
  Term s = ctx.make<mp::AbsOp>({ctx.x()}) + 1;
  ctx.give(0, ctx.dy() / ctx.make<mp::SquareOp>({s}));
}

/// 1 - (1 - tanh^2).
static void buildTanhShrink(GradientContext &ctx) {
  Term tanh = ctx.make<mp::TanhOp>({ctx.x()});
  ctx.give(0, ctx.dy() * ctx.make<mp::SquareOp>({tanh}));
}

static void buildPRelu(GradientContext &ctx) {
  Term x = ctx.x(0), slope = ctx.x(1);
  Value above =
      ctx.make<mp::GreaterOp>({x, ctx.scalar(0, getElementType(x.value()))});
  if (ctx.wants(0u))
    ctx.give(0, ctx.where(above, ctx.dy(), ctx.dy() * slope));
  if (ctx.wants(1)) {
    Term product = ctx.dy() * x;
    ctx.give(1, ctx.where(above, ctx.zeros(product), product));
  }
}

static void buildSwiglu(mp::SwigluOp op, GradientContext &ctx) {
  NamedAttribute alpha = ctx.number("alpha", op.getAlpha().convertToDouble());
  if (ctx.wants(0u))
    ctx.give(0, ctx.make<mp::QuickGeluGradOp>({ctx.dy() * ctx.x(1), ctx.x(0)},
                                              {alpha}));
  if (ctx.wants(1))
    ctx.give(1, ctx.dy() * ctx.make<mp::SiluOp>({ctx.x(0)}, {alpha}));
}

template <typename OpTy, typename GradientOpTy>
static Term softmaxGradient(OpTy op, GradientContext &ctx) {
  return ctx.make<GradientOpTy>({ctx.dy(), ctx.y()},
                                {ctx.integer("axis", op.getAxis()),
                                 ctx.flag("coerced", op.getFlatten())});
}
static void buildSoftmax(mp::SoftmaxOp op, GradientContext &ctx) {
  ctx.give(0, softmaxGradient<mp::SoftmaxOp, mp::SoftmaxGradOp>(op, ctx));
}
static void buildLogSoftmax(mp::LogSoftmaxOp op, GradientContext &ctx) {
  ctx.give(0, softmaxGradient<mp::LogSoftmaxOp, mp::LogSoftmaxGradOp>(op, ctx));
}
static void buildSoftmin(mp::SoftminOp op, GradientContext &ctx) {
  ctx.give(0, -softmaxGradient<mp::SoftminOp, mp::SoftmaxGradOp>(op, ctx));
}

void mpopt::attachActivationGradients(MLIRContext *context) {
  attachGradient<buildRelu, mp::ReluOp>(context);
  attachGradient<buildSigmoid, mp::SigmoidOp>(context);
  attachGradient<buildLeakyRelu, mp::LeakyReluOp>(context);
  attachGradient<buildGelu, mp::GeluOp>(context);
  attachGradient<buildSilu<mp::SiluOp>, mp::SiluOp>(context);
  attachGradient<buildSilu<mp::QuickGeluOp>, mp::QuickGeluOp>(context);
  attachGradient<buildSoftsign, mp::SoftsignOp>(context);
  attachGradient<buildTanhShrink, mp::TanhShrinkOp>(context);
  attachGradient<buildPRelu, mp::PReluOp>(context);
  attachGradient<buildSwiglu, mp::SwigluOp>(context);
  attachGradient<buildSoftmax, mp::SoftmaxOp>(context);
  attachGradient<buildLogSoftmax, mp::LogSoftmaxOp>(context);
  attachGradient<buildSoftmin, mp::SoftminOp>(context);
  attachGradientOp<mp::Relu6Op, mp::Relu6GradOp>(context);
  attachGradientOp<mp::ThresholdedReluOp, mp::ThresholdedReluGradOp>(context);
  attachGradientOp<mp::HardSigmoidOp, mp::HardSigmoidGradOp>(context);
  attachGradientOp<mp::HardSwishOp, mp::HardSwishGradOp>(context);
  attachGradientOp<mp::HardTanhOp, mp::HardTanhGradOp>(context);
  attachGradientOp<mp::ShrinkOp, mp::ShrinkGradOp>(context);
  attachGradientOp<mp::EluOp, mp::EluGradOp>(context);
  attachGradientOp<mp::CeluOp, mp::CeluGradOp>(context);
  attachGradientOp<mp::SeluOp, mp::SeluGradOp>(context);
  attachGradientOp<mp::LogSigmoidOp, mp::LogSigmoidGradOp>(context);
  attachGradientOp<mp::SoftplusOp, mp::SoftplusGradOp>(context);
  attachGradientOp<mp::MishOp, mp::MishGradOp>(context);
  attachNoGradient<mp::HardmaxOp>(context);
}
