//===- ClassGradients.cpp - Ranges of gradients of losses over classes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dL (p - q) of softmax probabilities p and a target q: with R the width of the
// scores, p is between 1 / (1 + (C - 1) e^R) and 1 / (1 + (C - 1) e^-R).
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/GradientSupport.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::gradients;

/// Number of classes of [N, C, ...] or [C], infinite if it is not known.
static double classesOf(Value input) {
  MaybeShape shape = getShape(input);
  if (!shape || shape->empty())
    return kInfinity;
  int64_t dim = shape->size() > 1 ? (*shape)[1] : shape->front();
  return dim < 0 ? kInfinity : std::max(double(dim), 1.0);
}

/// Probabilities by softmax of scores.
static Number softmaxOf(Value input, TransferContext &ctx) {
  Number x = numberOf(input, ctx);
  double classes = classesOf(input), width = x.bound().width();
  Interval p = {0, 1};
  if (classes == 1)
    p.lo = 1;
  else if (x.range.isFinite() && width < 700)
    p = {1 / (1 + (classes - 1) * std::exp(width)),
         1 / (1 + (classes - 1) * std::exp(-width))};
  // The sum's error, and e^x's of a rounded difference.
  double unit = x.format->unitRoundoff();
  double error =
      unit * (std::min(classes, kUnknownCount) + 4 * x.bound().maxAbs() + 64);
  p = std::isfinite(error) ? p.widened(error) : Interval{0, 2};
  Number result = within({std::max(p.lo, 0.0), std::min(p.hi, 1 + error)}, x);
  result.range.nan = !x.range.isFinite();
  return result;
}

/// The room that kernels of several ops need where the loss's gradient is
/// stored between them.
static Number stored(Number x, Value input) {
  const FloatFormat *own = getFloatFormat(getElementType(input));
  if (own && !x.bound().isEmpty())
    x.range.finite =
        x.bound().widened(4 * own->unitRoundoff(), 2 * own->minSubnormal);
  return x;
}

namespace {
/// The form of a loss's targets.
struct Targets {
  Value input, target, weight;
  StringRef reduction;
  bool mayIgnore = false;
  double smoothing = 0;
};
} // namespace

/// A target's weight times dL: over the sum of all targets' weights in a mean.
/// Nothing if weights may cancel.
static std::optional<Number> weightedShare(const Targets &how, Number grad,
                                           TransferContext &ctx) {
  const FloatFormat &format = *grad.format;
  bool mean = how.reduction == "mean";
  Number share = grad;
  if (!how.weight) {
    if (mean && !how.mayIgnore)
      share = shareOf(grad, "mean", getShape(how.target));
    else if (mean)
      // Over those that count, which may be one of them or none at all.
      share = either(
          grad, grad / Number::constant(
                           std::max(mpopt::expectedCountOf(how.target), 1.0),
                           format));
  } else {
    Number w = numberOf(how.weight, ctx);
    if (!mean) {
      share = grad * w;
    } else {
      if (!w.isWithin(0, kInfinity))
        return std::nullopt;
      // A part of a sum of which it is a term.
      share = grad * within({0, kRoom}, grad);
      share.range.nan |= w.range.mayBeZero();
    }
  }
  if (how.mayIgnore)
    share = zeroOr(share);
  share.range.nan |= how.mayIgnore && mean;
  return share;
}

/// dL (p sum(q) - q) of class numbers: q is 1 - s and s / C, times weights.
static std::optional<Number> byNumbers(const Targets &how, const Number &p,
                                       const Number &grad,
                                       TransferContext &ctx) {
  double classes = classesOf(how.input), s = how.smoothing;
  if (!(s >= 0) || s > 1)
    return std::nullopt;
  double rest = std::isfinite(classes) ? s / classes : 0;
  Interval slope = hull(p.bound() + -rest, p.bound() + (-(1 - s) - s));
  if (std::isfinite(classes))
    slope.lo = p.bound().lo - (1 - s) - rest;
  if (how.weight && s > 0) {
    // Each class's own weight, over the target's in a mean.
    Number w = numberOf(how.weight, ctx);
    double most = w.bound().maxAbs(), least = w.bound().lo;
    if (how.reduction == "mean") {
      if (!(least > 0))
        return std::nullopt;
      most /= least;
    }
    slope = Interval::symmetric((1 - s) + s * std::max(most, 1.0));
    if (how.reduction != "mean")
      slope = Interval::symmetric(2 * most);
  }
  slope = slope.widened(kRoom - 1, 8 * p.format->unitRoundoff());
  Targets plain = how;
  if (how.weight && s > 0 && how.reduction != "mean")
    plain.weight = Value();
  std::optional<Number> share = weightedShare(plain, grad, ctx);
  if (!share)
    return std::nullopt;
  Number factor = within(slope, p);
  factor.range.nan = p.range.nan;
  return *share * factor;
}

/// The same of a distribution.
static Number byDistribution(const Targets &how, const Number &p,
                             const Number &grad, TransferContext &ctx) {
  const FloatFormat &format = *grad.format;
  double classes = classesOf(how.input), s = how.smoothing;
  Number t = numberOf(how.target, ctx);
  Number q = t * Number::constant(1 - s, format) +
             (std::isfinite(classes) ? Number::constant(s / classes, format)
                                     : within({0, s}, grad));
  if (how.weight)
    q = q * numberOf(how.weight, ctx);
  Number total = sumOf(q, classes);
  const AbstractValue &value = ctx.of(how.target);
  if (value.rowSum && !how.weight && t.isWithin(0, kInfinity) && s >= 0 &&
      s <= 1)
    total = total.cut({0, (value.rowSum->hi + s) * kRoom});
  MaybeShape shape = getShape(how.input);
  if (shape && !shape->empty())
    shape->erase(shape->begin() + (shape->size() > 1 ? 1 : 0));
  return shareOf(grad, how.reduction, shape) * (p * total - q);
}

/// Sets the gradient of scores. Without weights a row of p - q, the difference
/// of two distributions, is no longer than sqrt(2).
static void giveScores(const Targets &how, const Number &grad, Number result,
                       TransferContext &ctx) {
  result.range.finite = cells::roundedIn(*result.format, result.bound(), 4);
  result.source = LikelySource::Unknown;
  AbstractValue value = result.value(ctx.op()->getResult(0));
  std::optional<Number> share = weightedShare(how, grad, ctx);
  double classes = classesOf(how.input);
  bool unweighted = !how.weight && !isa<FloatType>(getElementType(how.target));
  if (share && unweighted && std::isfinite(classes)) {
    const FloatFormat *own = getFloatFormat(getElementType(how.input));
    double tiny = (own ? own : result.format)->minSubnormal;
    double norm = std::sqrt(2.0) * share->bound().maxAbs() * kRoom * kRoom *
                      (1 + classes * result.format->unitRoundoff()) +
                  2 * std::sqrt(classes) * tiny;
    if (std::isfinite(norm))
      value.claimNorm(TransferContext::rankOf(how.input) > 1 ? 1 : 0, norm,
                      int64_t(classes));
  }
  ctx.result(0, std::move(value));
}

static void transferCrossEntropy(mp::CrossEntropyGradOp op,
                                 TransferContext &ctx) {
  Targets how{op.getInput(),  op.getTarget(),
              op.getWeight(), op.getReduction(),
              false,          op.getLabelSmoothing().convertToDouble()};
  if (std::optional<int64_t> index = op.getIgnoreIndex())
    how.mayIgnore =
        cells::bound(ctx.of(how.target).hull()).contains(double(*index));
  Number p = softmaxOf(how.input, ctx), grad = numberOf(op.getGrad(), ctx);
  if (op.getWanted().empty() || slotOf(op, op.getWanted().front()) != 1)
    return;
  std::optional<Number> result = isa<FloatType>(getElementType(how.target))
                                     ? byDistribution(how, p, grad, ctx)
                                     : byNumbers(how, p, grad, ctx);
  if (result)
    giveScores(how, grad, stored(*result, how.input), ctx);
}

/// With the log-probabilities of the forward pass; dL is 1 where it is not
/// given.
static void transferSoftmaxCrossEntropy(mp::SoftmaxCrossEntropyGradOp op,
                                        TransferContext &ctx) {
  Number log = numberOf(op.getLogProb(), ctx);
  Number grad = op.getGrad() ? numberOf(op.getGrad(), ctx)
                             : Number::constant(1, *log.format);
  grad.format = log.format;
  Targets how{op.getLogProb(), op.getTarget(), op.getWeight(),
              op.getReduction()};
  how.mayIgnore = bool(op.getIgnore());
  if (std::optional<int64_t> index = op.getIgnoreIndex())
    how.mayIgnore |=
        cells::bound(ctx.of(how.target).hull()).contains(double(*index));
  Number p = apply(UnaryFunction::Exp, log);
  std::optional<Number> result = byNumbers(how, p, grad, ctx);
  if (!result)
    return;
  Number value = stored(*result, op.getLogProb());
  if (op.getBias())
    return give(ctx, 0, value + numberOf(op.getBias(), ctx));
  // A given logarithm need not be one of probabilities.
  if (log.bound().hi > 0)
    return give(ctx, 0, value);
  giveScores(how, grad, value, ctx);
}

/// -dL w at the target, else 0.
static void transferNll(mp::NllLossGradOp op, TransferContext &ctx) {
  Targets how{op.getInput(), op.getTarget(), op.getWeight(), op.getReduction()};
  if (std::optional<int64_t> index = op.getIgnoreIndex())
    how.mayIgnore =
        cells::bound(ctx.of(how.target).hull()).contains(double(*index));
  giveWanted(
      op, ctx,
      [&](unsigned slot) -> std::optional<Number> {
        if (slot != 1)
          return std::nullopt;
        std::optional<Number> share =
            weightedShare(how, numberOf(op.getGrad(), ctx), ctx);
        if (!share)
          return std::nullopt;
        // One class of all has a target.
        Number none = Number::constant(0, *share->format);
        return either(-*share, none, 1 / classesOf(op.getInput()));
      },
      /*keepsEstimate=*/true);
}

//===----------------------------------------------------------------------===//
// Margins
//===----------------------------------------------------------------------===//

/// p w m^(p - 1) / C of each positive margin m; less all of them at the target.
static void transferMultiMargin(mp::MultiMarginLossGradOp op,
                                TransferContext &ctx) {
  double classes = classesOf(op.getInput()), p = op.getP().convertToDouble();
  if (!std::isfinite(classes) || (p != 1 && p != 2))
    return;
  Number x = numberOf(op.getInput(), ctx);
  auto constant = [&](double value) {
    return Number::constant(value, *x.format);
  };
  Number zero = constant(0);
  Number slope = constant(1 / classes);
  if (p == 2)
    slope =
        constant(2 / classes) *
        max(differenceOf(x) + constant(op.getMargin().convertToDouble()), zero);
  if (op.getWeight())
    slope = slope * numberOf(op.getWeight(), ctx);
  slope = zeroOr(slope);
  Number share = shareOf(numberOf(op.getGrad(), ctx), op.getReduction(),
                         getShape(op.getTarget()));
  Number each = tainted(share * slope, op.getInput(), ctx);
  giveWanted(
      op, ctx,
      [&](unsigned slot) -> std::optional<Number> {
        if (slot != 1)
          return std::nullopt;
        double others = std::max(classes - 1, 1.0);
        return either(-mpopt::sumOf(each, others, others), each, 1 / classes);
      },
      /*keepsEstimate=*/true);
}

/// dL / C from each of up to C targets; at a target, which may be listed C
/// times, less one for each of C - 1 others.
static void transferMultilabel(mp::MultilabelMarginLossGradOp op,
                               TransferContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  if (!shape || shape->empty() || shape->back() < 0)
    return;
  double classes = double(shape->back());
  shape->pop_back();
  Number grad = numberOf(op.getGrad(), ctx);
  double room = kRoom + 2 * classes * classes * grad.format->unitRoundoff();
  // In a row with one target every second margin is positive: 1 / 2 at the
  // target, 1 / C at half of the others.
  Number slope = within({-classes * room, room}, grad,
                        Likely::normal(0, 0.25 / classes, 3));
  Number share = shareOf(grad, op.getReduction(), shape);
  giveWanted(
      op, ctx,
      [&](unsigned slot) -> std::optional<Number> {
        if (slot != 1)
          return std::nullopt;
        return tainted(share * slope, op.getInput(), ctx);
      },
      /*keepsEstimate=*/true);
}

//===----------------------------------------------------------------------===//
// Sequences of labels
//===----------------------------------------------------------------------===//

/// e^x less a posterior probability, 0 behind the end. Where no path leads to
/// the labels the loss is Inf and this NaN. The posterior is e^ of a sum of
/// logarithms of up to T steps, whose error is relative to their magnitude.
static void transferCtc(mp::CtcLossGradOp op, TransferContext &ctx) {
  Value input = op.getLogProbs();
  MaybeShape shape = getShape(input);
  if (!shape || shape->size() < 2 || shape->front() < 0)
    return;
  double steps = double(shape->front());
  Number x = numberOf(input, ctx);
  double magnitude = x.bound().maxAbs() + 2;
  double error =
      16 * x.format->unitRoundoff() * (steps + 2) * (steps + 2) * magnitude;
  if (!x.range.isFinite() || !(error < 10))
    return;
  // A path visits one of the classes, blank half of the time.
  double labels = std::max(double(shape->back()), 1.0);
  Number posterior = within({0, std::exp(error) * kRoom}, x,
                            {1 / labels, 0.25 / labels, 0, 1});
  Number slope = zeroOr(apply(UnaryFunction::Exp, x) - posterior);
  MaybeShape batch = Shape();
  if (shape->size() > 2)
    batch->push_back((*shape)[1]);
  Number share = shareOf(numberOf(op.getGrad(), ctx), op.getReduction(), batch);
  // A mean divides by a target's length first, which is at least 1.
  if (op.getReduction() == "mean")
    share = zeroOr(share);
  giveWanted(
      op, ctx,
      [&](unsigned slot) -> std::optional<Number> {
        if (slot != 1)
          return std::nullopt;
        Number result = share * slope;
        result.range.nan = true;
        return result;
      },
      /*keepsEstimate=*/true);
}

void mpopt::attachClassGradientsTransfers(MLIRContext *context) {
  attachTransfer<transferCrossEntropy, mp::CrossEntropyGradOp>(context);
  attachTransfer<transferSoftmaxCrossEntropy, mp::SoftmaxCrossEntropyGradOp>(
      context);
  attachTransfer<transferNll, mp::NllLossGradOp>(context);
  attachTransfer<transferMultiMargin, mp::MultiMarginLossGradOp>(context);
  attachTransfer<transferMultilabel, mp::MultilabelMarginLossGradOp>(context);
  attachTransfer<transferCtc, mp::CtcLossGradOp>(context);
}
