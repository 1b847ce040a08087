//===- Signal.cpp - Spreads of gradients of transforms
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each bin has a sample times a cosine and a sine, whose squares add up to 1;
// of a short-time transform a sample lies in length / step frames, times the
// window.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Value/GradientSupport.h"

using namespace mlir;
using namespace mpopt;

/// Gives a result of numbers with that mean square, all alike, each the sum of
/// so many terms.
static void giveSums(BackwardSpreadContext &ctx, unsigned index, double square,
                     double terms) {
  Value made = ctx.op()->getResult(index);
  MaybeShape shape = getShape(made);
  if (!shape)
    return;
  AbstractValue value(
      AbstractValue::Dims(shape->size(), 1),
      SpreadContext::normalCell({0, 0, square}, ctx.elementsPerGroup(made, 1)));
  value.source = LikelySource::Propagated;
  Spread spread;
  spread.axes.batch = shape->size() > 1 ? 0 : -1;
  spread.axes.positions = shape->size() > 1 ? 1u << 1 : 0;
  Losses losses = ctx.combineLosses();
  losses.hit = losses.hit.ofSums(terms);
  ctx.giveLosses(index, losses);
  ctx.give(index, std::move(value), spread);
}

static void spreadDftGrad(mp::DFTGradOp op, BackwardSpreadContext &ctx) {
  Value grad = op.getGrad();
  MaybeShape shape = getShape(grad), input = getShape(op.getInput());
  std::optional<double> axis =
      op.getDynamicAxis() ? getSplatConstant(op.getDynamicAxis())
                          : std::optional<double>(double(op.getAxis()));
  std::optional<int64_t> at = shape && axis
                                  ? normalizeAxis(int64_t(*axis), shape->size())
                                  : std::nullopt;
  if (!at || !input || (*shape)[*at] < 1 || shape->back() < 1 ||
      !ctx.of(grad).hasLikely())
    return;
  // Over real and imaginary parts; what has none is real.
  double terms = double((*shape)[*at]);
  double square = terms * ctx.moments(grad).square;
  if (op.getInverse()) {
    std::optional<double> length =
        op.getLength() ? getSplatConstant(op.getLength())
                       : std::optional<double>(double((*input)[*at]));
    if (!length || !(*length > 0))
      return;
    square /= *length * *length;
    // All bins but the ends stand for two, of which the other is not there.
    if (op.getOnesided())
      square *= 2;
  }
  for (auto [index, number] : llvm::enumerate(op.getWanted()))
    if (gradients::slotOf(op, number) == 1)
      giveSums(ctx, index, square, terms);
}

static void spreadStftGrad(mp::STFTGradOp op, BackwardSpreadContext &ctx) {
  Value grad = op.getGrad(), signal = op.getSignal(), window = op.getWindow();
  MaybeShape bins = getShape(grad);
  std::optional<double> step = getSplatConstant(op.getFrameStep());
  if (!bins || bins->size() != 4 || !step || !(*step > 0) ||
      llvm::any_of(*bins, [](int64_t dim) { return dim < 1; }) ||
      !ctx.of(grad).hasLikely())
    return;
  std::optional<double> length;
  if (op.getFrameLength())
    length = getSplatConstant(op.getFrameLength());
  else if (MaybeShape shape = window ? getShape(window) : MaybeShape();
           shape && shape->size() == 1 && shape->front() > 0)
    length = double(shape->front());
  if (!length)
    return;
  double dy = double((*bins)[2]) * ctx.moments(grad).square;
  double frames = double((*bins)[0] * (*bins)[1]);
  double overlap = std::max(1.0, *length / *step);
  for (auto [index, number] : llvm::enumerate(op.getWanted())) {
    switch (gradients::slotOf(op, number)) {
    case 1: // signal
      if (window && !ctx.of(window).hasLikely())
        break;
      giveSums(ctx, index,
               overlap * dy * (window ? ctx.moments(window).square : 1),
               overlap * double((*bins)[2]));
      break;
    case 3: // window: each of its numbers meets every frame
      if (ctx.of(signal).hasLikely())
        giveSums(ctx, index, frames * dy * ctx.moments(signal).square,
                 frames * double((*bins)[2]));
      break;
    default:
      break;
    }
  }
}

void mpopt::attachSignalSpreads(MLIRContext *context) {
  attachSpread<spreadDftGrad, mp::DFTGradOp>(context);
  attachSpread<spreadStftGrad, mp::STFTGradOp>(context);
}
