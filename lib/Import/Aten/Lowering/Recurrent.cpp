//===- Recurrent.cpp - Recurrent networks ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One mp op a layer. PyTorch's weights are a flat list (layer by layer, forward
// then backward: W_ih, W_hh and with biases b_ih, b_hh), its gates in another
// order than ONNX's, which mp.lstm and mp.gru have: rows are rearranged. Packed
// sequences (the `data` overloads) and projections (proj_size) have no
// lowering.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "ShapeValues.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/RandomOps.h"
#include "mpopt/Dialect/Ops/RecurrentOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

namespace {
/// A kind of network: where each of its gates is in PyTorch's weights.
struct Gates {
  SmallVector<int64_t> order;
  SmallVector<StringRef> activations;
};

/// Weights of one layer: [directions, ...].
struct Layer {
  Value weights, recurrence, bias;
  int64_t hiddenSize = 0;
};
} // namespace

/// Blocks of `size` rows in another order.
static Value reorder(NodeContext &context, Value value, ArrayRef<int64_t> order,
                     int64_t size) {
  if (llvm::is_sorted(order))
    return value;
  SmallVector<Value> parts;
  for (int64_t gate : order)
    parts.push_back(slice(context, value, 0, gate * size, (gate + 1) * size));
  return concat(context, parts, 0);
}

static std::optional<Layer> makeLayer(NodeContext &context,
                                      ArrayRef<Value> parameters,
                                      const Gates &gates, int64_t directions,
                                      bool hasBias) {
  Layer layer;
  SmallVector<Value> weights, recurrences, biases;
  int64_t each = hasBias ? 4 : 2;
  for (int64_t direction = 0; direction < directions; ++direction) {
    ArrayRef<Value> own = parameters.slice(direction * each, each);
    std::optional<int64_t> size = staticDim(own[1], 1);
    if (!size)
      return std::nullopt;
    layer.hiddenSize = *size;
    weights.push_back(
        unsqueeze(context, reorder(context, own[0], gates.order, *size), 0));
    recurrences.push_back(
        unsqueeze(context, reorder(context, own[1], gates.order, *size), 0));
    if (!hasBias)
      continue;
    Value both = concat(context,
                        {reorder(context, own[2], gates.order, *size),
                         reorder(context, own[3], gates.order, *size)},
                        0);
    biases.push_back(unsqueeze(context, both, 0));
  }
  layer.weights = concat(context, weights, 0);
  layer.recurrence = concat(context, recurrences, 0);
  if (hasBias)
    layer.bias = concat(context, biases, 0);
  return layer;
}

/// Builds the op of a layer; its results are the sequence and the last states.
using MakeOp = llvm::function_ref<Operation *(
    Value input, const Layer &layer, ArrayRef<Value> states,
    StringRef direction, ArrayAttr activations)>;

/// Eight bits, or seven where the kernels need room, add this to the largest
/// magnitude of an operand that is quantised by its own range.
static constexpr double kInFewBits = 1 + 1.0 / 64;

/// Weights and biases of cells as the archive reader unpacks them: kind,
/// tensors, two lists of numbers, and the packed weights and biases of input
/// and state. A cell that quantises these two reads them off by a little, which
/// is put on its weights.
static std::optional<SmallVector<Value>>
unpackCells(NodeContext &context, int64_t count, bool hasBias) {
  SmallVector<Value> values;
  for (int64_t cell = 0; cell < count; ++cell) {
    std::string path = "params." + std::to_string(cell) + ".0.";
    std::optional<StringRef> kind = context.findString(path + "0");
    if (!kind)
      return std::nullopt;
    for (int64_t part = 0; part < 2; ++part) {
      Value weight = context.tensor(path + "4." + std::to_string(part) + ".0");
      if (!weight)
        return std::nullopt;
      if (!kind->contains("fp16"))
        weight = context.make<mp::MulOp>(
            weight, context.makeScalar(kInFewBits, getElementType(weight)));
      values.push_back(weight);
    }
    for (int64_t part = 0; hasBias && part < 2; ++part)
      values.push_back(
          context.tensor(path + "4." + std::to_string(part) + ".1"));
  }
  return values;
}

/// [T, directions, B, H] to [T, B, directions H].
static Value joinDirections(NodeContext &context, Value value,
                            int64_t directions, int64_t hiddenSize) {
  if (directions == 1)
    return squeeze(context, value, 1);
  // The 0s copy T and B.
  return reshape(context, transpose(context, value, {0, 2, 1, 3}),
                 context.makeInts({0, 0, directions * hiddenSize}));
}

static Value dropOut(NodeContext &context, Value value, double probability) {
  return context
      .makeTyped<mp::DropoutOp>(context.unknownTypes(1), value, Value(),
                                Value(),
                                context.builder().getF64FloatAttr(probability),
                                context.builder().getUnitAttr(), IntegerAttr())
      ->getResult(0);
}

/// `states` are [layers directions, B, H] each.
static LogicalResult lowerSequence(NodeContext &context, const Gates &gates,
                                   ArrayRef<Value> states, MakeOp makeOp) {
  std::optional<int64_t> layers = context.findInt("num_layers"),
                         hasBias = context.findInt("has_biases"),
                         bidirectional = context.findInt("bidirectional"),
                         batchFirst = context.findInt("batch_first");
  Value input = context.tensor("input");
  if (!layers || !hasBias || !bidirectional || !batchFirst ||
      NodeContext::rankOf(input).value_or(3) != 3 ||
      context.overload() != "input")
    return context.unsupported();
  int64_t directions = *bidirectional ? 2 : 1;
  std::optional<SmallVector<Value>> parameters =
      context.name().starts_with("quantized_")
          ? unpackCells(context, *layers * directions, *hasBias)
          : context.tensors("params");
  if (!parameters)
    return context.unsupported();
  int64_t perLayer = directions * (*hasBias ? 4 : 2);
  if (*layers < 1 || int64_t(parameters->size()) != *layers * perLayer ||
      llvm::is_contained(*parameters, Value()))
    return context.unsupported();
  double dropout = context.getNumber("dropout", 0);
  bool drops = context.getBool("train") && dropout > 0;

  SmallVector<StringRef> names;
  for (int64_t direction = 0; direction < directions; ++direction)
    names.append(gates.activations);
  ArrayAttr activations = context.builder().getStrArrayAttr(names);
  StringRef direction = *bidirectional ? "bidirectional" : "forward";

  Value value = *batchFirst ? transpose(context, input, {1, 0, 2}) : input;
  SmallVector<SmallVector<Value>> last(states.size());
  for (int64_t index = 0; index < *layers; ++index) {
    std::optional<Layer> layer = makeLayer(
        context, ArrayRef(*parameters).slice(index * perLayer, perLayer), gates,
        directions, *hasBias);
    if (!layer)
      return context.unsupported();
    SmallVector<Value> own;
    for (Value state : states)
      own.push_back(*layers == 1 ? state
                                 : slice(context, state, 0, index * directions,
                                         (index + 1) * directions));
    Operation *op = makeOp(value, *layer, own, direction, activations);
    for (auto [list, result] :
         llvm::zip(last, llvm::drop_begin(op->getResults())))
      list.push_back(result);
    value = joinDirections(context, op->getResult(0), directions,
                           layer->hiddenSize);
    if (drops && index + 1 < *layers)
      value = dropOut(context, value, dropout);
  }
  if (*batchFirst)
    value = transpose(context, value, {1, 0, 2});
  context.setOutput(0, value);
  for (auto [index, list] : llvm::enumerate(last))
    context.setOutput(index + 1, concat(context, list, 0));
  return success();
}

static LogicalResult lowerLSTM(NodeContext &context) {
  std::optional<SmallVector<Value>> states = context.tensors("hx");
  if (!states || states->size() != 2 || llvm::is_contained(*states, Value()))
    return context.unsupported();
  // From i f c o to i o f c.
  Gates gates = {{0, 3, 1, 2}, {"Sigmoid", "Tanh", "Tanh"}};
  return lowerSequence(
      context, gates, *states,
      [&](Value input, const Layer &layer, ArrayRef<Value> own,
          StringRef direction, ArrayAttr activations) -> Operation * {
        return context.makeTyped<mp::LSTMOp>(
            context.unknownTypes(3), input, layer.weights, layer.recurrence,
            layer.bias, Value(), own[0], own[1], Value(), layer.hiddenSize,
            direction, activations, ArrayRef<double>(), ArrayRef<double>(),
            APFloat(0.0), false, false);
      });
}

static LogicalResult lowerGRU(NodeContext &context) {
  // From r z n to z r h.
  Gates gates = {{1, 0, 2}, {"Sigmoid", "Tanh"}};
  return lowerSequence(
      context, gates, {context.tensor("hx")},
      [&](Value input, const Layer &layer, ArrayRef<Value> own,
          StringRef direction, ArrayAttr activations) -> Operation * {
        return context.makeTyped<mp::GRUOp>(
            context.unknownTypes(2), input, layer.weights, layer.recurrence,
            layer.bias, Value(), own[0], layer.hiddenSize, direction,
            activations, ArrayRef<double>(), ArrayRef<double>(), APFloat(0.0),
            false, /*linear_before_reset=*/true);
      });
}

static LogicalResult lowerRNN(NodeContext &context) {
  Gates gates = {{0}, {context.name() == "rnn_relu" ? "Relu" : "Tanh"}};
  return lowerSequence(
      context, gates, {context.tensor("hx")},
      [&](Value input, const Layer &layer, ArrayRef<Value> own,
          StringRef direction, ArrayAttr activations) -> Operation * {
        return context.makeTyped<mp::RNNOp>(
            context.unknownTypes(2), input, layer.weights, layer.recurrence,
            layer.bias, Value(), own[0], layer.hiddenSize, direction,
            activations, ArrayRef<double>(), ArrayRef<double>(), APFloat(0.0),
            false);
      });
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

/// A weight of a cell, packed or not.
static Value getCellWeight(NodeContext &context, StringRef name) {
  Value packed = context.tensor((name + ".0").str());
  if (!packed)
    return context.tensor(name);
  return context.make<mp::MulOp>(
      packed, context.makeScalar(kInFewBits, getElementType(packed)));
}

namespace {
struct CellWeights {
  Value input, state, inputBias, stateBias;

  explicit CellWeights(NodeContext &context)
      : input(getCellWeight(context, "w_ih")),
        state(getCellWeight(context, "w_hh")),
        inputBias(context.tensor(oneOf(context, "b_ih", "bias_ih"))),
        stateBias(context.tensor(oneOf(context, "b_hh", "bias_hh"))) {}
  bool areThere() const { return input && state; }
};
} // namespace

static LogicalResult lowerLSTMCell(NodeContext &context) {
  std::optional<SmallVector<Value>> states = context.tensors("hx");
  CellWeights weights(context);
  if (!states || states->size() != 2 || !weights.areThere())
    return context.unsupported();
  auto cell = context.makeTyped<mp::LSTMCellOp>(
      context.unknownTypes(2), context.tensor("input"), (*states)[0],
      (*states)[1], weights.input, weights.state, weights.inputBias,
      weights.stateBias);
  context.setOutput(0, cell.getNextHidden());
  context.setOutput(1, cell.getNextCell());
  return success();
}

static LogicalResult lowerGRUCell(NodeContext &context) {
  CellWeights weights(context);
  if (!weights.areThere())
    return context.unsupported();
  context.setOutput(0, context.make<mp::GRUCellOp>(
                           context.tensor("input"), context.tensor("hx"),
                           weights.input, weights.state, weights.inputBias,
                           weights.stateBias));
  return success();
}

static LogicalResult lowerRNNCell(NodeContext &context) {
  CellWeights weights(context);
  if (!weights.areThere())
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::RNNCellOp>(
             context.tensor("input"), context.tensor("hx"), weights.input,
             weights.state, weights.inputBias, weights.stateBias,
             context.name().contains("rnn_relu_cell") ? StringRef("relu")
                                                      : StringRef("tanh")));
  return success();
}

void aten::registerRecurrent(LoweringRegistry &registry) {
  registry.add({"lstm", "quantized_lstm"}, lowerLSTM);
  registry.add({"gru", "quantized_gru"}, lowerGRU);
  registry.add({"rnn_tanh", "rnn_relu"}, lowerRNN);
  registry.add({"lstm_cell", "quantized::quantized_lstm_cell_dynamic"},
               lowerLSTMCell);
  registry.add({"gru_cell", "quantized::quantized_gru_cell_dynamic"},
               lowerGRUCell);
  registry.add({"rnn_tanh_cell", "rnn_relu_cell",
                "quantized::quantized_rnn_tanh_cell_dynamic",
                "quantized::quantized_rnn_relu_cell_dynamic"},
               lowerRNNCell);
}
