//===- Recurrent.cpp - Recurrent networks, from ONNX ----------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/Onnx/Lowering.h"

#include "mpopt/Dialect/Ops/RecurrentOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

namespace {
/// Attributes and operands that the three ops have in common.
struct Sequence {
  int64_t hiddenSize = 0;
  StringRef direction;
  SmallVector<StringRef> activations;
  SmallVector<double> alpha, beta;
  APFloat clip{0.0};
  bool batchFirst = false;
};
} // namespace

/// The standard's spelling of an activation; runtimes compare without case.
static StringRef getActivation(StringRef name) {
  static const StringRef kNames[] = {
      "Relu",        "Tanh",     "Sigmoid",    "Affine",
      "LeakyRelu",   "Elu",      "ScaledTanh", "ThresholdedRelu",
      "HardSigmoid", "Softsign", "Softplus"};
  for (StringRef known : kNames)
    if (known.equals_insensitive(name))
      return known;
  return name;
}

static LogicalResult readSequence(NodeContext &ctx, int64_t gates,
                                  ArrayRef<StringRef> defaults,
                                  Sequence &sequence) {
  for (unsigned index = 0; index < 3; ++index)
    if (!ctx.hasInput(index))
      return ctx.error("input " + Twine(index) + " is missing");
  sequence.direction = ctx.getString("direction", "forward");
  // Opset 1 of GRU has its default misspelt.
  if (sequence.direction == "foward")
    sequence.direction = "forward";
  if (std::optional<SmallVector<StringRef>> names =
          ctx.findStrings("activations");
      names && !names->empty()) {
    for (StringRef name : *names)
      sequence.activations.push_back(getActivation(name));
    // RNN's default has two entries whatever the direction.
    if (sequence.direction != "bidirectional" &&
        sequence.activations.size() == 2 * defaults.size() &&
        ctx.type() == "RNN")
      sequence.activations.truncate(defaults.size());
  } else {
    sequence.activations.append(defaults.begin(), defaults.end());
    if (sequence.direction == "bidirectional")
      sequence.activations.append(defaults.begin(), defaults.end());
  }
  sequence.alpha = ctx.findFloats("activation_alpha").value_or(sequence.alpha);
  sequence.beta = ctx.findFloats("activation_beta").value_or(sequence.beta);
  sequence.clip = APFloat(ctx.getFloat("clip", 0.0));
  sequence.batchFirst = ctx.getInt("layout", 0) == 1;

  // Missing in some files: R is [dirs, gates hidden, hidden].
  MaybeShape weights = getShape(ctx.input(1)),
             recurrence = getShape(ctx.input(2));
  if (std::optional<int64_t> size = ctx.findInt("hidden_size"))
    sequence.hiddenSize = *size;
  else if (recurrence && recurrence->size() == 3 && (*recurrence)[2] > 0)
    sequence.hiddenSize = (*recurrence)[2];
  else if (weights && weights->size() == 3 && (*weights)[1] > 0)
    sequence.hiddenSize = (*weights)[1] / gates;
  else
    return ctx.unsupported();
  return success();
}

/// Every output the node has, from the op's results.
static LogicalResult setOutputs(NodeContext &ctx, Operation *op) {
  for (OpResult result : op->getResults())
    if (ctx.hasOutput(result.getResultNumber()))
      ctx.setOutput(result.getResultNumber(), result);
  return success();
}

static LogicalResult lowerRNN(NodeContext &ctx) {
  Sequence sequence;
  if (failed(readSequence(ctx, 1, {"Tanh"}, sequence)))
    return failure();
  return setOutputs(ctx,
                    ctx.makeTyped<mp::RNNOp>(
                        ctx.unknownTypes(2), ctx.input(0), ctx.input(1),
                        ctx.input(2), ctx.input(3), ctx.input(4), ctx.input(5),
                        sequence.hiddenSize, sequence.direction,
                        ctx.builder().getStrArrayAttr(sequence.activations),
                        sequence.alpha, sequence.beta, sequence.clip,
                        sequence.batchFirst));
}

static LogicalResult lowerLSTM(NodeContext &ctx) {
  Sequence sequence;
  if (failed(readSequence(ctx, 4, {"Sigmoid", "Tanh", "Tanh"}, sequence)))
    return failure();
  return setOutputs(
      ctx, ctx.makeTyped<mp::LSTMOp>(
               ctx.unknownTypes(3), ctx.input(0), ctx.input(1), ctx.input(2),
               ctx.input(3), ctx.input(4), ctx.input(5), ctx.input(6),
               ctx.input(7), sequence.hiddenSize, sequence.direction,
               ctx.builder().getStrArrayAttr(sequence.activations),
               sequence.alpha, sequence.beta, sequence.clip,
               sequence.batchFirst, ctx.getFlag("input_forget")));
}

static LogicalResult lowerGRU(NodeContext &ctx) {
  Sequence sequence;
  if (failed(readSequence(ctx, 3, {"Sigmoid", "Tanh"}, sequence)))
    return failure();
  return setOutputs(
      ctx, ctx.makeTyped<mp::GRUOp>(
               ctx.unknownTypes(2), ctx.input(0), ctx.input(1), ctx.input(2),
               ctx.input(3), ctx.input(4), ctx.input(5), sequence.hiddenSize,
               sequence.direction,
               ctx.builder().getStrArrayAttr(sequence.activations),
               sequence.alpha, sequence.beta, sequence.clip,
               sequence.batchFirst, ctx.getFlag("linear_before_reset")));
}

void onnx_import::registerRecurrentLowerings(LoweringRegistry &registry) {
  registry.add("RNN", lowerRNN);
  registry.add("LSTM", lowerLSTM);
  registry.add("GRU", lowerGRU);
}
