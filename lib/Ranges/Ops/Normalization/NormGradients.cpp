//===- NormGradients.cpp - Ranges of gradients of normalisations
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dX = r (h - mean(h) - n mean(h n)) with h = scale dY, over rows of N
// elements: rows of n have a root mean square of 1, so that |n_i| <= sqrt(N)
// and |mean(h n)| <= max|h| (Cauchy-Schwarz). Of k elements of a row, which
// share a scale, the sum of |n| is at most sqrt(k N). r is at most 1 /
// sqrt(epsilon).
//
// Where mean and r are operands that the forward pass rounded, or computed on
// their own, n is off by the same in a row: `offset`.
//
//===----------------------------------------------------------------------===//

#include "Standardize.h"
#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/GradientSupport.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::gradients;

namespace {
/// Bounds on the rows of a norm's gradient.
struct NormRows {
  Number grad, gain, inverse;
  /// Elements of a row, and of those that share a scale; of all rows that share
  /// one.
  double count = kInfinity, sharing = 1, terms = kInfinity;
  double offset = 0;
  /// The norm of a row of dY; the map from h to dX / r has a norm of 1, and
  /// slightly more where n is off.
  double norm = kInfinity;
  bool centred = true, nan = false;

  double room() const {
    return kRoom + 4 * relativeSumError(*grad.format, count, 8);
  }
  Number tainted(Number x) const {
    // Inf times x - mean, which may be 0.
    bool unbounded = !inverse.range.isFinite();
    x.range.nan |= nan || unbounded;
    x.range.posInf |= unbounded;
    x.range.negInf |= unbounded;
    return x;
  }
  double inputNorm() const {
    double map = (1 + 2 * offset + offset * offset) * room() * room();
    double most = norm * gain.bound().maxAbs() * map * inverse.bound().maxAbs();
    return std::isnan(most) ? kInfinity : most + grad.format->minNormal;
  }
  Number inputGradient() const {
    double normalised = std::sqrt(count) * room() + offset;
    double spread = (centred ? 2 : 1) * room() + normalised * (1 + offset);
    Number result =
        tainted(grad * gain * within({-spread, spread}, grad) * inverse);
    // An element is no larger than its row.
    if (double most = inputNorm(); std::isfinite(most))
      result = result.cut(Interval::symmetric(most));
    return result;
  }
  Number scaleGradient() const {
    double each = std::sqrt(count / sharing) * room() + offset;
    return tainted(sumOf(grad * within({-each, each}, grad), terms));
  }
  Number biasGradient() const { return sumOf(grad, terms); }
};
} // namespace

/// Counts of rows of `count` elements with a scale (or bias) of `scales`
/// elements, `perRow` of which meet one row.
static void setCounts(NormRows &rows, Value grad, double count, double scales,
                      double perRow) {
  double all = mpopt::countOf(grad);
  rows.count = std::max(count, 1.0);
  rows.terms = std::isfinite(all) ? all / std::max(scales, 1.0) : kInfinity;
  rows.sharing =
      std::isfinite(count)
          ? std::clamp(count / std::max(perRow, 1.0), 1.0, rows.count)
          : 1;
}

static double elementsFrom(Value value, int64_t axis) {
  MaybeShape shape = getShape(value);
  auto at = shape ? normalizeAxis(axis, shape->size()) : std::nullopt;
  return at ? countOf(Shape(ArrayRef(*shape).drop_front(*at))) : kInfinity;
}

/// 1 / sqrt(v + epsilon) for any v.
static Number inverseRoot(double epsilon, const Number &like) {
  double held = like.format->round(epsilon);
  Number inverse =
      within({0, held > 0 ? kRoom / std::sqrt(held) : kInfinity}, like);
  inverse.range.nan = inverse.range.posInf = !(held > 0);
  return inverse;
}

/// True if a row's mean of squares may overflow.
static bool squaresOverflow(const Number &x, double count) {
  double most = x.bound().maxAbs();
  return !(most * most * count < x.format->overflowFrom * 0.99);
}

//===----------------------------------------------------------------------===//
// Over the last axes
//===----------------------------------------------------------------------===//

/// Statistics of the forward pass in a dtype that is coarser than the one in
/// which they are computed.
static double roundedOffset(Value mean, const Number &x, double inverse,
                            const FloatFormat &format) {
  const FloatFormat *own =
      mean ? getFloatFormat(getElementType(mean)) : nullptr;
  if (!own || own->digits >= format.digits)
    return 0;
  double error = x.bound().maxAbs() * own->unitRoundoff() + own->minSubnormal;
  return std::min(error, x.bound().width()) * inverse;
}

/// Sets the gradient of the input, with the norm of its rows where these are
/// along the last axis alone.
template <typename OpTy>
static void giveRows(OpTy op, NormRows &rows, TransferContext &ctx) {
  int64_t rank = TransferContext::rankOf(op.getInput());
  bool isLast = normalizeAxis(op.getAxis(), rank) == rank - 1;
  if (isLast)
    rows.norm = rowNormOf(ctx.of(op.getGrad()), rank - 1, rows.count);
  Number result = rows.inputGradient();
  result.range.finite = cells::roundedIn(*result.format, result.bound(), 4);
  result.source = LikelySource::Unknown;
  AbstractValue value = result.value(op->getResult(0));
  if (isLast && std::isfinite(rows.inputNorm()))
    value.claimNorm(rank - 1, rows.inputNorm(), int64_t(rows.count));
  ctx.result(0, std::move(value));
}

template <typename OpTy>
static void transferLastAxes(OpTy op, TransferContext &ctx) {
  // RMS norms subtract no mean.
  constexpr bool kCentred = std::is_same_v<OpTy, mp::LayerNormGradOp>;
  Value input = op.getInput(), mean;
  bool fromOutput = false;
  if constexpr (kCentred) {
    mean = op.getMean();
    fromOutput = op.getFromOutput();
  }
  NormRows rows;
  const FloatFormat &format = ctx.sumFormat(op.getGrad());
  auto in = [&](Value value) { return Number::of(ctx.of(value), format); };
  rows.grad = in(op.getGrad());
  rows.gain = in(op.getScale());
  rows.centred = kCentred;
  int64_t axis = op.getAxis();
  double scales = mpopt::countOf(op.getScale());
  setCounts(rows, op.getGrad(), elementsFrom(input, axis), scales, scales);
  Number x = in(input);
  rows.nan = !x.range.isFinite() || squaresOverflow(x, rows.count);
  if (op.getInverseDeviation()) {
    rows.inverse = in(op.getInverseDeviation());
    rows.offset = roundedOffset(mean, x, rows.inverse.bound().hi, format);
  } else if (op.getEpsilon()) {
    SmallVector<int64_t> axes;
    int64_t rank = TransferContext::rankOf(input);
    for (int64_t i = normalizeAxis(axis, rank).value_or(rank); i < rank; ++i)
      axes.push_back(i);
    cells::Standardized forward = cells::standardize(
        getShape(input), ctx.of(input),
        {axes, kCentred, op.getEpsilon()->convertToDouble(), &format});
    rows.inverse = Number::of(forward.inverse, format);
    rows.nan |= forward.value.nan;
  } else {
    return;
  }
  if (fromOutput) // Divided by a scale that may be anything.
    return;
  giveRows(op, rows, ctx);
  give(ctx, 1, rows.scaleGradient());
  if constexpr (kCentred)
    give(ctx, 2, rows.biasGradient());
}

//===----------------------------------------------------------------------===//
// Over positions
//===----------------------------------------------------------------------===//

/// The operand that is named a variance may be its inverse root. Kept
/// statistics are not those of the batch, and n is any number.
static void transferBatchNorm(mp::BatchNormGradOp op, TransferContext &ctx) {
  const FloatFormat &format = ctx.sumFormat(op.getGrad());
  auto in = [&](Value value) { return Number::of(ctx.of(value), format); };
  Number x = in(op.getInput()), mean = in(op.getMean());
  Number variance = in(op.getVariance());
  Number epsilon = Number::constant(op.getEpsilon().convertToDouble(), format);
  NormRows rows;
  rows.grad = in(op.getGrad());
  rows.gain = in(op.getScale());
  rows.inverse =
      either(apply(UnaryFunction::Rsqrt, variance + epsilon), variance);
  double channels = kInfinity;
  if (std::optional<int64_t> dim = ctx.dimOf(op.getGrad(), 1))
    channels = double(*dim);
  double count = countWithout(op.getGrad(), 1);
  setCounts(rows, op.getGrad(), count, channels, /*perRow=*/1);
  rows.nan = !x.range.isFinite() || !mean.range.isFinite();
  if (op.getFrozen()) {
    Number normalised = (x - mean) * rows.inverse;
    give(ctx, 0, rows.tainted(rows.grad * rows.gain * rows.inverse));
    give(ctx, 1, rows.tainted(sumOf(rows.grad * normalised, rows.terms)));
    give(ctx, 2, rows.biasGradient());
    return;
  }
  rows.nan |= squaresOverflow(x, count);
  double error = relativeSumError(format, count, 8) * x.bound().maxAbs();
  const FloatFormat *own = getFloatFormat(getElementType(op.getMean()));
  if (own && own->digits < format.digits)
    error += x.bound().maxAbs() * own->unitRoundoff() + own->minSubnormal;
  rows.offset =
      std::min(error, x.bound().width()) * rows.inverse.bound().maxAbs();
  give(ctx, 0, rows.inputGradient());
  give(ctx, 1, rows.scaleGradient());
  give(ctx, 2, rows.biasGradient());
}

/// Results by place: input, scale, bias.
template <typename OpTy>
static void giveGroups(OpTy op, double count, double groups,
                       TransferContext &ctx) {
  const FloatFormat &format = ctx.sumFormat(op.getInput());
  auto in = [&](Value value) { return Number::of(ctx.of(value), format); };
  Number x = in(op.getInput());
  NormRows rows;
  rows.grad = in(op.getGrad());
  rows.gain = op.getScale() ? in(op.getScale()) : Number::constant(1, format);
  rows.inverse = inverseRoot(op.getEpsilon().convertToDouble(), rows.grad);
  rows.nan = !x.range.isFinite() || squaresOverflow(x, count);
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    double scales = slot == 1
                        ? 1
                        : mpopt::countOf(op->getOperand(
                              op.getODSOperandIndexAndLength(slot).first));
    // A group has its own channels' scales, or one of its own.
    setCounts(rows, op.getGrad(), count, scales, scales / groups);
    return slot == 1   ? rows.inputGradient()
           : slot == 2 ? rows.scaleGradient()
                       : rows.biasGradient();
  });
}

static void transferInstanceNorm(mp::InstanceNormGradOp op,
                                 TransferContext &ctx) {
  std::optional<int64_t> channels = ctx.dimOf(op.getInput(), 1);
  giveGroups(op, elementsFrom(op.getInput(), 2),
             channels ? std::max(double(*channels), 1.0) : 1, ctx);
}

static void transferGroupNorm(mp::GroupNormGradOp op, TransferContext &ctx) {
  double count = countWithout(op.getInput(), 0);
  double groups = std::max(double(op.getNumGroups()), 1.0);
  giveGroups(op, count / groups, groups, ctx);
}

//===----------------------------------------------------------------------===//
// By the length of a vector
//===----------------------------------------------------------------------===//

/// dY s^-beta - 2 alpha beta / size x sum(dY x s^(-beta - 1)), where s is at
/// least its bias and at most that plus alpha x^2.
static void transferLrn(mp::LRNGradOp op, TransferContext &ctx) {
  Number x = numberOf(op.getInput(), ctx), grad = numberOf(op.getGrad(), ctx);
  double size = double(op.getSize()), alpha = op.getAlpha().convertToDouble(),
         beta = op.getBeta().convertToDouble();
  double least = op.getBias().convertToDouble() / kRoom;
  double most = (least * kRoom + alpha * square(x).bound().hi) * kRoom;
  if (!(least > 0) || !(alpha >= 0) || !(beta >= 0) || !(size > 0))
    return;
  auto power = [&](double exponent) {
    double low = most < x.format->overflowFrom ? std::pow(most, exponent) : 0;
    return within({low / kRoom, std::pow(least, exponent) * kRoom}, x);
  };
  Number sum = sumOf(grad * x * power(-beta - 1), size);
  Number result =
      grad * power(-beta) -
      Number::constant(2 * alpha * beta / size, *x.format) * x * sum;
  result = tainted(result, op.getInput(), ctx);
  result.range.nan |= squaresOverflow(x, size);
  giveWanted(op, ctx,
             [&](unsigned) -> std::optional<Number> { return result; });
}

/// (dY - n' sum(dY y)) / norm: |n'| <= 1 and |sum(dY y)| <= max|dY| n^(1 - 1/p)
/// (Hölder). Of orders other than 1 and 2 powers may underflow apart.
static void transferLpNormalize(mp::LpNormalizeGradOp op,
                                TransferContext &ctx) {
  double p = op.getP().convertToDouble();
  MaybeShape shape = getShape(op.getInput());
  auto axis = shape ? normalizeAxis(op.getAxis(), shape->size()) : std::nullopt;
  if ((p != 1 && p != 2) || !axis || (*shape)[*axis] < 0)
    return;
  double count = std::max(double((*shape)[*axis]), 1.0);
  Number x = numberOf(op.getInput(), ctx), grad = numberOf(op.getGrad(), ctx);
  double inner = p == 1 ? 1 : std::sqrt(count);
  double most = (1 + kPartOfNorm * kPartOfNorm * inner) *
                (kRoom + 4 * relativeSumError(*x.format, count, 8));
  // Squares of small numbers are lost.
  double least = x.bound().minAbs() / kRoom;
  if (p == 2 && !(least * least > x.format->minNormal))
    least = 0;
  least = std::max(least,
                   x.format->round(op.getEpsilon().convertToDouble()) / kRoom);
  Number result =
      grad * within({-most, most}, grad) / within({least, kInfinity}, x);
  bool overflows =
      p == 2 ? squaresOverflow(x, count)
             : x.bound().maxAbs() * count >= x.format->overflowFrom * 0.99;
  result.range.nan |= least == 0 || overflows;
  result.range.posInf |= least == 0;
  result.range.negInf |= least == 0;
  giveWanted(op, ctx, [&](unsigned) -> std::optional<Number> {
    return tainted(result, op.getInput(), ctx);
  });
}

void mpopt::attachNormGradientsTransfers(MLIRContext *context) {
  attachTransfer<transferLastAxes<mp::LayerNormGradOp>, mp::LayerNormGradOp>(
      context);
  attachTransfer<transferLastAxes<mp::RmsNormGradOp>, mp::RmsNormGradOp>(
      context);
  attachTransfer<transferBatchNorm, mp::BatchNormGradOp>(context);
  attachTransfer<transferInstanceNorm, mp::InstanceNormGradOp>(context);
  attachTransfer<transferGroupNorm, mp::GroupNormGradOp>(context);
  attachTransfer<transferLrn, mp::LRNGradOp>(context);
  attachTransfer<transferLpNormalize, mp::LpNormalizeGradOp>(context);
}
