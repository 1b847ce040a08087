//===- Optimizer.cpp - Ranges of optimiser steps and loss scaling
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One step. A step that is left out (an overflow under loss scaling) keeps
// weights and states.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/Number.h"

#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

namespace {
/// The operands that all optimisers have.
struct Step {
  const FloatFormat *format;
  Number weight, gradient, rate;
  SmallVector<Number> states;
  bool mayBeLeftOut;
};
} // namespace

template <typename OpTy> static Step stepOf(OpTy op, TransferContext &ctx) {
  Step step;
  step.format = &ctx.functionFormat(op.getWeight());
  auto in = [&](Value value) {
    return Number::of(ctx.of(value), *step.format);
  };
  step.weight = in(op.getWeight());
  step.gradient = in(op.getGradient());
  step.rate = Number::constant(1, *step.format);
  if constexpr (requires { op.getLearningRate(); })
    if (op.getLearningRate())
      step.rate = Number::constant(op.getLearningRate()->convertToDouble(),
                                   *step.format);
  if (op.getRate())
    step.rate = in(op.getRate());
  for (Value state : op.getStates())
    step.states.push_back(in(state));
  if (op.getLossScale())
    step.gradient = step.gradient / in(op.getLossScale());
  // Clipping makes gradients smaller.
  if (op.getNorm())
    step.gradient =
        either(step.gradient, Number::constant(0, *step.format), 0.99);
  step.mayBeLeftOut = bool(op.getSignal());
  return step;
}

static Number constantIn(const Step &step, double value) {
  return Number::constant(value, *step.format);
}

/// The new weight and states, or the old ones where the step may be left out.
static void finish(TransferContext &ctx, const Step &step, const Number &weight,
                   ArrayRef<Number> states) {
  auto give = [&](unsigned index, const Number &now, const Number &before) {
    Number number = step.mayBeLeftOut ? either(now, before, 0.99) : now;
    ctx.result(index, number.value(ctx.op()->getResult(index)));
  };
  give(0, weight, step.weight);
  for (auto [i, before] : llvm::enumerate(step.states)) {
    if (i < states.size())
      give(i + 1, states[i], before);
    else
      ctx.unknown(i + 1);
  }
}

static Number decayed(const Step &step, double decay) {
  if (decay == 0)
    return step.gradient;
  return step.gradient + constantIn(step, decay) * step.weight;
}

static void transferSgd(mp::SgdOp op, TransferContext &ctx) {
  Step step = stepOf(op, ctx);
  finish(ctx, step, step.weight - step.rate * step.gradient, step.states);
}

static void transferMomentum(mp::MomentumOp op, TransferContext &ctx) {
  Step step = stepOf(op, ctx);
  if (step.states.empty())
    return ctx.unknown();
  Number gradient = decayed(step, op.getWeightDecay().convertToDouble());
  Number alpha = constantIn(step, op.getAlpha().convertToDouble());
  // In the first step beta is 1.
  Number beta = either(constantIn(step, op.getBeta().convertToDouble()),
                       constantIn(step, 1));
  Number velocity = alpha * step.states[0] + beta * gradient;
  Number update =
      op.getMode() == "nesterov" ? gradient + alpha * velocity : velocity;
  finish(ctx, step, step.weight - step.rate * update, velocity);
}

static void transferAdagrad(mp::AdagradOp op, TransferContext &ctx) {
  Step step = stepOf(op, ctx);
  if (step.states.empty())
    return ctx.unknown();
  Number gradient = decayed(step, op.getWeightDecay().convertToDouble());
  Number sum = step.states[0] + square(gradient);
  Number root = apply(UnaryFunction::Sqrt, sum) +
                constantIn(step, op.getEpsilon().convertToDouble());
  // The rate falls with the steps.
  Number rate = either(step.rate, constantIn(step, 0), 0.99);
  finish(ctx, step, step.weight - rate * (gradient / root), sum);
}

/// The moments of Adam, and the update before the rate.
template <typename OpTy>
static Number adamUpdate(OpTy op, const Step &step, const Number &gradient,
                         SmallVectorImpl<Number> &states) {
  double alpha = op.getAlpha().convertToDouble();
  double beta = op.getBeta().convertToDouble();
  Number mean = constantIn(step, alpha) * step.states[0] +
                constantIn(step, 1 - alpha) * gradient;
  Number second = constantIn(step, beta) * step.states[1] +
                  constantIn(step, 1 - beta) * square(gradient);
  states.assign({mean, second});
  // Corrected moments are larger by 1 / (1 - beta^t), the most in step 1.
  if (op.getCorrectBias()) {
    auto corrected = [&](const Number &moment, double decay) {
      return decay < 1 ? either(moment,
                                moment * constantIn(step, 1 / (1 - decay)), 0.9)
                       : moment;
    };
    mean = corrected(mean, alpha);
    second = corrected(second, beta);
  }
  return mean / (apply(UnaryFunction::Sqrt, second) +
                 constantIn(step, op.getEpsilon().convertToDouble()));
}

static void transferAdam(mp::AdamOp op, TransferContext &ctx) {
  Step step = stepOf(op, ctx);
  if (step.states.size() < 2)
    return ctx.unknown();
  double decay = op.getWeightDecay().convertToDouble();
  bool decoupled = op.getDecoupled();
  SmallVector<Number> states;
  Number update = adamUpdate(
      op, step, decoupled ? step.gradient : decayed(step, decay), states);
  if (decoupled && decay != 0)
    update = update + constantIn(step, decay) * step.weight;
  finish(ctx, step, step.weight - step.rate * update, states);
}

static void transferLamb(mp::LambOp op, TransferContext &ctx) {
  Step step = stepOf(op, ctx);
  if (step.states.size() < 2)
    return ctx.unknown();
  SmallVector<Number> states;
  Number update =
      adamUpdate(op, step, step.gradient, states) +
      constantIn(step, op.getWeightDecay().convertToDouble()) * step.weight;
  double least = op.getRatioMin().convertToDouble();
  double most = op.getRatioMax().convertToDouble();
  Number ratio =
      either(constantIn(step, 1),
             Number::within({std::min(least, most), std::max(least, most)},
                            *step.format));
  finish(ctx, step, step.weight - step.rate * ratio * update, states);
}

//===----------------------------------------------------------------------===//
// Loss scaling and gradient accumulation
//===----------------------------------------------------------------------===//

static void transferAccumulate(mp::AccumulateOp op, TransferContext &ctx) {
  const FloatFormat &format = ctx.sumFormat(op.getSum());
  Number sum = Number::of(ctx.of(op.getSum()), format);
  Number value = Number::of(ctx.of(op.getValue()), format);
  Number result = sum + value;
  if (op.getFlag())
    result = either(result, op.getOverwrites() ? value : sum, 0.9);
  ctx.result(0, result.value(op.getResult()));
}

static void transferZeroGradient(mp::ZeroGradientOp op, TransferContext &ctx) {
  AbstractValue zero(AbstractValue::Dims(ctx.rankOf(op.getResult()), 1),
                     cells::point(0));
  zero.source = LikelySource::Weight;
  ctx.result(0, std::move(zero));
}

static void transferLossScale(mp::LossScaleOp op, TransferContext &ctx) {
  const FloatFormat &format = ctx.functionFormat(op.getInput());
  Number x = Number::of(ctx.of(op.getInput()), format);
  Number scale = Number::of(ctx.of(op.getScale()), format);
  ctx.result(0, (op.getDivide() ? x / scale : x * scale).value(op.getResult()));
}

static void transferAllFinite(mp::AllFiniteOp op, TransferContext &ctx) {
  bool may = false, overflows = false;
  for (Value input : op.getInputs()) {
    const AbstractValue &value = ctx.of(input);
    may |= (value.nan && !op.getOnlyInf()) ||
           (value.mayBeInf() && !op.getOnlyNan());
    overflows |= value.hull().empty();
  }
  double lo = may || overflows ? 0 : 1;
  ctx.result(0, cells::integers(lo, 1, op.getResult()));
}

static void transferGlobalNorm(mp::GlobalNormOp op, TransferContext &ctx) {
  if (op.getInputs().empty())
    return ctx.unknown();
  const FloatFormat &format = ctx.sumFormat(op.getInputs().front());
  Number sum = Number::constant(0, format);
  for (Value input : op.getInputs())
    sum = sum + sumOf(square(Number::of(ctx.of(input), format)), countOf(input),
                      expectedCountOf(input));
  ctx.result(0, apply(UnaryFunction::Sqrt, sum).value(op.getResult()));
}

static void transferClipGradNorm(mp::ClipGradNormOp op, TransferContext &ctx) {
  const FloatFormat &format = ctx.sumFormat(op.getGradients());
  Number x = Number::of(ctx.of(op.getGradients()), format);
  Number result = either(x, Number::constant(0, format), 0.99);
  double most = op.getMaxNorm().convertToDouble();
  // No element is larger than the norm; a sum of squares that underflows is
  // too small.
  if (x.range.isFinite() && most > std::sqrt(format.minNormal) * 0x1p20)
    result = result.cut(Interval::symmetric(most * 1.5));
  result.range.nan |= x.range.mayBeInf(); // Inf * 0
  ctx.result(0, result.value(op.getResult()));
}

void mpopt::attachOptimizerTransfers(MLIRContext *context) {
  attachTransfer<transferSgd, mp::SgdOp>(context);
  attachTransfer<transferMomentum, mp::MomentumOp>(context);
  attachTransfer<transferAdagrad, mp::AdagradOp>(context);
  attachTransfer<transferAdam, mp::AdamOp>(context);
  attachTransfer<transferLamb, mp::LambOp>(context);
  attachTransfer<transferAccumulate, mp::AccumulateOp>(context);
  attachTransfer<transferZeroGradient, mp::ZeroGradientOp>(context);
  attachTransfer<transferLossScale, mp::LossScaleOp>(context);
  attachTransfer<transferAllFinite, mp::AllFiniteOp>(context);
  attachTransfer<transferGlobalNorm, mp::GlobalNormOp>(context);
  attachTransfer<transferClipGradNorm, mp::ClipGradNormOp>(context);
}
