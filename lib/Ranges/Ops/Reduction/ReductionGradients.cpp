//===- ReductionGradients.cpp - Ranges of gradients of norms and products
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slope of a norm by an element is at most 1 in magnitude; that of a
// product is the product of the others, which PyTorch computes as the whole one
// over the element where none is 0.
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

/// Powers of other orders than these may underflow apart.
static void transferNorm(mp::NormGradOp op, TransferContext &ctx) {
  double p = op.getOrd().convertToDouble();
  bool extreme = std::isinf(p);
  if (p != 0 && p != 1 && p != 2 && !extreme)
    return;
  Number grad = numberOf(op.getGrad(), ctx), x = numberOf(op.getInput(), ctx);
  Number slope = p == 0   ? Number::constant(0, *x.format)
                 : p == 2 ? within({-kPartOfNorm, kPartOfNorm}, x)
                          : within({-1, 1}, x);
  Number result = tainted(grad * slope, op.getInput(), ctx);
  if (p == 2) {
    // x (dY / norm), whose quotient may overflow where the norm is tiny.
    double least = std::max(x.bound().minAbs() / kPartOfNorm,
                            std::sqrt(x.format->minSubnormal));
    Number quotient = grad / within({least, kInfinity}, x);
    result.range.nan |= quotient.range.mayBeInf();
    result.range.posInf |= quotient.range.mayBeInf();
    result.range.negInf |= quotient.range.mayBeInf();
  }
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    return slot == 1 ? std::optional(result) : std::nullopt;
  });
}

/// `grad` times up to `count` - 1 factors like `x`, also as a product of
/// `count` over one of them. Nothing if a partial product may overflow.
static std::optional<Number> timesOthers(const Number &grad, const Number &x,
                                         double count, bool fewer) {
  const FloatFormat &format = *grad.format;
  double most = std::max(x.bound().maxAbs(), 1.0);
  double partial = std::pow(most, count) * std::max(grad.bound().maxAbs(), 1.0);
  if (!x.range.isFinite() || !(partial < format.overflowFrom))
    return std::nullopt;
  double others = std::max(count - 1, 0.0);
  Interval product = Interval::point(1);
  if (others > 0)
    product = cells::power(x.bound(), {fewer ? 1 : others, others});
  if (fewer)
    product = hull(product, 1.0);
  // Factors are rounded; what underflows is multiplied by the rest, or divided
  // by an element that is as small.
  double relative = std::expm1((count + 4) * 2 * format.unitRoundoff());
  double tiny = format.minSubnormal;
  double absolute =
      1 + (count + 4) * tiny * partial / std::max(x.bound().minAbs(), tiny);
  if (std::pow(std::min(x.bound().minAbs(), 1.0), count) > format.minNormal)
    absolute = 0;
  Number slope = within(product.widened(relative, absolute), grad);
  return grad * slope;
}

/// Elements of `value` along the axes, all if there are none.
static double rowCount(Value value, std::optional<ArrayRef<int64_t>> axes) {
  MaybeShape shape = getShape(value);
  if (!axes || axes->empty())
    return countOf(shape);
  double count = shape ? 1 : kInfinity;
  for (int64_t axis : *axes) {
    auto at = shape ? normalizeAxis(axis, shape->size()) : std::nullopt;
    if (!at || (*shape)[*at] < 0)
      return kInfinity;
    count *= double((*shape)[*at]);
  }
  return count;
}

static void transferProduct(mp::ReduceProdGradOp op, TransferContext &ctx) {
  double count = op.getDynamicAxes() ? mpopt::countOf(op.getInput())
                                     : rowCount(op.getInput(), op.getAxes());
  // Between no axes and all of them.
  bool fewer = op.getDynamicAxes() || !op.getAxes() || op.getAxes()->empty();
  if (!std::isfinite(count))
    return;
  std::optional<Number> result = timesOthers(
      numberOf(op.getGrad(), ctx), numberOf(op.getInput(), ctx), count, fewer);
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    return slot == 1 ? result : std::nullopt;
  });
}

/// Each element is in as many products as come behind it.
static void transferCumProd(mp::CumProdGradOp op, TransferContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  double count = 0;
  for (int64_t dim : shape.value_or(Shape()))
    count = std::max(count, dim < 0 ? kInfinity : double(dim));
  if (!shape || !std::isfinite(count))
    return;
  std::optional<Number> each =
      timesOthers(numberOf(op.getGrad(), ctx), numberOf(op.getInput(), ctx),
                  std::max(count, 1.0), /*fewer=*/true);
  giveWanted(op, ctx, [&](unsigned slot) -> std::optional<Number> {
    if (slot != 1 || !each)
      return std::nullopt;
    return sumOf(zeroOr(*each), std::max(count, 1.0));
  });
}

void mpopt::attachReductionGradientsTransfers(MLIRContext *context) {
  attachTransfer<transferNorm, mp::NormGradOp>(context);
  attachTransfer<transferProduct, mp::ReduceProdGradOp>(context);
  attachTransfer<transferCumProd, mp::CumProdGradOp>(context);
}
