//===- Quantized.cpp - Quantisation ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A quantised tensor carries its scale and zero point with it, through views
// and through ops that know nothing of them. It stands here for the numbers
// that it means: quantising is mp.fake_quantize, dequantising gives the tensor
// itself, and a quantised product is the product of these numbers, quantised
// again. Integer kernels compute the same but for the last rounding.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

namespace {
struct QuantizedRange {
  int64_t low, high;
};
} // namespace

/// The integers of qint8, quint8 and qint32 (12 to 14 of c10::ScalarType);
/// nothing for other dtypes.
static std::optional<QuantizedRange> findRange(std::optional<int64_t> dtype) {
  if (dtype == 12)
    return QuantizedRange{-128, 127};
  if (dtype == 13)
    return QuantizedRange{0, 255};
  if (dtype == 14)
    return QuantizedRange{-2147483648ll, 2147483647ll};
  return std::nullopt;
}

/// A number as a rank-0 tensor, a tensor of one element flattened to that.
static Value scalarInput(NodeContext &context, StringRef input, Type element) {
  if (context.isScalar(input))
    if (std::optional<double> known = context.findNumber(input))
      return context.makeScalar(*known, element);
  Value value = context.tensor(input);
  if (!value)
    return {};
  return reshape(context, context.cast(value, element, /*promotion=*/false),
                 ArrayRef<int64_t>());
}

static Value fakeQuantize(NodeContext &context, Value value, Value scale,
                          Value zeroPoint, QuantizedRange range,
                          IntegerAttr axis = {}) {
  return context.make<mp::FakeQuantizeOp>(value, scale, zeroPoint, range.low,
                                          range.high, axis);
}

//===----------------------------------------------------------------------===//
// To and from
//===----------------------------------------------------------------------===//

static LogicalResult lowerQuantizePerTensor(NodeContext &context) {
  std::optional<QuantizedRange> range = findRange(context.findInt("dtype"));
  if (!range || !context.has("self"))
    return context.unsupported();
  Builder &builder = context.builder();
  Value scale = scalarInput(context, "scale", builder.getF32Type()),
        zeroPoint = scalarInput(context, "zero_point", builder.getI32Type());
  if (!scale || !zeroPoint)
    return context.unsupported();
  context.setOutput(0, fakeQuantize(context, context.tensor("self"), scale,
                                    zeroPoint, *range));
  return success();
}

/// The range from the input's own.
static LogicalResult lowerQuantizeDynamic(NodeContext &context) {
  auto quantized = context.makeTyped<mp::DynamicQuantizeOp>(
      context.unknownTypes(3), context.tensor("self"));
  context.setOutput(0, context.make<mp::DequantizeOp>(
                           quantized.getValues(), quantized.getScale(),
                           quantized.getZeroPoint(), 1, 0, TypeAttr(),
                           DenseI64ArrayAttr()));
  return success();
}

static LogicalResult lowerPerChannel(NodeContext &context,
                                     std::optional<QuantizedRange> range,
                                     StringRef scales, StringRef zeroPoints) {
  Value self = context.tensor("self");
  std::optional<int64_t> axis = context.findInt("axis");
  axis = axis ? NodeContext::axisOf(self, *axis) : std::nullopt;
  if (!range || !axis)
    return context.unsupported();
  Builder &builder = context.builder();
  Value scale = context.cast(context.tensor(scales), builder.getF32Type()),
        zeroPoint =
            context.cast(context.tensor(zeroPoints), builder.getI32Type());
  context.setOutput(0, fakeQuantize(context, self, scale, zeroPoint, *range,
                                    builder.getI64IntegerAttr(*axis)));
  return success();
}

static LogicalResult lowerQuantizePerChannel(NodeContext &context) {
  return lowerPerChannel(context, findRange(context.findInt("dtype")), "scales",
                         "zero_points");
}

static std::optional<QuantizedRange> givenRange(NodeContext &context) {
  std::optional<int64_t> low = context.findInt("quant_min"),
                         high = context.findInt("quant_max");
  if (!low || !high || *low >= *high)
    return std::nullopt;
  return QuantizedRange{*low, *high};
}

static LogicalResult lowerFakeQuantize(NodeContext &context) {
  std::optional<QuantizedRange> range = givenRange(context);
  Builder &builder = context.builder();
  Value scale = scalarInput(context, "scale", builder.getF32Type()),
        zeroPoint = scalarInput(context, "zero_point", builder.getI32Type());
  if (!range || !scale || !zeroPoint)
    return context.unsupported();
  context.setOutput(0, fakeQuantize(context, context.tensor("self"), scale,
                                    zeroPoint, *range));
  return success();
}

static LogicalResult lowerFakeQuantizePerChannel(NodeContext &context) {
  return lowerPerChannel(context, givenRange(context), "scale", "zero_point");
}

/// The numbers themselves, behind an op that tells them from a quantised tensor
/// (`requantize`).
static LogicalResult lowerDequantize(NodeContext &context) {
  auto dequantized = [&](Value value) {
    return Value(context.make<mp::IdentityOp>(value));
  };
  for (StringRef list : {"tensors", "qtensors"})
    if (std::optional<SmallVector<Value>> values = context.tensors(list)) {
      context.setOutputTensors(0, llvm::map_to_vector(*values, dequantized));
      return success();
    }
  Value value = context.tensor(context.has("self") ? "self" : "qtensor");
  if (!value)
    return context.unsupported();
  context.setOutput(0, dequantized(value));
  return success();
}

Value aten::requantize(NodeContext &context, Value result, Value input) {
  while (Operation *op = input.getDefiningOp()) {
    if (auto quantized = dyn_cast<mp::FakeQuantizeOp>(op)) {
      if (quantized.getAxis())
        return result;
      return context.make<mp::FakeQuantizeOp>(
          result, quantized.getScale(), quantized.getZeroPoint(),
          quantized.getQuantMin(), quantized.getQuantMax(), IntegerAttr());
    }
    if (isa<mp::IdentityOp>(op) ||
        !hasRole(op, Role::CopiesElements | Role::Rectifier | Role::Limit |
                         Role::Picks))
      return result;
    input = op->getOperand(0);
  }
  return result;
}

/// The integers that are stored, where the op that made them is at hand.
static LogicalResult lowerIntRepr(NodeContext &context) {
  Value self = context.tensor("self");
  Builder &builder = context.builder();
  if (auto op = self.getDefiningOp<mp::FakeQuantizeOp>()) {
    if (op.getQuantMax() > 255 || !op.getZeroPoint())
      return context.unsupported();
    Type element =
        int64_t(op.getQuantMin()) < 0
            ? Type(builder.getI8Type())
            : IntegerType::get(context.context(), 8, IntegerType::Unsigned);
    context.setOutput(
        0, context.make<mp::QuantizeOp>(
               op.getInput(), op.getScale(),
               context.cast(op.getZeroPoint(), element, /*promotion=*/false),
               op.getAxis().value_or(1), 0, true, TypeAttr(),
               DenseI64ArrayAttr()));
    return success();
  }
  if (auto op = self.getDefiningOp<mp::DequantizeOp>()) {
    context.setOutput(0, op.getInput());
    return success();
  }
  return context.unsupported();
}

template <bool Scale>
static LogicalResult lowerParameter(NodeContext &context) {
  Value self = context.tensor("self"), scale, zeroPoint;
  if (auto op = self.getDefiningOp<mp::FakeQuantizeOp>()) {
    scale = op.getScale();
    zeroPoint = op.getZeroPoint();
  } else if (auto op = self.getDefiningOp<mp::DequantizeOp>()) {
    scale = op.getScale();
    zeroPoint = op.getZeroPoint();
  }
  Value value = Scale ? scale : zeroPoint;
  if (!value || NodeContext::rankOf(value) != 0)
    return context.unsupported();
  Type element = Scale ? Type(context.builder().getF64Type())
                       : Type(context.builder().getI64Type());
  context.setOutputNumber(0, context.cast(value, element));
  return success();
}

//===----------------------------------------------------------------------===//
// Quantised arithmetic
//===----------------------------------------------------------------------===//

/// Scale and zero point of the result, under whichever names the op has; as
/// quint8, which these kernels give.
static LogicalResult giveQuantized(NodeContext &context, Value value) {
  auto first = [&](ArrayRef<StringRef> names) -> StringRef {
    for (StringRef name : names)
      if (context.has(name))
        return name;
    return {};
  };
  StringRef scaleName = first({"scale", "output_scale", "Y_scale_i"}),
            zeroName =
                first({"zero_point", "output_zero_point", "Y_zero_point_i"});
  // Without them the result's are what the kernel finds; exact but for those.
  if (scaleName.empty() || zeroName.empty()) {
    context.setOutput(0, value);
    return success();
  }
  Builder &builder = context.builder();
  Value scale = scalarInput(context, scaleName, builder.getF32Type()),
        zeroPoint = scalarInput(context, zeroName, builder.getI32Type());
  if (!scale || !zeroPoint)
    return context.unsupported();
  context.setOutput(0,
                    fakeQuantize(context, value, scale, zeroPoint, {0, 255}));
  return success();
}

static bool endsInRelu(NodeContext &context) {
  return context.name().ends_with("relu") && context.name() != "relu" &&
         context.name() != "leaky_relu";
}

static Value applyRelu(NodeContext &context, Value value) {
  return endsInRelu(context) ? Value(context.make<mp::ReluOp>(value)) : value;
}

static LogicalResult lowerLinear(NodeContext &context) {
  Value weight = context.tensor("W_prepack.0"),
        bias = context.tensor("W_prepack.1");
  if (!weight)
    return context.unsupported();
  Value product = context.make<mp::LinearOp>(context.tensor("X"), weight, bias);
  return giveQuantized(context, applyRelu(context, product));
}

/// Quantises its input by the input's own range.
/// Codes that other ops make of numbers as quantising does: round(x / scale),
/// clipped or not, with one scale or one a row.
static Value quantizeAtOnce(NodeContext &context, Value codes) {
  auto cast = codes.getDefiningOp<mp::CastOp>();
  Value number = cast ? cast.getInput() : codes;
  if (auto clip = number.getDefiningOp<mp::ClipOp>())
    number = clip.getInput();
  auto round = number.getDefiningOp<mp::RoundOp>();
  auto steps = round ? round.getInput().getDefiningOp<mp::DivOp>() : nullptr;
  MaybeShape shape = getShape(codes);
  MaybeShape scales = steps ? getShape(steps.getRhs()) : std::nullopt;
  if (!cast || !scales || !shape || shape->empty())
    return codes;
  bool isOne = getNumElements(*scales) == 1;
  if (!isOne && (scales->size() != shape->size() || scales->back() != 1 ||
                 shape->back() == kDynamic))
    return codes;
  Builder &builder = context.builder();
  Value zero = reshape(context, context.makeScalar(0, getElementType(codes)),
                       Shape(scales->size(), 1));
  return context.make<mp::QuantizeOp>(
      steps.getLhs(), steps.getRhs(), zero, builder.getI64IntegerAttr(-1),
      builder.getI64IntegerAttr(isOne ? 0 : shape->back()),
      builder.getBoolAttr(true), TypeAttr(), DenseI64ArrayAttr());
}

static LogicalResult lowerIntegerProduct(NodeContext &context) {
  Value lhs = context.tensor("self"), rhs = context.tensor("mat2");
  if (!lhs || !rhs)
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::MatMulIntegerOp>(quantizeAtOnce(context, lhs), rhs,
                                           Value(), Value()));
  return success();
}

static LogicalResult lowerLinearDynamic(NodeContext &context) {
  Value weight = context.tensor("W_prepack.0"),
        bias = context.tensor("W_prepack.1");
  if (!weight)
    return context.unsupported();
  auto quantized = context.makeTyped<mp::DynamicQuantizeOp>(
      context.unknownTypes(3), context.tensor("X"));
  Value input = context.make<mp::DequantizeOp>(
      quantized.getValues(), quantized.getScale(), quantized.getZeroPoint(), 1,
      0, TypeAttr(), DenseI64ArrayAttr());
  Value product = context.make<mp::LinearOp>(input, weight, bias);
  context.setOutput(0, applyRelu(context, product));
  return success();
}

/// Weights are stored in 16 bits, and nothing else is.
static LogicalResult lowerLinearHalf(NodeContext &context) {
  Value weight = context.tensor("W_prepack.0"),
        bias = context.tensor("W_prepack.1");
  if (!weight)
    return context.unsupported();
  Value product = context.make<mp::LinearOp>(context.tensor("X"), weight, bias);
  context.setOutput(0, context.name().contains("relu")
                           ? Value(context.make<mp::ReluOp>(product))
                           : product);
  return success();
}

/// The archive reader unpacks the numbers of the table.
static LogicalResult lowerEmbedding(NodeContext &context) {
  Value table = context.tensor("weight.0"), indices = context.tensor("indices");
  if (!table || !indices)
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::EmbeddingOp>(table, indices, IntegerAttr()));
  return success();
}

static LogicalResult lowerConv(NodeContext &context) {
  // Weight, bias, stride, padding, output padding, dilation, groups, whether
  // transposed (see the archive reader).
  std::string packed =
      context.has("packed_weight") ? "packed_weight" : "weight";
  auto member = [&](unsigned index) {
    return packed + "." + std::to_string(index);
  };
  Value weight = context.tensor(member(0)), bias = context.tensor(member(1));
  std::optional<SmallVector<int64_t>> stride = context.findInts(member(2)),
                                      padding = context.findInts(member(3)),
                                      dilation = context.findInts(member(5));
  std::optional<int64_t> groups = context.findInt(member(6));
  std::optional<SmallVector<int64_t>> outputPads = context.findInts(member(4));
  bool transposed = context.getBool(member(7));
  if (!weight || !stride || !padding || !dilation || !groups ||
      (transposed && !outputPads))
    return context.unsupported();
  SmallVector<int64_t> pads = *padding;
  pads.append(*padding);
  Value product =
      transposed ? context.make<mp::ConvTransposeOp>(
                       context.tensor("qx"), weight, bias,
                       ArrayRef<int64_t>(*stride), ArrayRef<int64_t>(*dilation),
                       ArrayRef<int64_t>(pads), ArrayRef<int64_t>(*outputPads),
                       ArrayRef<int64_t>(), *groups, StringRef("NOTSET"))
                 : context.make<mp::ConvOp>(
                       context.tensor("qx"), weight, bias,
                       ArrayRef<int64_t>(*stride), ArrayRef<int64_t>(*dilation),
                       ArrayRef<int64_t>(pads), *groups, StringRef("NOTSET"));
  return giveQuantized(context, applyRelu(context, product));
}

template <typename OpT> static LogicalResult lowerBinary(NodeContext &context) {
  Value lhs = context.tensor("qa"),
        rhs = context.tensor(context.has("qb") ? "qb" : "b");
  if (!lhs || !rhs || isUnknown(getElementType(lhs)))
    return context.unsupported();
  Value value = context.make<OpT>(
      lhs, context.cast(rhs, getElementType(lhs), /*promotion=*/false));
  return giveQuantized(context, applyRelu(context, value));
}

static LogicalResult lowerCat(NodeContext &context) {
  std::optional<SmallVector<Value>> values = context.tensors("qx");
  if (!values || values->empty())
    return context.unsupported();
  std::optional<int64_t> axis =
      NodeContext::axisOf(values->front(), context.getInt("dim", 0));
  if (!axis)
    return context.unsupported();
  return giveQuantized(
      context, applyRelu(context, context.make<mp::ConcatOp>(*values, *axis)));
}

template <typename OpT>
static LogicalResult lowerActivation(NodeContext &context) {
  return giveQuantized(context, context.make<OpT>(context.tensor(
                                    context.has("input") ? "input" : "qx")));
}

/// As many last axes as the normalized shape has, in float inside.
static LogicalResult lowerLayerNorm(NodeContext &context) {
  Value input = context.tensor("input");
  auto sizes = context.findInts("normalized_shape");
  std::optional<double> epsilon = context.findNumber("eps");
  if (!input || !sizes || !epsilon)
    return context.unsupported();
  auto op = context.makeTyped<mp::LayerNormOp>(
      context.unknownTypes(1), input, context.tensor("weight"),
      context.tensor("bias"), -int64_t(sizes->size()), APFloat(*epsilon),
      TypeAttr());
  return giveQuantized(context, op->getResult(0));
}

static LogicalResult lowerMatMul(NodeContext &context) {
  Value lhs = context.tensor("qa"), rhs = context.tensor("qb");
  if (!lhs || !rhs)
    return context.unsupported();
  return giveQuantized(context, context.make<mp::MatMulOp>(
                                    lhs, rhs, false, false, APFloat(1.0)));
}

static LogicalResult lowerLeakyRelu(NodeContext &context) {
  std::optional<double> slope = context.findNumber("negative_slope");
  if (!slope)
    return context.unsupported();
  return giveQuantized(context, context.make<mp::LeakyReluOp>(
                                    context.tensor("qx"),
                                    context.builder().getF64FloatAttr(*slope)));
}

void aten::registerQuantized(LoweringRegistry &registry) {
  registerDecomposedQuantization(registry);
  registry.add("quantize_per_tensor", lowerQuantizePerTensor);
  registry.add("quantize_per_tensor_dynamic", lowerQuantizeDynamic);
  registry.add("quantize_per_channel", lowerQuantizePerChannel);
  registry.add("fake_quantize_per_tensor_affine", lowerFakeQuantize);
  registry.add("fake_quantize_per_channel_affine", lowerFakeQuantizePerChannel);
  registry.add("dequantize", lowerDequantize);
  registry.add("int_repr", lowerIntRepr);
  registry.add("q_scale", lowerParameter<true>);
  registry.add("q_zero_point", lowerParameter<false>);
  registry.add({"quantized::linear", "quantized::linear_relu"}, lowerLinear);
  registry.add("_int_mm", lowerIntegerProduct);
  registry.add({"quantized::linear_dynamic", "quantized::linear_relu_dynamic"},
               lowerLinearDynamic);
  registry.add({"quantized::conv1d", "quantized::conv2d", "quantized::conv3d",
                "quantized::conv1d_relu", "quantized::conv2d_relu",
                "quantized::conv3d_relu", "quantized::conv_transpose1d",
                "quantized::conv_transpose2d", "quantized::conv_transpose3d"},
               lowerConv);
  registry.add(
      {"quantized::linear_dynamic_fp16", "quantized::linear_relu_dynamic_fp16"},
      lowerLinearHalf);
  registry.add({"quantized::embedding_byte", "quantized::embedding_4bit"},
               lowerEmbedding);
  registry.add({"quantized::add", "quantized::add_relu",
                "quantized::add_scalar", "quantized::add_scalar_relu"},
               lowerBinary<mp::AddOp>);
  registry.add({"quantized::mul", "quantized::mul_relu",
                "quantized::mul_scalar", "quantized::mul_scalar_relu"},
               lowerBinary<mp::MulOp>);
  registry.add({"quantized::cat", "quantized::cat_relu"}, lowerCat);
  registry.add("quantized::hardswish", lowerActivation<mp::HardSwishOp>);
  registry.add("quantized::sigmoid", lowerActivation<mp::SigmoidOp>);
  registry.add("quantized::leaky_relu", lowerLeakyRelu);
  registry.add("quantized::layer_norm", lowerLayerNorm);
  registry.add("quantized::matmul", lowerMatMul);
}
