//===- ClassLoss.cpp - Ranges of losses over classes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// -log softmax(x)[t] is between 0 and max(x) - min(x) + log C: its kernels
// subtract the largest score first.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/Number.h"

#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Number of classes of [N, C, ...] or [C], infinite if it is not known.
static double classesOf(Value input) {
  MaybeShape shape = getShape(input);
  if (!shape || shape->empty())
    return kInfinity;
  int64_t dim = shape->size() > 1 ? (*shape)[1] : shape->front();
  return dim < 0 ? kInfinity : std::max(double(dim), 1.0);
}

/// log softmax.
static Number logProbability(Value input, TransferContext &ctx) {
  const FloatFormat &format = ctx.sumFormat(input);
  Number x = Number::of(ctx.of(input), format);
  double classes = classesOf(input);
  Number result = Number::boundedLike(x);
  double spread = x.bound().isEmpty() ? 0 : x.bound().width();
  double most = spread + std::log(std::min(classes, 0x1p63));
  double error = 8 * (most + x.bound().maxAbs() + 1) * format.unitRoundoff() +
                 4 * dotError({&format}, classes, 1);
  result.range.finite = {-most - error, classes == 1 ? error : 0};
  // A row may be -Inf everywhere.
  result.range.nan = x.range.nan || x.range.mayBeInf();
  result.range.posInf = false;
  result.range.negInf = x.range.mayBeInf() ||
                        std::min(classes, kUnknownCount) >= format.overflowFrom;
  double count = std::isfinite(classes) ? classes : 1000;
  const Likely &e = x.expected;
  double deviation = std::sqrt(e.variance);
  double limit = expectedExtreme(count);
  double total =
      deviation > limit ? deviation * limit : std::log(count) + e.variance / 2;
  double center = e.mean + total;
  result.expected =
      Likely{-total, e.variance, e.lo - center, std::min(0.0, e.hi - center)}
          .within(result.range.finite);
  return result;
}

/// True if a target may be the ignored one. A mean over the others is 0 / 0 if
/// all targets are.
static bool mayIgnore(Value target, std::optional<int64_t> index,
                      TransferContext &ctx) {
  if (!index)
    return false;
  return cells::bound(ctx.of(target).hull()).contains(double(*index));
}

/// The loss of each target, and its reduction. `each` is -log p.
static void classLoss(Operation *op, Number each, Value input, Value target,
                      Value weight, StringRef reduction, bool mayIgnoreAll,
                      TransferContext &ctx, double smoothing = 0) {
  const FloatFormat &format = *each.format;
  bool distribution = isa<FloatType>(getElementType(target));
  Number loss = each;
  if (distribution) {
    double classes = classesOf(input);
    Number t = Number::of(ctx.of(target), format);
    const AbstractValue &value = ctx.of(target);
    loss = sumOf(t * each, classes, 1);
    if (value.rowSum && t.isWithin(0, kInfinity))
      loss = loss.cut(Interval{0, std::max(0.0, each.bound().hi)} *
                      Interval::point(value.rowSum->hi * (1 + 1e-3)));
  }
  Number w = Number::constant(1, format);
  if (weight) {
    w = Number::of(ctx.of(weight), format);
    loss = w * loss;
  }
  Number zero = Number::constant(0, format);
  bool mean = reduction == "mean";
  if (mayIgnoreAll && !mean)
    loss = either(loss, zero, 0.95);
  double count = countOf(distribution ? input : target);
  double expected = expectedCountOf(target);
  if (mean) {
    Number sum = meanOf(loss, count, expected);
    // A smoothed part has the weights of all classes, and is divided by those
    // of the targets.
    bool cancels =
        !w.isWithin(0, kInfinity) || (smoothing > 0 && w.range.mayBeZero());
    if (weight && cancels) {
      // Weights that may cancel: nothing is known of the quotient.
      sum.range = FloatRange::top();
    } else if (weight) {
      // A convex combination of the losses without weights.
      Number plain = meanOf(each, count, expected);
      bool inf = sum.range.posInf;
      sum.range = plain.range;
      if (smoothing > 0) {
        Interval share =
            Interval::point(1 - smoothing) + w.bound() / w.bound() * smoothing;
        sum.range.finite = sum.range.finite * share;
      }
      sum.range.finite = cells::roundedIn(format, sum.range.finite, 8);
      sum.range.posInf |= inf;
      sum.range.nan |= inf || w.range.mayBeZero() || w.range.mayBeInf();
      sum.expected = plain.expected;
    }
    sum.range.nan |= mayIgnoreAll;
    if (mayIgnoreAll)
      sum.range.finite = hull(sum.range.finite, 0.0);
    loss = sum;
  } else if (reduction != "none") {
    loss = sumOf(loss, count, expected);
  }
  ctx.result(0, loss.value(op->getResult(0)));
}

static void transferSoftmaxCrossEntropy(mp::SoftmaxCrossEntropyOp op,
                                        TransferContext &ctx) {
  Number log = logProbability(op.getInput(), ctx);
  std::optional<int64_t> index = op.getIgnoreIndex();
  bool ignores = op.getIgnore() || mayIgnore(op.getTarget(), index, ctx);
  classLoss(op, -log, op.getInput(), op.getTarget(), op.getWeight(),
            op.getReduction(), ignores, ctx);
  ctx.result(1, log.value(op.getLogProb()));
}

static void transferCrossEntropy(mp::CrossEntropyOp op, TransferContext &ctx) {
  Number loss = -logProbability(op.getInput(), ctx);
  // A smoothed target's loss is a convex combination of its classes' losses.
  double smoothing = op.getLabelSmoothing().convertToDouble();
  if (smoothing > 0)
    loss.range.finite =
        cells::roundedIn(*loss.format, hull(loss.range.finite, 0.0),
                         8 + std::min(classesOf(op.getInput()), kUnknownCount));
  classLoss(op, loss, op.getInput(), op.getTarget(), op.getWeight(),
            op.getReduction(),
            mayIgnore(op.getTarget(), op.getIgnoreIndex(), ctx), ctx,
            smoothing);
}

static void transferNllLoss(mp::NllLossOp op, TransferContext &ctx) {
  Number x = Number::of(ctx.operand(0), ctx.sumFormat(op.getInput()));
  classLoss(op, -x, op.getInput(), op.getTarget(), op.getWeight(),
            op.getReduction(),
            mayIgnore(op.getTarget(), op.getIgnoreIndex(), ctx), ctx);
}

//===----------------------------------------------------------------------===//
// Margins
//===----------------------------------------------------------------------===//

/// [0, hi] with the likely tier of `x`.
static Number upTo(double hi, const Number &x) {
  Number number = Number::boundedLike(x);
  number.range.finite = {0, hi};
  number.range.negInf = false;
  number.range.nan |= x.range.negInf;
  number.range.posInf |= hi >= x.format->overflowFrom;
  number.expected = x.expected.within(number.range.finite);
  return number;
}

static void transferMultiMargin(mp::MultiMarginLossOp op,
                                TransferContext &ctx) {
  const FloatFormat &format = ctx.sumFormat(op.getInput());
  // Scores of two classes.
  Number x = Number::of(ctx.operand(0), format), y = x;
  Number zero = Number::constant(0, format);
  Number term = max(
      x - y + Number::constant(op.getMargin().convertToDouble(), format), zero);
  if (op.getWeight())
    term = max(Number::of(ctx.of(op.getWeight()), format) * term, zero);
  if (op.getP().convertToDouble() == 2)
    term = square(term);
  // A mean over the classes of numbers that are not negative.
  double classes = classesOf(op.getInput());
  Number loss = meanOf(term, classes, std::isfinite(classes) ? classes : 1);
  loss = upTo(loss.bound().hi, loss);
  double count = countOf(op.getTarget());
  double expected = expectedCountOf(op.getTarget());
  if (op.getReduction() == "mean")
    loss = meanOf(loss, count, expected);
  else if (op.getReduction() != "none")
    loss = sumOf(loss, count, expected);
  ctx.result(0, loss.value(op.getLoss()));
}

static void transferMultilabelMargin(mp::MultilabelMarginLossOp op,
                                     TransferContext &ctx) {
  const FloatFormat &format = ctx.sumFormat(op.getInput());
  Number x = Number::of(ctx.operand(0), format);
  Number term =
      max(Number::constant(1, format) - x + x, Number::constant(0, format));
  // C targets, which may be one class every time, with C - 1 others each,
  // divided by C.
  MaybeShape shape = getShape(op.getInput());
  double classes = shape && !shape->empty() && shape->back() >= 0
                       ? std::max(double(shape->back()), 1.0)
                       : kInfinity;
  Number loss = sumOf(term, std::max(classes * (classes - 1), 1.0),
                      std::isfinite(classes) ? classes : 1);
  if (std::isfinite(classes))
    loss = loss / Number::constant(classes, format);
  loss = upTo(loss.bound().hi, loss);
  double count = countOf(op.getInput());
  double expected = expectedCountOf(op.getInput());
  if (std::isfinite(classes)) {
    count /= classes;
    expected /= classes;
  }
  if (op.getReduction() == "mean")
    loss = meanOf(loss, count, expected);
  else if (op.getReduction() != "none")
    loss = sumOf(loss, count, expected);
  ctx.result(0, loss.value(op.getLoss()));
}

/// -log of a sum over alignments of products of T probabilities: each alignment
/// has at least the least probability to the power of T, and there are no more
/// than C^T. Without any the loss is Inf.
static void transferCtc(mp::CtcLossOp op, TransferContext &ctx) {
  const FloatFormat &format = ctx.functionFormat(op.getLogProbs());
  Number x = Number::of(ctx.operand(0), format);
  MaybeShape shape = getShape(op.getLogProbs());
  double steps = kInfinity, classes = kInfinity, batch = kInfinity;
  if (shape && shape->size() >= 2) {
    if (shape->front() >= 0)
      steps = double(shape->front());
    if (shape->back() >= 0)
      classes = std::max(double(shape->back()), 1.0);
    batch = shape->size() == 2 ? 1
            : (*shape)[1] >= 0 ? double((*shape)[1])
                               : kInfinity;
  }
  Interval all = x.bound().isEmpty() ? Interval::point(0) : x.bound();
  Interval each = {-all.hi - std::log(std::min(classes, 0x1p63)), -all.lo};
  Number loss = Number::boundedLike(x);
  loss.range.finite = Interval{0, steps} * each;
  if (!loss.range.finite.isBounded())
    loss.range.finite = Interval::whole();
  double error =
      8 * steps * (loss.bound().maxAbs() + 1) * format.unitRoundoff();
  loss.range.finite =
      loss.range.finite +
      Interval::symmetric(std::isnan(error) ? kInfinity : error);
  loss.range.posInf = !op.getZeroInfinity() || x.range.negInf;
  loss.range.negInf = x.range.posInf;
  double length = std::isfinite(steps) ? steps : 1;
  double size = std::isfinite(classes) ? std::log(classes) : 1;
  double mean = std::max(0.0, -x.expected.mean * length - size);
  loss.expected = Likely::normal(mean, length * x.expected.variance, 3)
                      .within(loss.range.finite);
  if (op.getZeroInfinity())
    loss.range.finite = hull(loss.range.finite, 0.0);
  double expected = std::isfinite(batch) ? std::max(batch, 1.0) : 1;
  // The mean divides each loss by the length of its target, 1 at least.
  if (op.getReduction() == "mean") {
    loss.range.finite = hull(loss.range.finite, 0.0);
    loss = meanOf(loss, batch, expected);
  } else if (op.getReduction() != "none") {
    loss = sumOf(loss, batch, expected);
  }
  ctx.result(0, loss.value(op.getLoss()));
}

void mpopt::attachClassLossTransfers(MLIRContext *context) {
  attachTransfer<transferSoftmaxCrossEntropy, mp::SoftmaxCrossEntropyOp>(
      context);
  attachTransfer<transferCrossEntropy, mp::CrossEntropyOp>(context);
  attachTransfer<transferNllLoss, mp::NllLossOp>(context);
  attachTransfer<transferMultiMargin, mp::MultiMarginLossOp>(context);
  attachTransfer<transferMultilabelMargin, mp::MultilabelMarginLossOp>(context);
  attachTransfer<transferCtc, mp::CtcLossOp>(context);
}
