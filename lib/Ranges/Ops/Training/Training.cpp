//===- Training.cpp - Ranges of written-out gradients
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simple bounds of whole tensors. Optimisers are in Optimizer.cpp.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/GradientSupport.h"

#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

static void give(TransferContext &ctx, unsigned index, const Number &number) {
  ctx.result(index, number.value(ctx.op()->getResult(index)));
}

//===----------------------------------------------------------------------===//
// Elementwise functions
//===----------------------------------------------------------------------===//

static Number zeroOr(const Number &x, double probability = 0.5) {
  return either(Number::constant(0, *x.format), x, probability);
}

static void transferReluGrad(mp::ReluGradOp op, TransferContext &ctx) {
  const AbstractValue &grad = ctx.of(op.getGrad());
  AbstractValue value =
      cells::blend(grad, AbstractValue::within(0, 0), /*share=*/0.5);
  // A product with the mask is NaN for an infinite dY.
  value.nan |= grad.mayBeInf();
  value.source = grad.source;
  value.keepsNorm(grad);
  ctx.result(0, std::move(value));
}

static void transferLeakyReluGrad(mp::LeakyReluGradOp op,
                                  TransferContext &ctx) {
  double alpha = op.getAlpha().convertToDouble();
  double held = ctx.functionFormat(op.getGrad()).round(alpha);
  gradients::giveSlope(ctx, op.getGrad(),
                       hull(hull(Interval::point(1), alpha), held));
}

/// dY f'(x), the derivative being in `slope`.
static Number scaledBy(const Number &grad, Interval slope) {
  return grad * Number::within(slope, *grad.format);
}

static void transferSigmoidGrad(mp::SigmoidGradOp op, TransferContext &ctx) {
  Number grad = numberOf(op.getGrad(), ctx);
  Number y = numberOf(op.getOutput(), ctx);
  if (y.isWithin(0, 1))
    return gradients::giveSlope(ctx, op.getGrad(), {0, 0.25 * (1 + 1e-2)});
  give(ctx, 0, grad * y * (Number::constant(1, *y.format) - y));
}

static void transferTanhGrad(mp::TanhGradOp op, TransferContext &ctx) {
  Number grad = numberOf(op.getGrad(), ctx);
  Number y = numberOf(op.getOutput(), ctx);
  if (y.isWithin(-1, 1))
    return gradients::giveSlope(ctx, op.getGrad(), {0, 1});
  give(ctx, 0, grad * (Number::constant(1, *y.format) - square(y)));
}

/// GELU's derivative is in [-0.1290, 1.1290], x sigmoid(x)'s in [-0.0999,
/// 1.0999] whatever alpha is; the rest is for rounding. x may be infinite (0
/// times Inf).
static void giveByGate(Value gradient, const Number &x, Interval slope,
                       TransferContext &ctx) {
  Number grad = scaledBy(numberOf(gradient, ctx), slope);
  // The kernel squares x, or raises it to the third power, and cancels:
  // rounding errors grow with it.
  grad.range.nan |=
      !x.range.isFinite() || x.bound().maxAbs() * x.bound().maxAbs() *
                                     std::max(1.0, x.bound().maxAbs()) >=
                                 x.format->overflowFrom;
  gradients::giveSlope(ctx, ctx.of(gradient), slope, grad);
}

static void transferGeluGrad(mp::GeluGradOp op, TransferContext &ctx) {
  Number x = numberOf(op.getInput(), ctx);
  if (op.getBias())
    x = x + numberOf(op.getBias(), ctx);
  giveByGate(op.getGrad(), x, {-0.15, 1.15}, ctx);
}

static void transferQuickGeluGrad(mp::QuickGeluGradOp op,
                                  TransferContext &ctx) {
  giveByGate(op.getGrad(), numberOf(op.getInput(), ctx), {-0.12, 1.12}, ctx);
}

/// Elements along `axis`, or from there on.
static std::pair<double, double> rowOf(Value value, int64_t axis,
                                       bool coerced) {
  MaybeShape shape = getShape(value);
  std::optional<int64_t> at =
      shape ? normalizeAxis(axis, shape->size()) : std::nullopt;
  if (!at)
    return {kInfinity, 1};
  double count = 1, expected = 1;
  for (size_t i = *at; i < (coerced ? shape->size() : *at + 1); ++i) {
    count *= (*shape)[i] < 0 ? kInfinity : std::max<double>((*shape)[i], 1);
    expected *= std::max<double>((*shape)[i], 1);
  }
  return {count, expected};
}

static void transferSoftmaxGrad(mp::SoftmaxGradOp op, TransferContext &ctx) {
  Number grad = numberOf(op.getGrad(), ctx);
  Number y = numberOf(op.getOutput(), ctx);
  auto [count, expected] = rowOf(op.getGrad(), op.getAxis(), op.getCoerced());
  Number dot = sumOf(y * grad, count, expected);
  double most = grad.bound().maxAbs();
  if (!y.isWithin(0, 1 + 1e-2) || !std::isfinite(most))
    return give(ctx, 0, y * (grad - dot));
  // With probabilities it is a mean of dY. A row's sum is 1 up to the rounding
  // of its elements.
  double error = dotError({grad.format}, count, 2 * most);
  double off = std::ldexp(16.0, -8) + std::min(count, kUnknownCount) * 0x1p-24;
  dot = dot.cut(Interval::symmetric(most * (1 + off) + error));
  Number result = y * (grad - dot);
  // y (1 - y) times the width of dY; those of a row add up to half of that, the
  // mean distance from the mean. The matrix diag(y) - y y^T has a norm of 1/2.
  double width = std::min(grad.bound().width(), 2 * most);
  double lost = 2 * most * off + 2 * error + grad.format->minNormal;
  result = result.cut(Interval::symmetric(width / 4 * gradients::kRoom + lost));
  AbstractValue value = result.value(op.getResult());
  int64_t rank = TransferContext::rankOf(op.getGrad());
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), rank);
  if (axis && std::isfinite(count) && (!op.getCoerced() || *axis + 1 == rank)) {
    double norm = gradients::rowNormOf(ctx.of(op.getGrad()), *axis, count) / 2;
    norm = std::min(norm, width / 2) * gradients::kRoom + lost * (1 + off) +
           std::sqrt(count) * (lost - 2 * most * off);
    if (std::isfinite(norm))
      value.claimNorm(*axis, norm, int64_t(count));
  }
  ctx.result(0, std::move(value));
}

static void transferLogSoftmaxGrad(mp::LogSoftmaxGradOp op,
                                   TransferContext &ctx) {
  Number grad = numberOf(op.getGrad(), ctx);
  Number y = numberOf(op.getOutput(), ctx);
  auto [count, expected] = rowOf(op.getGrad(), op.getAxis(), op.getCoerced());
  give(ctx, 0,
       grad - apply(UnaryFunction::Exp, y) * sumOf(grad, count, expected));
}

static void transferDropoutGrad(mp::DropoutGradOp op, TransferContext &ctx) {
  Number grad = numberOf(op.getGrad(), ctx);
  const FloatFormat &format = *grad.format;
  Number ratio = op.getRatio() ? numberOf(op.getRatio(), ctx).cut({0, 1})
                               : Number::constant(0.5, format);
  ratio.format = &format;
  Number scaled = grad / (Number::constant(1, format) - ratio);
  give(ctx, 0, either(zeroOr(scaled), grad, 0.9));
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Elements of a filter that are read one by one.
static constexpr int64_t kMostWeights = 1 << 22;

/// The largest sum of magnitudes of a constant filter [M, C / group, ...] that
/// one channel of the input meets; infinite for other filters.
static double largestColumn(Value filter, int64_t groups,
                            TransferContext &ctx) {
  std::optional<WeightView> view = ctx.weights(filter);
  if (!view || view->size() == 0 || view->size() > kMostWeights ||
      view->shape.size() < 2 || groups <= 0 || view->shape[0] % groups != 0)
    return kInfinity;
  std::vector<double> elements(view->size());
  view->read(0, elements);
  size_t channels = view->shape[1], each = view->shape[0] / groups;
  size_t taps = elements.size() / (view->shape[0] * channels);
  std::vector<double> sums(groups * channels, 0);
  for (size_t i = 0; i < elements.size(); ++i) {
    size_t row = i / taps;
    sums[row / channels / each * channels + row % channels] +=
        std::fabs(elements[i]);
  }
  double most = *llvm::max_element(sums);
  return std::isnan(most) ? kInfinity : most * (1 + 1e-9);
}

static void transferConvGrad(mp::ConvGradOp op, TransferContext &ctx) {
  const FloatFormat &format = ctx.productFormat(op.getGrad());
  auto in = [&](Value value) { return Number::of(ctx.of(value), format); };
  Number grad = in(op.getGrad()), x = in(op.getInput()),
         filter = in(op.getFilter());
  // Each pixel meets at most every tap of every filter.
  double taps = countOf(op.getFilter());
  if (std::optional<int64_t> inner = ctx.dimOf(op.getFilter(), 1))
    taps /= std::max(double(*inner), 1.0);
  double pixels = countOf(op.getGrad());
  if (std::optional<int64_t> channels = ctx.dimOf(op.getGrad(), 1))
    pixels /= std::max(double(*channels), 1.0);
  auto finite = [](double count) { return std::isfinite(count) ? count : 1; };
  // Padding counts as zeros.
  Number input = sumOf(grad * filter, taps, finite(taps));
  double most =
      largestColumn(op.getFilter(), op.getGroup(), ctx) * grad.bound().maxAbs();
  if (std::isfinite(most))
    input =
        input.cut(Interval::symmetric(most + dotError({&format}, taps, most)));
  give(ctx, 0, zeroOr(input, 0.01));
  give(ctx, 1, zeroOr(sumOf(grad * x, pixels, finite(pixels)), 0.01));
  give(ctx, 2, sumOf(grad, pixels, finite(pixels)));
}

static void transferGatherGrad(mp::GatherGradOp op, TransferContext &ctx) {
  const FloatFormat &format = ctx.sumFormat(op.getGrad());
  Number grad = Number::of(ctx.of(op.getGrad()), format);
  // As often as there are indices.
  give(ctx, 0, zeroOr(sumOf(grad, countOf(op.getIndices()), 1)));
}

static void transferSliceGrad(mp::SliceGradOp op, TransferContext &ctx) {
  give(ctx, 0, zeroOr(numberOf(op.getGrad(), ctx)));
}

static void transferBroadcastArgs(mp::BroadcastGradientArgsOp op,
                                  TransferContext &ctx) {
  for (OpResult result : op->getResults())
    ctx.result(result.getResultNumber(), cells::integers(0, 31, result));
}

void mpopt::attachTrainingTransfers(MLIRContext *context) {
  attachTransfer<transferReluGrad, mp::ReluGradOp>(context);
  attachTransfer<transferLeakyReluGrad, mp::LeakyReluGradOp>(context);
  attachTransfer<transferSigmoidGrad, mp::SigmoidGradOp>(context);
  attachTransfer<transferTanhGrad, mp::TanhGradOp>(context);
  attachTransfer<transferGeluGrad, mp::GeluGradOp>(context);
  attachTransfer<transferQuickGeluGrad, mp::QuickGeluGradOp>(context);
  attachTransfer<transferSoftmaxGrad, mp::SoftmaxGradOp>(context);
  attachTransfer<transferLogSoftmaxGrad, mp::LogSoftmaxGradOp>(context);
  attachTransfer<transferDropoutGrad, mp::DropoutGradOp>(context);
  attachTransfer<transferConvGrad, mp::ConvGradOp>(context);
  attachTransfer<transferGatherGrad, mp::GatherGradOp>(context);
  attachTransfer<transferSliceGrad, mp::SliceGradOp>(context);
  attachTransfer<transferBroadcastArgs, mp::BroadcastGradientArgsOp>(context);
}
