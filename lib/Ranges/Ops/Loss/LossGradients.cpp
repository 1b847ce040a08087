//===- LossGradients.cpp - Ranges of gradients of losses of two tensors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slope of one element's loss times dL, which a mean divides. Formulas are
// those of PyTorch's kernels; losses that are several ops there keep each step
// in the operands' dtype. Gradients of targets that PyTorch lacks, too, are
// unknown.
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
using namespace mpopt::gradients;

using Slope = std::optional<Number>;

/// Gives each wanted operand its slope times dL, summed over what it was
/// broadcast to. `operands` broadcast to the shape of the losses.
template <typename OpTy>
static void giveLoss(OpTy op, ValueRange operands, TransferContext &ctx,
                     llvm::function_ref<Slope(unsigned slot)> slopeOf) {
  MaybeShape shape = broadcastOf(operands);
  Number share = shareOf(numberOf(op.getGrad(), ctx), op.getReduction(), shape);
  giveWanted(
      op, ctx,
      [&](unsigned slot) -> Slope {
        Slope slope = slopeOf(slot);
        if (!slope)
          return std::nullopt;
        Value operand =
            op->getOperand(op.getODSOperandIndexAndLength(slot).first);
        return summedTo(operand, tainted(share * *slope, operands, ctx), shape);
      },
      /*keepsEstimate=*/true);
}

static Number number(const APFloat &value, const Number &like) {
  return Number::constant(value.convertToDouble(), *like.format);
}
static Number number(double value, const Number &like) {
  return Number::constant(value, *like.format);
}

//===----------------------------------------------------------------------===//
// Gradients of input and target
//===----------------------------------------------------------------------===//

namespace {
/// Which gradient is asked for.
enum Slot : unsigned { Input = 1, Target = 2, Third = 3 };
} // namespace

static Slope slopeOf(mp::MseLossGradOp, unsigned slot, const Number &x,
                     const Number &t) {
  return (slot == Input ? x - t : t - x) * number(2, x);
}

static Slope slopeOf(mp::L1LossGradOp, unsigned, const Number &x,
                     const Number &) {
  return within({-1, 1}, x, {0, 1, -1, 1});
}

/// x - t over `scale`, no further from 0 than `most`.
static Number limitedSlope(const Number &x, const Number &t, double scale,
                           double most) {
  Number error = x - t;
  Likely expected = likely::apply(
      [=](double d) { return std::clamp(d / scale, -most, most); },
      error.expected);
  most *= kRoom;
  Interval d = error.bound();
  if (!(scale > 0) || d.isEmpty())
    return within({-most, most}, x);
  d = (d / Interval::point(scale)).widened(kRoom - 1);
  d = {std::clamp(d.lo, -most, most), std::clamp(d.hi, -most, most)};
  Number slope = within(d.widened(2 * (kRoom - 1)), x, expected);
  slope.source = error.source;
  return slope;
}

static Slope slopeOf(mp::SmoothL1LossGradOp op, unsigned slot, const Number &x,
                     const Number &t) {
  Number slope = limitedSlope(x, t, op.getBeta().convertToDouble(), 1);
  return slot == Input ? slope : -slope;
}

static Slope slopeOf(mp::HuberLossGradOp op, unsigned slot, const Number &x,
                     const Number &t) {
  double delta = op.getDelta().convertToDouble();
  if (!(delta >= 0))
    return std::nullopt;
  Number slope = limitedSlope(x, t, 1, delta);
  return slot == Input ? slope : -slope;
}

/// By the target log t + 1 - x, and e^t (t - x + 1) of its logarithm.
static Slope slopeOf(mp::KlDivGradOp op, unsigned slot, const Number &x,
                     const Number &t) {
  Number plain = op.getLogTarget() ? apply(UnaryFunction::Exp, t) : t;
  if (slot == Input)
    return -plain;
  if (op.getLogTarget())
    return plain * (t - x + number(1, x));
  Number slope = apply(UnaryFunction::Log, t) + number(1, x) - x;
  // The logarithm of 0, times a mask in some versions.
  slope.range.nan |= t.range.mayBeZero();
  return slope;
}

static Slope slopeOf(mp::PoissonNllLossGradOp op, unsigned slot,
                     const Number &x, const Number &t) {
  Number one = number(1, x);
  if (op.getLogInput()) {
    if (slot == Input)
      return apply(UnaryFunction::Exp, x) - t;
    return op.getFull() ? Slope() : -x;
  }
  Number shifted = x + number(op.getEpsilon(), x);
  if (slot == Input)
    return one - t / shifted;
  return op.getFull() ? Slope() : -apply(UnaryFunction::Log, shifted);
}

/// -t sigmoid(-t x), which PyTorch computes as t z / (z + 1) of z = e^(-t x).
static Slope slopeOf(mp::SoftMarginLossGradOp, unsigned slot, const Number &x,
                     const Number &t) {
  Number other = slot == Input ? t : x;
  Likely share = likely::apply([](double z) { return 1 / (1 + std::exp(z)); },
                               (t * x).expected);
  Number slope = -other * within({0, kRoom}, x, share);
  Number z = apply(UnaryFunction::Exp, -(t * x));
  Number product = other * z;
  slope.range.nan |= z.range.mayBeInf() || product.range.mayBeInf();
  slope.range.posInf |= product.range.mayBeInf();
  slope.range.negInf |= product.range.mayBeInf();
  return slope;
}

static Slope slopeOf(mp::HingeEmbeddingLossGradOp, unsigned slot,
                     const Number &x, const Number &) {
  // 1 of one kind of targets, -1 or 0 of the other.
  return slot == Input ? Slope(within({-1, 1}, x, {0, 0.75, -1, 1}))
                       : std::nullopt;
}

/// Losses that are more than one op in PyTorch.
template <typename OpTy>
static constexpr bool kInSteps =
    llvm::is_one_of<OpTy, mp::PoissonNllLossGradOp, mp::SoftMarginLossGradOp,
                    mp::KlDivGradOp>::value;

template <typename OpTy>
static void transferPair(OpTy op, TransferContext &ctx) {
  auto read = [&](Value value) {
    return kInSteps<OpTy> ? inSteps(value, ctx) : numberOf(value, ctx);
  };
  Number x = read(op.getInput()), t = read(op.getTarget());
  giveLoss(op, {op.getInput(), op.getTarget()}, ctx,
           [&](unsigned slot) { return slopeOf(op, slot, x, t); });
}

//===----------------------------------------------------------------------===//
// With weights
//===----------------------------------------------------------------------===//

static SmallVector<Value> present(std::initializer_list<Value> values) {
  SmallVector<Value> result;
  for (Value value : values)
    if (value)
      result.push_back(value);
  return result;
}

/// (x - t) / max(x (1 - x), 1e-12); x is a probability, PyTorch refuses
/// anything else. In FP16 the guard is 0.
static void transferBce(mp::BinaryCrossEntropyGradOp op, TransferContext &ctx) {
  Number x = inSteps(op.getInput(), ctx).cut({0, 1});
  x.range.posInf = x.range.negInf = false;
  Number t = inSteps(op.getTarget(), ctx);
  auto product = [](double x) { return std::max(x * (1 - x), 0.0); };
  double least = std::min(product(x.bound().lo), product(x.bound().hi)) / kRoom;
  least = std::max(least, x.format->round(1e-12) / kRoom);
  Likely spread = likely::apply(
      [&](double x) { return std::max(product(x), least); }, x.expected);
  giveLoss(op, present({op.getInput(), op.getTarget(), op.getWeight()}), ctx,
           [&](unsigned slot) -> Slope {
             Number slope;
             if (slot == Input)
               slope = (x - t) / within({least, 0.25 * kRoom}, x, spread);
             else if (slot == Target)
               slope = apply(UnaryFunction::Log, number(1, x) - x) -
                       apply(UnaryFunction::Log, x);
             else
               return std::nullopt;
             return op.getWeight() ? inSteps(op.getWeight(), ctx) * slope
                                   : slope;
           });
}

/// sigmoid(x) (1 + (p - 1) t) - p t, for a t in [0, 1] the mean of sigmoid(x)
/// and p (sigmoid(x) - 1). PyTorch multiplies by dL before a mean divides.
static void transferBceLogits(mp::BinaryCrossEntropyWithLogitsGradOp op,
                              TransferContext &ctx) {
  Number x = inSteps(op.getInput(), ctx), t = inSteps(op.getTarget(), ctx);
  Number one = number(1, x);
  Number positives = op.getPosWeight() ? inSteps(op.getPosWeight(), ctx) : one;
  Number probability = apply(UnaryFunction::Sigmoid, x);
  Number slope = probability * (one + (positives - one) * t) - positives * t;
  if (t.isWithin(0, 1) && positives.isWithin(0, kInfinity)) {
    double most = positives.bound().maxAbs();
    Interval between = hull(probability.bound(),
                            (probability.bound() + -1.0) * Interval{0, most});
    slope = slope.cut(
        between.widened(kRoom - 1, 8 * x.format->unitRoundoff() * (1 + most)));
  }
  Number undivided = slope * inSteps(op.getGrad(), ctx);
  giveLoss(op,
           present({op.getInput(), op.getTarget(), op.getWeight(),
                    op.getPosWeight()}),
           ctx, [&](unsigned slot) -> Slope {
             // The loss has -t x, times more with weights of positives.
             if (slot > Target || (slot == Target && op.getPosWeight()))
               return std::nullopt;
             Number all = slot == Target ? -x : slope;
             if (op.getWeight())
               all = inSteps(op.getWeight(), ctx) * all;
             bool overflows = undivided.range.mayBeInf();
             all.range.posInf |= overflows;
             all.range.negInf |= overflows;
             return all;
           });
}

/// (x - t) / v; by v, which clamping lets pass, (1 - (x - t)^2 / v) / (2 v).
static void transferGaussian(mp::GaussianNllLossGradOp op,
                             TransferContext &ctx) {
  Number x = inSteps(op.getInput(), ctx), t = inSteps(op.getTarget(), ctx);
  Number v = max(inSteps(op.getVariance(), ctx), number(op.getEpsilon(), x));
  giveLoss(op, {op.getInput(), op.getTarget(), op.getVariance()}, ctx,
           [&](unsigned slot) -> Slope {
             if (slot == Input)
               return (x - t) / v;
             if (slot == Target)
               return (t - x) / v;
             Number quotient = square(x - t) / v;
             return (number(1, x) - quotient) / (number(2, x) * v);
           });
}

//===----------------------------------------------------------------------===//
// Margins
//===----------------------------------------------------------------------===//

/// Where the margin is positive -t, t, and the difference by the target.
static void transferRanking(mp::MarginRankingLossGradOp op,
                            TransferContext &ctx) {
  Number a = inSteps(op.getFirst(), ctx), b = inSteps(op.getSecond(), ctx);
  Number t = inSteps(op.getTarget(), ctx);
  giveLoss(op, {op.getFirst(), op.getSecond(), op.getTarget()}, ctx,
           [&](unsigned slot) -> Slope {
             return zeroOr(slot == Input ? -t : slot == Target ? t : b - a);
           });
}

void mpopt::attachLossGradientsTransfers(MLIRContext *context) {
  attachTransfer<transferPair<mp::MseLossGradOp>, mp::MseLossGradOp>(context);
  attachTransfer<transferPair<mp::L1LossGradOp>, mp::L1LossGradOp>(context);
  attachTransfer<transferPair<mp::SmoothL1LossGradOp>, mp::SmoothL1LossGradOp>(
      context);
  attachTransfer<transferPair<mp::HuberLossGradOp>, mp::HuberLossGradOp>(
      context);
  attachTransfer<transferPair<mp::KlDivGradOp>, mp::KlDivGradOp>(context);
  attachTransfer<transferPair<mp::PoissonNllLossGradOp>,
                 mp::PoissonNllLossGradOp>(context);
  attachTransfer<transferPair<mp::SoftMarginLossGradOp>,
                 mp::SoftMarginLossGradOp>(context);
  attachTransfer<transferPair<mp::HingeEmbeddingLossGradOp>,
                 mp::HingeEmbeddingLossGradOp>(context);
  attachTransfer<transferBce, mp::BinaryCrossEntropyGradOp>(context);
  attachTransfer<transferBceLogits, mp::BinaryCrossEntropyWithLogitsGradOp>(
      context);
  attachTransfer<transferGaussian, mp::GaussianNllLossGradOp>(context);
  attachTransfer<transferRanking, mp::MarginRankingLossGradOp>(context);
}
