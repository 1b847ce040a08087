//===- Loss.cpp - Ranges of losses of two tensors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas are PyTorch's, step by step. Losses over classes are in
// ClassLoss.cpp.
//
//===----------------------------------------------------------------------===//

#include "Distance.h"
#include "lib/Ranges/Ops/Families.h"

#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Sets the result to the reduction of a loss; `elements` broadcast to the
/// shape of the losses, with `dropsLastAxis` to that and one axis more.
static void reduceLoss(TransferContext &ctx, Number loss, StringRef reduction,
                       ValueRange elements, bool dropsLastAxis = false) {
  double expected = 1, batch = 1;
  // No more elements than the product of all different counts.
  SmallVector<double> counts;
  for (Value value : elements) {
    MaybeShape shape = getShape(value);
    if (shape && dropsLastAxis && !shape->empty())
      shape->pop_back();
    double product = shape ? 1 : kInfinity, known = 1;
    for (int64_t dim : shape.value_or(Shape())) {
      product *= dim < 0 ? kInfinity : std::max<double>(dim, 1);
      known *= std::max<double>(dim, 1);
    }
    if (!llvm::is_contained(counts, product))
      counts.push_back(product);
    expected = std::max(expected, known);
    if (shape && !shape->empty())
      batch = std::max(batch, double(shape->front()));
  }
  double count = 1;
  for (double product : counts)
    count *= product;
  if (reduction == "mean")
    loss = meanOf(loss, count, expected);
  else if (reduction != "none")
    loss = sumOf(loss, count, expected);
  if (reduction == "batchmean")
    loss = loss / Number::constant(batch, *loss.format);
  ctx.result(0, loss.value(ctx.op()->getResult(0)));
}

/// d -> f(d) for a magnitude: f grows.
static Number growing(const Number &x, llvm::function_ref<double(double)> f) {
  Number result = Number::boundedLike(x);
  if (!x.bound().isEmpty()) {
    // The formula may be NaN at Inf, where it is Inf.
    double least = f(x.bound().lo), most = f(x.bound().hi);
    result.range.finite =
        cells::roundedIn(*x.format,
                         Interval{std::isnan(least) ? 0 : least,
                                  std::isnan(most) ? kInfinity : most},
                         4);
  }
  result.range.finite.lo = std::max(result.range.finite.lo, 0.0);
  result.range.posInf |= result.range.finite.hi >= x.format->overflowFrom;
  result.expected = likely::apply(f, x.expected);
  return result;
}

static Number huber(const Number &distance, double edge, double scale) {
  // The square is computed where it is not taken, but does not count there.
  return growing(distance, [=](double d) {
    return scale * (d < edge ? d * d / 2 : edge * (d - edge / 2));
  });
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

static Number lossOf(mp::MseLossOp, const Number &x, const Number &t) {
  return square(x - t);
}
static Number lossOf(mp::L1LossOp, const Number &x, const Number &t) {
  return apply(UnaryFunction::Abs, x - t);
}
static Number lossOf(mp::SmoothL1LossOp op, const Number &x, const Number &t) {
  Number distance = apply(UnaryFunction::Abs, x - t);
  double beta = op.getBeta().convertToDouble();
  return beta > 0 ? huber(distance, beta, 1 / beta) : distance;
}
static Number lossOf(mp::HuberLossOp op, const Number &x, const Number &t) {
  return huber(apply(UnaryFunction::Abs, x - t),
               op.getDelta().convertToDouble(), 1);
}

/// t log t, 0 for 0.
static Number xlogx(const Number &t) {
  Number result = t * apply(UnaryFunction::Log, t);
  // t log t has the minimum -1/e; log 0 is multiplied by 0.
  Interval bound = {-0.36788, kInfinity};
  double hi = t.bound().hi;
  bound.hi = std::max(0.0, hi > 1 ? hi * std::log(hi) * (1 + 1e-3) : 0.0);
  result.range.nan = t.range.nan || t.range.mayBeNegative();
  result.range.negInf = false;
  result.range.posInf = t.range.posInf;
  result = result.cut(bound);
  result.expected = likely::apply(
      [](double v) { return v > 0 ? v * std::log(v) : 0; }, t.expected);
  return result;
}

static Number lossOf(mp::KlDivOp op, const Number &x, const Number &t) {
  if (op.getLogTarget())
    return apply(UnaryFunction::Exp, t) * (t - x);
  return xlogx(t) - t * x;
}

static Number lossOf(mp::PoissonNllLossOp op, const Number &x,
                     const Number &t) {
  const FloatFormat &format = *x.format;
  Number loss =
      op.getLogInput()
          ? apply(UnaryFunction::Exp, x) - t * x
          : x - t * apply(UnaryFunction::Log,
                          x + Number::constant(
                                  op.getEpsilon().convertToDouble(), format));
  if (!op.getFull())
    return loss;
  // t log t - t + log(2 pi t) / 2 where t > 1, else 0.
  auto stirling = [](double v) {
    return v > 1 ? v * std::log(v) - v + std::log(2 * M_PI * v) / 2 : 0;
  };
  Number above = t.cut({1, std::max(1.0, t.bound().hi)});
  Number term = growing(above, stirling);
  term.range.finite.lo = 0;
  return loss + term;
}

static Number lossOf(mp::SoftMarginLossOp, const Number &x, const Number &t) {
  return apply(UnaryFunction::Log1p, apply(UnaryFunction::Exp, -(t * x)));
}

static Number lossOf(mp::HingeEmbeddingLossOp op, const Number &x,
                     const Number &) {
  Number margin = Number::constant(op.getMargin().convertToDouble(), *x.format);
  Number zero = Number::constant(0, *x.format);
  // Where t is neither, 0.
  return either(x, either(max(margin - x, zero), zero, 0.99));
}

template <typename OpTy>
static void transferPair(OpTy op, TransferContext &ctx) {
  Number x = numberOf(op.getInput(), ctx), t = numberOf(op.getTarget(), ctx);
  const FloatFormat *format = x.format;
  // Its steps are tensors of the input's dtype, in FP16 without the epsilon.
  if constexpr (std::is_same_v<OpTy, mp::PoissonNllLossOp>)
    if (const FloatFormat *own = getFloatFormat(getElementType(op.getInput()));
        own && own->digits < format->digits)
      x.format = t.format = own;
  Number loss = lossOf(op, x, t);
  loss.format = format;
  reduceLoss(ctx, std::move(loss), op.getReduction(),
             {op.getInput(), op.getTarget()});
}

//===----------------------------------------------------------------------===//
// With weights
//===----------------------------------------------------------------------===//

/// `loss` times optional weights.
static Number weighted(Number loss, Value weight, TransferContext &ctx) {
  return weight ? numberOf(weight, ctx) * loss : loss;
}

/// Between what targets 0 and 1 give, in proportion, where t is in [0, 1].
static Number betweenTargets(const Number &t, const Number &atOne,
                             const Number &atZero) {
  if (t.isWithin(0, 1)) {
    Number loss = either(atOne, atZero, std::clamp(t.expected.mean, 0.0, 1.0));
    loss.range.finite = cells::roundedIn(*t.format, loss.range.finite, 4);
    return loss;
  }
  return t * atOne + (Number::constant(1, *t.format) - t) * atZero;
}

static void transferBce(mp::BinaryCrossEntropyOp op, TransferContext &ctx) {
  // A probability: PyTorch refuses anything else.
  Number x = numberOf(op.getInput(), ctx).cut({0, 1});
  x.range.nan |= x.range.mayBeInf();
  x.range.posInf = x.range.negInf = false;
  auto logarithm = [&](UnaryFunction function, const Number &of) {
    Number log = apply(function, of);
    log.range.nan = of.range.nan;
    return -log.clamped(-100, 0);
  };
  Number t = numberOf(op.getTarget(), ctx);
  Number loss = betweenTargets(t, logarithm(UnaryFunction::Log, x),
                               logarithm(UnaryFunction::Log1p, -x));
  SmallVector<Value> operands = {op.getInput(), op.getTarget()};
  if (op.getWeight())
    operands.push_back(op.getWeight());
  reduceLoss(ctx, weighted(loss, op.getWeight(), ctx), op.getReduction(),
             operands);
}

static void transferBceLogits(mp::BinaryCrossEntropyWithLogitsOp op,
                              TransferContext &ctx) {
  Number x = numberOf(op.getInput(), ctx), t = numberOf(op.getTarget(), ctx);
  Number positive = apply(UnaryFunction::Softplus, -x);
  if (op.getPosWeight())
    positive = numberOf(op.getPosWeight(), ctx) * positive;
  Number loss = betweenTargets(t, positive, apply(UnaryFunction::Softplus, x));
  SmallVector<Value> operands = {op.getInput(), op.getTarget()};
  for (Value weight : {op.getWeight(), op.getPosWeight()})
    if (weight)
      operands.push_back(weight);
  reduceLoss(ctx, weighted(loss, op.getWeight(), ctx), op.getReduction(),
             operands);
}

static void transferGaussianNll(mp::GaussianNllLossOp op,
                                TransferContext &ctx) {
  Number x = numberOf(op.getInput(), ctx), t = numberOf(op.getTarget(), ctx);
  const FloatFormat &format = *x.format;
  Number variance =
      max(numberOf(op.getVariance(), ctx),
          Number::constant(op.getEpsilon().convertToDouble(), format));
  Number loss =
      Number::constant(0.5, format) *
      (apply(UnaryFunction::Log, variance) + square(x - t) / variance);
  if (op.getFull())
    loss = loss + Number::constant(std::log(2 * M_PI) / 2, format);
  reduceLoss(ctx, loss, op.getReduction(),
             {op.getInput(), op.getTarget(), op.getVariance()});
}

//===----------------------------------------------------------------------===//
// Margins
//===----------------------------------------------------------------------===//

static void transferMarginRanking(mp::MarginRankingLossOp op,
                                  TransferContext &ctx) {
  Number a = numberOf(op.getFirst(), ctx), b = numberOf(op.getSecond(), ctx);
  Number t = numberOf(op.getTarget(), ctx);
  Number margin = Number::constant(op.getMargin().convertToDouble(), *a.format);
  Number loss = max(-t * (a - b) + margin, Number::constant(0, *a.format));
  reduceLoss(ctx, loss, op.getReduction(),
             {op.getFirst(), op.getSecond(), op.getTarget()});
}

static void transferCosineEmbedding(mp::CosineEmbeddingLossOp op,
                                    TransferContext &ctx) {
  Number cosine = cosineOf(op.getFirst(), op.getSecond(), -1, 1e-12, ctx);
  const FloatFormat &format = *cosine.format;
  Number zero = Number::constant(0, format);
  Number apart =
      max(cosine - Number::constant(op.getMargin().convertToDouble(), format),
          zero);
  Number loss = either(Number::constant(1, format) - cosine, apart);
  reduceLoss(ctx, loss, op.getReduction(), {op.getFirst(), op.getSecond()},
             /*dropsLastAxis=*/true);
}

static void transferTriplet(mp::TripletMarginLossOp op, TransferContext &ctx) {
  double p = op.getP().convertToDouble();
  double epsilon = op.getEpsilon().convertToDouble();
  Number near = distanceOf(op.getAnchor(), op.getPositive(), p, epsilon, ctx);
  Number far = distanceOf(op.getAnchor(), op.getNegative(), p, epsilon, ctx);
  if (op.getSwap()) {
    // The smaller one of two distances.
    Number other =
        distanceOf(op.getPositive(), op.getNegative(), p, epsilon, ctx);
    far = either(far, other);
  }
  const FloatFormat &format = *near.format;
  Number loss = max(
      near - far + Number::constant(op.getMargin().convertToDouble(), format),
      Number::constant(0, format));
  reduceLoss(ctx, loss, op.getReduction(),
             {op.getAnchor(), op.getPositive(), op.getNegative()},
             /*dropsLastAxis=*/true);
}

void mpopt::attachLossTransfers(MLIRContext *context) {
  attachTransfer<transferPair<mp::MseLossOp>, mp::MseLossOp>(context);
  attachTransfer<transferPair<mp::L1LossOp>, mp::L1LossOp>(context);
  attachTransfer<transferPair<mp::SmoothL1LossOp>, mp::SmoothL1LossOp>(context);
  attachTransfer<transferPair<mp::HuberLossOp>, mp::HuberLossOp>(context);
  attachTransfer<transferPair<mp::KlDivOp>, mp::KlDivOp>(context);
  attachTransfer<transferPair<mp::PoissonNllLossOp>, mp::PoissonNllLossOp>(
      context);
  attachTransfer<transferPair<mp::SoftMarginLossOp>, mp::SoftMarginLossOp>(
      context);
  attachTransfer<transferPair<mp::HingeEmbeddingLossOp>,
                 mp::HingeEmbeddingLossOp>(context);
  attachTransfer<transferBce, mp::BinaryCrossEntropyOp>(context);
  attachTransfer<transferBceLogits, mp::BinaryCrossEntropyWithLogitsOp>(
      context);
  attachTransfer<transferGaussianNll, mp::GaussianNllLossOp>(context);
  attachTransfer<transferMarginRanking, mp::MarginRankingLossOp>(context);
  attachTransfer<transferCosineEmbedding, mp::CosineEmbeddingLossOp>(context);
  attachTransfer<transferTriplet, mp::TripletMarginLossOp>(context);
}
