//===- Core.cpp - Gradients of casts and copies
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"
#include "lib/Adjoint/Ops/GradientOp.h"

#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/CustomOps.h"
#include "mpopt/Dialect/StopGradient.h"

using namespace mlir;
using namespace mpopt;

/// The gradient is cast back, as if nothing had been rounded.
static void buildCast(mp::CastOp op, GradientContext &ctx) {
  Type element = getElementType(op.getInput());
  if (!isa<FloatType>(element) || !ctx.wants(0u))
    return;
  ctx.give(0, ctx.make<mp::CastOp>(
                  {ctx.gradient()},
                  {ctx.builder().getNamedAttr(
                      "origin", mp::CastOriginAttr::get(op.getContext(),
                                                        op.getOrigin()))},
                  element));
}

static void buildIdentity(mp::IdentityOp op, GradientContext &ctx) {
  if (!op->hasAttr(kStopsGradientAttr))
    ctx.give(0, ctx.dy());
}

void mpopt::attachCoreGradients(MLIRContext *context) {
  attachGradient<buildCast, mp::CastOp>(context);
  attachGradient<buildIdentity, mp::IdentityOp>(context);
  attachGradientOp<mp::CustomOp, mp::CustomGradOp>(context);
  attachNoGradient<mp::ConstantOp>(context);
}
