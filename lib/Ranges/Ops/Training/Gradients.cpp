//===- Gradients.cpp - Ranges of gradients of functions
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slope of a function times what arrives. Gradients of other ops are in the
// families of those.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/GradientSupport.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Nothing is known of the results: a determinant's inverse matrix, and a
/// deviation by E[x^2] - E[x]^2, lose all digits where a matrix or a row is
/// nearly singular.
static void transferNothing(Operation *, TransferContext &) {}

//===----------------------------------------------------------------------===//
// Functions of one number
//===----------------------------------------------------------------------===//

/// dY times a slope. Kernels may form Inf times 0 of an x that is not finite,
/// or whose exponential is not.
template <typename OpTy>
static void giveSlope(OpTy op, Interval slope, TransferContext &ctx) {
  Number grad = numberOf(op.getGrad(), ctx), x = numberOf(op.getInput(), ctx);
  Number result = grad * Number::within(slope, *grad.format);
  result.range.nan |= !x.range.isFinite();
  gradients::giveSlope(ctx, ctx.of(op.getGrad()), slope, result);
}

/// Relative room for the rounding of a slope.
static constexpr double kRoom = 1 + 0x1p-6;

template <typename OpTy>
static void transferUnit(OpTy op, TransferContext &ctx) {
  giveSlope(op, {0, kRoom}, ctx);
}

static Interval withZero(double value) {
  return {std::min(0.0, value), std::max(0.0, value)};
}

static void transferHardSigmoid(mp::HardSigmoidGradOp op,
                                TransferContext &ctx) {
  giveSlope(op, withZero(op.getAlpha().convertToDouble() * kRoom), ctx);
}
static void transferHardSwish(mp::HardSwishGradOp op, TransferContext &ctx) {
  giveSlope(op, {-0.5 * kRoom, 1.5 * kRoom}, ctx);
}
/// x sigmoid(x) (1 - tanh^2) lies in [-0.16, 0.33].
static void transferMish(mp::MishGradOp op, TransferContext &ctx) {
  Number x = numberOf(op.getInput(), ctx);
  Number grad = numberOf(op.getGrad(), ctx);
  Interval slope = {-0.3, 1.4};
  Number result = grad * Number::within(slope, *grad.format);
  // e^(2x) may overflow on the way.
  result.range.nan |= !x.range.isFinite() || x.bound().hi > 40;
  gradients::giveSlope(ctx, ctx.of(op.getGrad()), slope, result);
}
/// Below 0 alpha e^x, between 0 and alpha.
template <typename OpTy>
static void transferElu(OpTy op, double below, double above,
                        TransferContext &ctx) {
  Interval slope = withZero(below * kRoom);
  slope.lo = std::min(slope.lo, withZero(above * kRoom).lo);
  slope.hi = std::max(slope.hi, withZero(above * kRoom).hi);
  giveSlope(op, slope, ctx);
}
static void transferElu(mp::EluGradOp op, TransferContext &ctx) {
  transferElu(op, op.getAlpha().convertToDouble(), 1, ctx);
}
static void transferSelu(mp::SeluGradOp op, TransferContext &ctx) {
  double gamma = op.getGamma().convertToDouble();
  transferElu(op, gamma * op.getAlpha().convertToDouble(), gamma, ctx);
}
/// With alpha < 0 the exponential grows without bound below 0.
static void transferCelu(mp::CeluGradOp op, TransferContext &ctx) {
  if (op.getAlpha().convertToDouble() > 0)
    transferElu(op, 1, 1, ctx);
}

void mpopt::attachGradientsTransfers(MLIRContext *context) {
  attachTransfer<transferUnit<mp::Relu6GradOp>, mp::Relu6GradOp>(context);
  attachTransfer<transferUnit<mp::ThresholdedReluGradOp>,
                 mp::ThresholdedReluGradOp>(context);
  attachTransfer<transferUnit<mp::HardTanhGradOp>, mp::HardTanhGradOp>(context);
  attachTransfer<transferUnit<mp::ShrinkGradOp>, mp::ShrinkGradOp>(context);
  attachTransfer<transferUnit<mp::LogSigmoidGradOp>, mp::LogSigmoidGradOp>(
      context);
  attachTransfer<transferUnit<mp::SoftplusGradOp>, mp::SoftplusGradOp>(context);
  attachTransfer<transferHardSigmoid, mp::HardSigmoidGradOp>(context);
  attachTransfer<transferHardSwish, mp::HardSwishGradOp>(context);
  attachTransfer<transferMish, mp::MishGradOp>(context);
  attachTransfer<static_cast<void (*)(mp::EluGradOp, TransferContext &)>(
                     transferElu),
                 mp::EluGradOp>(context);
  attachTransfer<transferSelu, mp::SeluGradOp>(context);
  attachTransfer<transferCelu, mp::CeluGradOp>(context);
  attachTransfer<transferNothing, mp::MeanVarianceNormGradOp, mp::DetGradOp>(
      context);
}
