//===- Recurrent.cpp - Recurrent networks, from ONNX ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DynamicQuantizeLSTM of com.microsoft is an LSTM of dequantised weights and of
// the input in codes of its own range. Its kernel also quantises each state to
// eight bits: that moves a value by at most 1/255 of the largest one, which is
// put on the weights' scales, where it makes sums larger by as much.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/Onnx/Lowering.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Ops/RecurrentOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

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
  /// Weights are [dirs, inputs, gates hidden].
  bool isTransposed = false;
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

  // Missing in some files: R is [dirs, gates hidden, hidden], or transposed.
  int64_t last = sequence.isTransposed ? 1 : 2;
  MaybeShape weights = getShape(ctx.input(1)),
             recurrence = getShape(ctx.input(2));
  if (std::optional<int64_t> size = ctx.findInt("hidden_size"))
    sequence.hiddenSize = *size;
  else if (recurrence && recurrence->size() == 3 && (*recurrence)[last] > 0)
    sequence.hiddenSize = (*recurrence)[last];
  else if (weights && weights->size() == 3 && (*weights)[3 - last] > 0)
    sequence.hiddenSize = (*weights)[3 - last] / gates;
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

/// Quantising an operand to eight bits adds this to its largest magnitude, with
/// some room for the roundings of scales.
static constexpr double kInEightBits = 1 + 1.0 / 128;

/// The weights at `first` [dirs, inputs, 4 hidden] as LSTM has them. Scale and
/// zero point at `scale`: one a direction, or one a direction and column.
static Value makeWeights(NodeContext &ctx, unsigned first, unsigned scale) {
  OpBuilder &b = ctx.builder();
  Value weights = ctx.input(first), scales = ctx.input(scale),
        zeros = ctx.input(scale + 1);
  MaybeShape shape = getShape(scales);
  if (!shape || shape->empty() || shape->size() > 2)
    return {};
  int64_t axis = 0;
  if (shape->size() == 2) {
    // A list along the columns, of one direction.
    if (shape->front() != 1)
      return {};
    axis = 2;
    auto flatten = [&](Value list) -> Value {
      return list ? ctx.make<mp::SqueezeOp>(list, Value(),
                                            b.getDenseI64ArrayAttr({0}))
                  : Value();
    };
    scales = flatten(scales);
    zeros = flatten(zeros);
  }
  scales = ctx.make<mp::MulOp>(
      scales, ctx.makeScalar(kInEightBits, getElementType(scales)));
  Value dequantized = ctx.make<mp::DequantizeOp>(
      weights, scales, zeros, b.getI64IntegerAttr(axis), b.getI64IntegerAttr(0),
      TypeAttr(), DenseI64ArrayAttr());
  return ctx.make<mp::TransposeOp>(dequantized,
                                   b.getDenseI64ArrayAttr({0, 2, 1}));
}

/// (X, W, R, B, sequence_lens, initial_h, initial_c, P, W_scale,
/// W_zero_point, R_scale, R_zero_point) to (Y, Y_h, Y_c).
static LogicalResult lowerDynamicQuantizeLSTM(NodeContext &ctx) {
  Sequence sequence;
  sequence.isTransposed = true;
  if (failed(readSequence(ctx, 4, {"Sigmoid", "Tanh", "Tanh"}, sequence)))
    return failure();
  if (!ctx.hasInput(8) || !ctx.hasInput(10))
    return ctx.error("needs the scales of its weights");
  Value weights = makeWeights(ctx, 1, 8), recurrence = makeWeights(ctx, 2, 10);
  if (!weights || !recurrence)
    return ctx.unsupported();
  auto codes =
      ctx.makeTyped<mp::DynamicQuantizeOp>(ctx.unknownTypes(3), ctx.input(0));
  Value input = ctx.make<mp::DequantizeOp>(codes.getValues(), codes.getScale(),
                                           codes.getZeroPoint(), 1, 0,
                                           TypeAttr(), DenseI64ArrayAttr());
  return setOutputs(ctx,
                    ctx.makeTyped<mp::LSTMOp>(
                        ctx.unknownTypes(3), input, weights, recurrence,
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
  registry.add("com.microsoft", "DynamicQuantizeLSTM",
               lowerDynamicQuantizeLSTM);
}
