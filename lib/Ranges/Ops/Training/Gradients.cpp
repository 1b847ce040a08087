//===- Gradients.cpp - Ranges of gradients of composites
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The slope of a function or a loss times what arrives, and sums of that over
// the windows of a pool. Of norms, attention and recurrent cells nothing is
// said yet.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/Number.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/WindowSupport.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

static void give(TransferContext &ctx, unsigned index, const Number &number) {
  ctx.result(index, number.value(ctx.op()->getResult(index)));
}

/// Nothing is known of the results.
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
  give(ctx, 0, result);
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
  Number result = grad * Number::within({-0.3, 1.4}, *grad.format);
  // e^(2x) may overflow on the way.
  result.range.nan |= !x.range.isFinite() || x.bound().hi > 40;
  give(ctx, 0, result);
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

//===----------------------------------------------------------------------===//
// Losses of two tensors
//===----------------------------------------------------------------------===//

/// The loss's gradient as it reaches an element.
template <typename OpTy> static Number shareOf(OpTy op, TransferContext &ctx) {
  Number grad = numberOf(op.getGrad(), ctx);
  if (op.getReduction() == "none" || op.getReduction() == "sum")
    return grad;
  // Over a count of at least 1.
  Number one = Number::constant(1, *grad.format);
  Number share =
      grad / Number::constant(std::max(expectedCountOf(op.getInput()), 1.0),
                              *grad.format);
  Number hull = either(either(Number::constant(0, *grad.format), grad), share);
  double count = countOf(op.getInput());
  bool exact = std::isfinite(count) && count == countOf(op.getTarget()) &&
               op.getReduction() == "mean" && count > 0;
  return exact ? grad / (one * Number::constant(count, *grad.format)) : hull;
}

/// Gives the gradient of the input, where that was not broadcast, by its slope;
/// nothing of the gradients of other operands.
template <typename OpTy>
static void giveLoss(OpTy op, const Number &slope, TransferContext &ctx) {
  if (op.getWanted().empty() || op.getWanted().front() != 1)
    return;
  MaybeShape input = getShape(op.getInput()), target = getShape(op.getTarget());
  if (!input || !target || input != target ||
      llvm::is_contained(*input, kDynamic))
    return;
  Number result = shareOf(op, ctx) * slope;
  result.range.nan |= !numberOf(op.getInput(), ctx).range.isFinite() ||
                      !numberOf(op.getTarget(), ctx).range.isFinite();
  give(ctx, 0, result);
}

template <typename OpTy>
static Number within(OpTy op, double lo, double hi, TransferContext &ctx) {
  return Number::within({lo, hi}, *numberOf(op.getGrad(), ctx).format);
}

static void transferMse(mp::MseLossGradOp op, TransferContext &ctx) {
  Number d = numberOf(op.getInput(), ctx) - numberOf(op.getTarget(), ctx);
  giveLoss(op, d * Number::constant(2, *d.format), ctx);
}
template <typename OpTy>
static void transferSign(OpTy op, TransferContext &ctx) {
  giveLoss(op, within(op, -kRoom, kRoom, ctx), ctx);
}
static void transferHuber(mp::HuberLossGradOp op, TransferContext &ctx) {
  double delta = op.getDelta().convertToDouble() * kRoom;
  giveLoss(op, within(op, -delta, delta, ctx), ctx);
}
static void transferKlDiv(mp::KlDivGradOp op, TransferContext &ctx) {
  Number t = numberOf(op.getTarget(), ctx);
  giveLoss(op, -(op.getLogTarget() ? apply(UnaryFunction::Exp, t) : t), ctx);
}
static void transferSoftMargin(mp::SoftMarginLossGradOp op,
                               TransferContext &ctx) {
  giveLoss(op, -numberOf(op.getTarget(), ctx) * within(op, 0, kRoom, ctx), ctx);
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

/// An element gets at most dY of each window that it is in.
template <typename OpTy>
static void givePool(OpTy op, double windows, TransferContext &ctx) {
  const FloatFormat &format = ctx.sumFormat(op.getGrad());
  Number grad = Number::of(ctx.of(op.getGrad()), format);
  give(ctx, 0, sumOf(either(Number::constant(0, format), grad), windows, 1));
}

template <typename OpTy>
static void transferPool(OpTy op, TransferContext &ctx) {
  double windows = 1;
  for (auto [index, kernel] : llvm::enumerate(op.getKernelShape())) {
    bool plain = op.getDilations().empty() || op.getDilations()[index] == 1;
    int64_t stride = op.getStrides().empty() ? 1 : op.getStrides()[index];
    windows *= plain ? std::ceil(double(kernel) / double(stride)) : kernel;
  }
  givePool(op, windows, ctx);
}

/// At most O / D + 1 of O windows over D elements start where the last one, or
/// one before that, still runs.
template <typename OpTy>
static void transferAdaptivePool(OpTy op, TransferContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  double windows = 1;
  ArrayRef<int64_t> sizes = op.getOutputSize();
  for (auto [index, size] : llvm::enumerate(sizes)) {
    if (!shape)
      return;
    int64_t dim = (*shape)[shape->size() - sizes.size() + index];
    if (size < 0)
      continue;
    if (dim <= 0)
      return;
    windows *= std::ceil(double(size) / double(dim)) + 1;
  }
  givePool(op, windows, ctx);
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
  attachTransfer<transferMse, mp::MseLossGradOp>(context);
  attachTransfer<transferSign<mp::L1LossGradOp>, mp::L1LossGradOp>(context);
  attachTransfer<transferSign<mp::SmoothL1LossGradOp>, mp::SmoothL1LossGradOp>(
      context);
  attachTransfer<transferHuber, mp::HuberLossGradOp>(context);
  attachTransfer<transferKlDiv, mp::KlDivGradOp>(context);
  attachTransfer<transferSoftMargin, mp::SoftMarginLossGradOp>(context);
  attachTransfer<transferPool<mp::MaxPoolGradOp>, mp::MaxPoolGradOp>(context);
  attachTransfer<transferPool<mp::AveragePoolGradOp>, mp::AveragePoolGradOp>(
      context);
  attachTransfer<transferAdaptivePool<mp::AdaptiveAvgPoolGradOp>,
                 mp::AdaptiveAvgPoolGradOp>(context);
  attachTransfer<transferAdaptivePool<mp::AdaptiveMaxPoolGradOp>,
                 mp::AdaptiveMaxPoolGradOp>(context);
  attachTransfer<
      transferNothing, mp::LpPoolGradOp, mp::CrossEntropyGradOp,
      mp::NllLossGradOp, mp::MultiMarginLossGradOp, mp::PoissonNllLossGradOp,
      mp::HingeEmbeddingLossGradOp, mp::BinaryCrossEntropyGradOp,
      mp::BinaryCrossEntropyWithLogitsGradOp, mp::GaussianNllLossGradOp,
      mp::MultilabelMarginLossGradOp, mp::MarginRankingLossGradOp,
      mp::CosineEmbeddingLossGradOp, mp::TripletMarginLossGradOp,
      mp::CtcLossGradOp, mp::CosineSimilarityGradOp, mp::PdistGradOp,
      mp::CdistGradOp, mp::DistGradOp, mp::RenormGradOp, mp::InstanceNormGradOp,
      mp::GroupNormGradOp, mp::LRNGradOp, mp::LpNormalizeGradOp,
      mp::MeanVarianceNormGradOp, mp::NormGradOp, mp::ReduceProdGradOp,
      mp::CumProdGradOp, mp::AttentionGradOp, mp::RNNGradOp, mp::LSTMGradOp,
      mp::GRUGradOp, mp::RNNCellGradOp, mp::LSTMCellGradOp, mp::GRUCellGradOp,
      mp::PadGradOp, mp::ResizeGradOp, mp::GridSampleGradOp, mp::DetGradOp,
      mp::DFTGradOp, mp::FakeQuantizeGradOp, mp::MatMulNBitsGradOp,
      mp::RoiAlignGradOp, mp::MaxRoiPoolGradOp, mp::STFTGradOp,
      mp::DeformConvGradOp>(context);
}
