//===- Optimizers.cpp - Optimiser steps, from ONNX ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes that update many weights become one op a weight. Outputs that an
// optimiser has besides weights and states: the step count, whether it was
// done, and weights once more in 16 bits. The direction of the step (new
// gradients instead of new weights) has no lowering.
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"

#include "Inputs.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Numerics/Infinity.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

namespace {

/// One weight and what goes with it.
struct Update {
  Value weight, gradient;
  SmallVector<Value, 2> states;
};

/// Operands that all weights of a node share.
struct Guards {
  Value rate, step, signal, lossScale, norm;
};

} // namespace

/// Makes one optimiser op; `attributes` are those of its builder.
template <typename OpT, typename... Args>
static OpT makeUpdate(NodeContext &ctx, const Update &update,
                      const Guards &guards, Args &&...attributes) {
  return ctx.makeTyped<OpT>(
      ctx.unknownTypes(1 + update.states.size()), guards.rate, guards.step,
      update.weight, update.gradient, ValueRange(update.states), guards.signal,
      guards.lossScale, guards.norm, std::forward<Args>(attributes)...);
}

static FloatAttr getNumber(NodeContext &ctx, StringRef name, double otherwise) {
  return ctx.builder().getF64FloatAttr(ctx.getFloat(name, otherwise));
}

/// The count after this step.
static Value makeNextStep(NodeContext &ctx, Value step) {
  Type element = getElementType(step);
  if (!isa<IntegerType, FloatType>(element))
    return ctx.make<mp::IdentityOp>(step);
  return ctx.make<mp::AddOp>(step, ctx.makeScalar(1, element));
}

/// The signal that the step is done, as `element`; true if there is none.
static Value makeFlag(NodeContext &ctx, Value signal, Type element) {
  if (!signal) {
    auto type = RankedTensorType::get({}, element);
    return ctx
        .makeTyped<mp::ConstantOp>(
            {type}, DenseElementsAttr::get(
                        type, ctx.builder().getIntegerAttr(element, 1)))
        .getResult();
  }
  if (getElementType(signal) == element)
    return ctx.make<mp::IdentityOp>(signal);
  return ctx
      .makeTyped<mp::CastOp>({getTensorType(std::nullopt, element)}, signal)
      .getResult();
}

/// The new weight in the dtype of its 16-bit copy.
static Value makeCopy(NodeContext &ctx, Value weight, Value copy) {
  Type type = getTensorType(std::nullopt, getElementType(copy));
  return ctx.makeTyped<mp::CastOp>({type}, weight).getResult();
}

//===----------------------------------------------------------------------===//
// ai.onnx.preview.training: R, T, then all weights, gradients, states
//===----------------------------------------------------------------------===//

/// Splits the inputs after R and T into `kinds` lists, one element of each a
/// weight.
static LogicalResult getGroups(NodeContext &ctx, unsigned kinds,
                               SmallVectorImpl<Update> &updates) {
  SmallVector<Value> tensors = ctx.inputs(2);
  if (tensors.empty() || tensors.size() % kinds != 0 ||
      tensors.size() + 2 != ctx.numInputs())
    return ctx.error("needs " + Twine(kinds) + " tensors for each weight");
  size_t count = tensors.size() / kinds;
  if (ctx.numOutputs() != count * (kinds - 1))
    return ctx.error("needs " + Twine(kinds - 1) + " outputs for each weight");
  for (size_t index = 0; index < count; ++index) {
    Update update{tensors[index], tensors[count + index], {}};
    for (unsigned kind = 2; kind < kinds; ++kind)
      update.states.push_back(tensors[kind * count + index]);
    updates.push_back(std::move(update));
  }
  return success();
}

/// All new weights, then all new states of each kind.
static void setGroup(NodeContext &ctx, Operation *op, size_t index,
                     size_t count) {
  for (OpResult result : op->getResults())
    ctx.setOutput(result.getResultNumber() * count + index, result);
}

static LogicalResult lowerAdagrad(NodeContext &ctx) {
  SmallVector<Update> updates;
  if (failed(getGroups(ctx, 3, updates)))
    return failure();
  Guards guards{ctx.input(0), ctx.input(1), {}, {}, {}};
  for (auto [index, update] : llvm::enumerate(updates))
    setGroup(ctx,
             makeUpdate<mp::AdagradOp>(ctx, update, guards,
                                       getNumber(ctx, "decay_factor", 0),
                                       getNumber(ctx, "epsilon", 1e-6),
                                       getNumber(ctx, "norm_coefficient", 0)),
             index, updates.size());
  return success();
}

static LogicalResult lowerMomentum(NodeContext &ctx) {
  SmallVector<Update> updates;
  if (failed(getGroups(ctx, 3, updates)))
    return failure();
  Guards guards{ctx.input(0), ctx.input(1), {}, {}, {}};
  for (auto [index, update] : llvm::enumerate(updates))
    setGroup(
        ctx,
        makeUpdate<mp::MomentumOp>(
            ctx, update, guards, getNumber(ctx, "alpha", 0.9),
            getNumber(ctx, "beta", 1), getNumber(ctx, "norm_coefficient", 0),
            ctx.builder().getStringAttr(ctx.getString("mode", "standard"))),
        index, updates.size());
  return success();
}

static mp::AdamOp makeAdam(NodeContext &ctx, const Update &update,
                           const Guards &guards, double epsilon,
                           FloatAttr weightDecay, bool decoupled,
                           bool correctBias) {
  OpBuilder &b = ctx.builder();
  return makeUpdate<mp::AdamOp>(
      ctx, update, guards, getNumber(ctx, "alpha", 0.9),
      getNumber(ctx, "beta", 0.999), getNumber(ctx, "epsilon", epsilon),
      weightDecay, b.getBoolAttr(decoupled), b.getBoolAttr(correctBias));
}

static LogicalResult lowerAdam(NodeContext &ctx) {
  SmallVector<Update> updates;
  if (failed(getGroups(ctx, 4, updates)))
    return failure();
  Guards guards{ctx.input(0), ctx.input(1), {}, {}, {}};
  for (auto [index, update] : llvm::enumerate(updates)) {
    mp::AdamOp op = makeAdam(ctx, update, guards, 1e-6,
                             getNumber(ctx, "norm_coefficient", 0),
                             /*decoupled=*/false, /*correctBias=*/true);
    double post = ctx.getFloat("norm_coefficient_post", 0);
    ctx.setOutput(
        index, post == 0 ? op.getNewWeight()
                         : ctx.make<mp::MulOp>(
                               op.getNewWeight(),
                               ctx.makeScalar(1 - post,
                                              getElementType(update.weight))));
    for (auto [kind, state] : llvm::enumerate(op.getNewStates()))
      ctx.setOutput((1 + kind) * updates.size() + index, state);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ONNX Runtime's
//===----------------------------------------------------------------------===//

static mp::SgdOp makeSgd(NodeContext &ctx, Value weight, Value gradient,
                         const Guards &guards) {
  std::optional<double> rate = ctx.findFloat("lr");
  return makeUpdate<mp::SgdOp>(ctx, Update{weight, gradient, {}}, guards,
                               rate ? ctx.builder().getF64FloatAttr(*rate)
                                    : FloatAttr());
}

/// Weight and gradient, the rate an attribute.
static LogicalResult lowerSgd(NodeContext &ctx) {
  if (!ctx.hasInput(1) || ctx.numInputs() > 2)
    return ctx.unsupported();
  ctx.setOutput(0, makeSgd(ctx, ctx.input(0), ctx.input(1), {}).getNewWeight());
  return success();
}

/// Rate, weight, gradient; outputs new weight, new gradient.
static LogicalResult lowerSgdOptimizer(NodeContext &ctx) {
  if (ctx.hasOutput(1))
    return ctx.unsupported();
  Guards guards{ctx.input(0), {}, {}, {}, {}};
  ctx.setOutput(
      0, makeSgd(ctx, ctx.input(1), ctx.input(2), guards).getNewWeight());
  return success();
}

/// Rate, sequences of weights and gradients, signal; outputs flag, weights.
static LogicalResult lowerSgdOptimizerV2(NodeContext &ctx) {
  Guards guards{ctx.input(0), {}, ctx.input(3), {}, {}};
  mp::SgdOp op = makeSgd(ctx, ctx.input(1), ctx.input(2), guards);
  ctx.setOutput(0, makeFlag(ctx, ctx.input(3), ctx.builder().getI1Type()));
  ctx.setOutput(1, op.getNewWeight());
  return success();
}

/// Rate, step, weight, gradient, two moments, 16-bit weight, loss scale,
/// gradient norm, signal; outputs step, moments, weight, gradient, 16-bit
/// weight.
static LogicalResult lowerAdamOptimizer(NodeContext &ctx) {
  if (ctx.hasOutput(4) || !ctx.hasInput(4) || !ctx.hasInput(5))
    return ctx.unsupported();
  Guards guards{ctx.input(0), ctx.input(1), ctx.input(9), ctx.input(7),
                ctx.input(8)};
  Update update{ctx.input(2), ctx.input(3), {ctx.input(4), ctx.input(5)}};
  // Both of its modes shrink the weight, before or after the step.
  mp::AdamOp op =
      makeAdam(ctx, update, guards, 1e-8, getNumber(ctx, "lambda", 0),
               /*decoupled=*/true, ctx.getFlag("do_bias_correction", true));
  ctx.setOutput(0, makeNextStep(ctx, ctx.input(1)));
  ctx.setOutput(1, op.getNewStates()[0]);
  ctx.setOutput(2, op.getNewStates()[1]);
  ctx.setOutput(3, op.getNewWeight());
  if (ctx.hasOutput(5) && ctx.hasInput(6))
    ctx.setOutput(5, makeCopy(ctx, op.getNewWeight(), ctx.input(6)));
  return success();
}

/// Rate, step, sequences of weights, gradients and two moments, signal; outputs
/// flag (i64), weights, moments.
static LogicalResult lowerAdamWOptimizer(NodeContext &ctx) {
  if (!ctx.hasInput(5))
    return ctx.unsupported();
  Guards guards{ctx.input(0), ctx.input(1), ctx.input(6), {}, {}};
  Update update{ctx.input(2), ctx.input(3), {ctx.input(4), ctx.input(5)}};
  mp::AdamOp op =
      makeAdam(ctx, update, guards, 1e-8, getNumber(ctx, "weight_decay", 0.01),
               /*decoupled=*/true, ctx.getFlag("correct_bias", true));
  ctx.setOutput(0, makeFlag(ctx, ctx.input(6), ctx.builder().getI64Type()));
  for (OpResult result : op->getResults())
    ctx.setOutput(1 + result.getResultNumber(), result);
  return success();
}

/// Signal, loss scale, gradient norm, rate, step, then weight, gradient, two
/// moments and 16-bit weight of each; outputs step, then as the inputs.
static LogicalResult lowerLambOptimizer(NodeContext &ctx) {
  constexpr unsigned kShared = 5, kKinds = 5;
  unsigned count =
      (ctx.numInputs() - std::min(kShared, ctx.numInputs()) + kKinds - 1) /
      kKinds;
  for (unsigned index = 0; index < count; ++index) {
    unsigned first = kShared + index * kKinds;
    if (!ctx.hasInput(first) || !ctx.hasInput(first + 1) ||
        !ctx.hasInput(first + 2) || !ctx.hasInput(first + 3) ||
        ctx.hasOutput(1 + index * kKinds + 1))
      return ctx.unsupported();
  }
  Guards guards{ctx.input(3), ctx.input(4), ctx.input(0), ctx.input(1),
                ctx.input(2)};
  OpBuilder &b = ctx.builder();
  auto number = [&](StringRef name, unsigned index, double otherwise) {
    auto list = ctx.findFloats(name);
    return b.getF64FloatAttr(list && index < list->size() ? (*list)[index]
                                                          : otherwise);
  };
  double infinity = kInfinity;
  for (unsigned index = 0; index < count; ++index) {
    unsigned first = kShared + index * kKinds, out = 1 + index * kKinds;
    Update update{ctx.input(first),
                  ctx.input(first + 1),
                  {ctx.input(first + 2), ctx.input(first + 3)}};
    auto op = makeUpdate<mp::LambOp>(
        ctx, update, guards, number("alpha", index, 0.9),
        number("beta", index, 0.999), number("epsilon", index, 1e-6),
        number("lambda", index, 0), getNumber(ctx, "ratio_min", -infinity),
        getNumber(ctx, "ratio_max", infinity),
        number("max_norm_clip", index, 1),
        b.getBoolAttr(ctx.getFlag("do_bias_correction", true)));
    ctx.setOutput(out, op.getNewWeight());
    ctx.setOutput(out + 2, op.getNewStates()[0]);
    ctx.setOutput(out + 3, op.getNewStates()[1]);
    if (ctx.hasOutput(out + 4) && ctx.hasInput(first + 4))
      ctx.setOutput(out + 4,
                    makeCopy(ctx, op.getNewWeight(), ctx.input(first + 4)));
  }
  if (ctx.hasOutput(0) && ctx.hasInput(4))
    ctx.setOutput(0, makeNextStep(ctx, ctx.input(4)));
  return success();
}

void onnx_import::addOptimizers(LoweringRegistry &registry) {
  // The domain of ONNX's ops for training.
  constexpr StringRef kPreview = "ai.onnx.preview.training";
  registry.add(kPreview, "Adagrad", withInputs<lowerAdagrad, 2>);
  registry.add(kPreview, "Adam", withInputs<lowerAdam, 2>);
  registry.add(kPreview, "Momentum", withInputs<lowerMomentum, 2>);
  for (StringRef domain : {"", "com.microsoft"}) {
    registry.add(domain, "SGD", withInputs<lowerSgd, 2>);
    registry.add(domain, "SGDOptimizer", withInputs<lowerSgdOptimizer, 3>);
    registry.add(domain, "SGDOptimizerV2", withInputs<lowerSgdOptimizerV2, 3>);
    registry.add(domain, "AdamOptimizer", withInputs<lowerAdamOptimizer, 4>);
    registry.add(domain, "AdamWOptimizer", withInputs<lowerAdamWOptimizer, 6>);
    registry.add(domain, "LambOptimizer", lowerLambOptimizer);
  }
}
