//===- Activation.cpp - Activations and softmax, from aten ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: rrelu while training (a random slope).
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "ShapeValues.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include <limits>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// An op with one number that the model gives, or `otherwise`.
template <typename OpT>
static LogicalResult makeWithNumber(NodeContext &context, StringRef name,
                                    double otherwise) {
  Value input = context.tensor("self");
  if (!input || context.isDynamic(name))
    return context.unsupported();
  context.setOutput(
      0, context.make<OpT>(input, APFloat(context.getNumber(name, otherwise))));
  return success();
}

//===----------------------------------------------------------------------===//
// Piecewise linear
//===----------------------------------------------------------------------===//

/// mp.hard_tanh is about floats; integers are clipped.
static LogicalResult makeHardTanh(NodeContext &context, Value input, double low,
                                  double high) {
  if (isIntegral(input)) {
    context.setOutput(
        0, context.make<mp::ClipOp>(input, constantLike(context, low, input),
                                    constantLike(context, high, input)));
    return success();
  }
  context.setOutput(
      0, context.make<mp::HardTanhOp>(input, APFloat(low), APFloat(high)));
  return success();
}

static LogicalResult lowerHardTanh(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || context.isDynamic("min_val") || context.isDynamic("max_val"))
    return context.unsupported();
  return makeHardTanh(context, input, context.getNumber("min_val", -1),
                      context.getNumber("max_val", 1));
}

static LogicalResult lowerLeakyRelu(NodeContext &context) {
  return makeWithNumber<mp::LeakyReluOp>(context, "negative_slope", 0.01);
}

static LogicalResult lowerHardSigmoid(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  context.setOutput(0, context.make<mp::HardSigmoidOp>(input, APFloat(1.0 / 6),
                                                       APFloat(0.5)));
  return success();
}

/// Softshrink also moves what is left toward 0.
template <bool Soft> static LogicalResult lowerShrink(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || context.isDynamic("lambd"))
    return context.unsupported();
  double lambda = context.getNumber("lambd", 0.5);
  context.setOutput(0, context.make<mp::ShrinkOp>(input, APFloat(lambda),
                                                  APFloat(Soft ? lambda : 0)));
  return success();
}

/// While not training the slope is the middle of its range.
static LogicalResult lowerRrelu(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || context.isDynamic("training") || context.getBool("training") ||
      context.isDynamic("lower") || context.isDynamic("upper"))
    return context.unsupported();
  double slope = (context.getNumber("lower", 1.0 / 8) +
                  context.getNumber("upper", 1.0 / 3)) /
                 2;
  context.setOutput(0, context.make<mp::LeakyReluOp>(input, APFloat(slope)));
  return success();
}

/// One slope, or one a channel (dim 1).
static LogicalResult lowerPrelu(NodeContext &context) {
  Value input = context.tensor("self"), slope = context.tensor("weight");
  if (!input || !slope)
    return context.unsupported();
  std::optional<int64_t> rank = NodeContext::rankOf(input);
  if (!rank && getNumElements(getShape(slope)) != 1)
    return context.unsupported();
  if (rank == 0)
    slope = reshape(context, slope, ArrayRef<int64_t>());
  if (rank.value_or(0) > 2 && context.name() == "prelu") {
    SmallVector<int64_t> shape(*rank - 1, 1);
    shape.front() = -1;
    slope = reshape(context, slope, shape);
  }
  context.setOutput(0, context.make<mp::PReluOp>(input, slope));
  return success();
}

//===----------------------------------------------------------------------===//
// With an exponential
//===----------------------------------------------------------------------===//

static LogicalResult lowerElu(NodeContext &context) {
  // scale * (x < 0 ? alpha * (e^(input_scale * x) - 1) : x)
  Value input = context.tensor("self");
  for (StringRef name : {"alpha", "scale", "input_scale"})
    if (!input || context.isDynamic(name))
      return context.unsupported();
  double alpha = context.getNumber("alpha", 1),
         scale = context.getNumber("scale", 1),
         inner = context.getNumber("input_scale", 1);
  if (inner == 1 && scale == 1)
    context.setOutput(0, context.make<mp::EluOp>(input, APFloat(alpha)));
  else if (inner == 1)
    context.setOutput(
        0, context.make<mp::SeluOp>(input, APFloat(alpha), APFloat(scale)));
  else if (scale == 1 && alpha != 0 && inner == 1 / alpha)
    context.setOutput(0, context.make<mp::CeluOp>(input, APFloat(alpha)));
  else
    return context.unsupported();
  return success();
}

static LogicalResult lowerCelu(NodeContext &context) {
  return makeWithNumber<mp::CeluOp>(context, "alpha", 1);
}

static LogicalResult lowerSelu(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  context.setOutput(0, context.make<mp::SeluOp>(
                           input, APFloat(1.6732632423543772848170429916717),
                           APFloat(1.0507009873554804934193349852946)));
  return success();
}

static LogicalResult lowerSilu(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  context.setOutput(0, context.make<mp::SiluOp>(input, APFloat(1.0)));
  return success();
}

static LogicalResult lowerGelu(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<StringRef> approximate = context.findString("approximate");
  if (!input || (context.has("approximate") && !approximate))
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::GeluOp>(input, approximate.value_or("none")));
  return success();
}

static LogicalResult lowerSoftplus(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || context.isDynamic("beta") || context.isDynamic("threshold"))
    return context.unsupported();
  Builder &builder = context.builder();
  context.setOutput(
      0, context.make<mp::SoftplusOp>(
             input, builder.getF64FloatAttr(context.getNumber("beta", 1)),
             builder.getF64FloatAttr(context.getNumber("threshold", 20))));
  return success();
}

/// The first half of `dim` gated by the second.
static LogicalResult lowerGlu(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<int64_t> dim = context.findInt("dim");
  if (!input || (context.has("dim") && !dim))
    return context.unsupported();
  Builder &builder = context.builder();
  auto halves = context.makeTyped<mp::SplitOp>(
      context.unknownTypes(2), input, Value(),
      builder.getI64IntegerAttr(dim.value_or(-1)), DenseI64ArrayAttr());
  Value gate = context.make<mp::SigmoidOp>(halves->getResult(1));
  context.setOutput(0, context.make<mp::MulOp>(halves->getResult(0), gate));
  return success();
}

//===----------------------------------------------------------------------===//
// Along an axis
//===----------------------------------------------------------------------===//

/// `dtype`: the dtype in which to compute. `half_to_float`: the same for f32.
template <typename OpT> static Value makeSoftmax(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<int64_t> dim = context.findInt("dim");
  if (!input || !dim)
    return {};
  input = toDtype(context, input);
  if (!input)
    return {};
  if (context.getBool("half_to_float"))
    input = context.cast(input, context.builder().getF32Type());
  return context.make<OpT>(input, *dim, /*flatten=*/false);
}

template <typename OpT>
static LogicalResult lowerSoftmax(NodeContext &context) {
  Value result = makeSoftmax<OpT>(context);
  if (!result)
    return context.unsupported();
  context.setOutput(0, result);
  return success();
}

/// Softmax, and 0 in rows of -inf only.
static LogicalResult lowerSafeSoftmax(NodeContext &context) {
  Value result = makeSoftmax<mp::SoftmaxOp>(context);
  if (!result)
    return context.unsupported();
  Value input = context.tensor("self"), zero = constantLike(context, 0, result);
  if (!zero)
    return context.unsupported();
  Value masked = context.make<mp::IsInfOp>(input, true, false);
  Value rows = context.make<mp::ReduceAllOp>(
      masked, Value(), intsAttr(context, {*context.findInt("dim")}),
      context.builder().getBoolAttr(true));
  context.setOutput(0, context.make<mp::WhereOp>(rows, zero, result));
  return success();
}

void mpopt::aten::registerActivation(LoweringRegistry &registry) {
  registry.add("hardtanh", lowerHardTanh);
  registry.add("leaky_relu", lowerLeakyRelu);
  registry.add("hardsigmoid", lowerHardSigmoid);
  registry.add("hardshrink", lowerShrink<false>);
  registry.add("softshrink", lowerShrink<true>);
  registry.add({"rrelu", "rrelu_with_noise"}, lowerRrelu);
  registry.add({"prelu", "_prelu_kernel"}, lowerPrelu);
  registry.add("elu", lowerElu);
  registry.add("celu", lowerCelu);
  registry.add("selu", lowerSelu);
  registry.add("silu", lowerSilu);
  registry.add("gelu", lowerGelu);
  registry.add("softplus", lowerSoftplus);
  registry.add("glu", lowerGlu);
  registry.add({"softmax.int", "special_softmax", "_softmax"},
               lowerSoftmax<mp::SoftmaxOp>);
  registry.add({"log_softmax.int", "special_log_softmax", "_log_softmax"},
               lowerSoftmax<mp::LogSoftmaxOp>);
  registry.add("_safe_softmax", lowerSafeSoftmax);
}
