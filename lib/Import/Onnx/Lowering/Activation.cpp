//===- Activation.cpp - Activation functions, from ONNX -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Onnx/Lowering.h"

#include "LegacyBroadcast.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

static FloatAttr getNumber(NodeContext &ctx, StringRef name, double otherwise) {
  return ctx.builder().getF64FloatAttr(ctx.getFloat(name, otherwise));
}

/// An op of one input and number attributes.
template <typename OpT, typename... Numbers>
static LogicalResult lowerFunction(NodeContext &ctx, Numbers... numbers) {
  if (failed(ctx.requireInputs(1)))
    return failure();
  ctx.setOutput(0, ctx.make<OpT>(ctx.input(0), numbers...));
  return success();
}

//===----------------------------------------------------------------------===//
// GELU and its relatives
//===----------------------------------------------------------------------===//

/// GELU of an input and the bias that com.microsoft's variants take.
static LogicalResult lowerBiasedGelu(NodeContext &ctx, StringRef approximate) {
  if (failed(ctx.requireInputs(1)))
    return failure();
  Value input = ctx.input(0);
  if (Value bias = ctx.input(1))
    input = ctx.make<mp::AddOp>(input, bias);
  ctx.setOutput(
      0, ctx.make<mp::GeluOp>(input, ctx.builder().getStringAttr(approximate)));
  return success();
}

static LogicalResult lowerGelu(NodeContext &ctx) {
  StringRef approximate = ctx.getString("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return ctx.error("approximate must be none or tanh, not '" + approximate +
                     "'");
  return lowerBiasedGelu(ctx, approximate);
}

static LogicalResult lowerBiasGelu(NodeContext &ctx) {
  if (failed(ctx.requireInputs(2)))
    return failure();
  return lowerBiasedGelu(ctx, "none");
}

static LogicalResult lowerFastGelu(NodeContext &ctx) {
  return lowerBiasedGelu(ctx, "tanh");
}

//===----------------------------------------------------------------------===//
// PRelu, SwiGLU
//===----------------------------------------------------------------------===//

/// Before opset 7 a slope of one dim belongs to the channels, dim 1.
static LogicalResult lowerPRelu(NodeContext &ctx) {
  if (failed(ctx.requireInputs(2)))
    return failure();
  Value slope = ctx.input(1);
  if (ctx.opset() < 7) {
    MaybeShape shape = getShape(ctx.input(0)), own = getShape(slope);
    if (!shape || !own)
      return ctx.unsupported();
    if (own->size() == 1 && own->front() != 1 && shape->size() > 2)
      slope = appendUnitDims(ctx, slope, shape->size() - 2);
  }
  ctx.setOutput(0, ctx.make<mp::PReluOp>(ctx.input(0), slope));
  return success();
}

static LogicalResult lowerSwiglu(NodeContext &ctx) {
  if (failed(ctx.requireInputs(2)))
    return failure();
  ctx.setOutput(0, ctx.make<mp::SwigluOp>(ctx.input(0), ctx.input(1),
                                          getNumber(ctx, "alpha", 1.0)));
  return success();
}

//===----------------------------------------------------------------------===//
// Softmax and its relatives
//===----------------------------------------------------------------------===//

/// `flatten` where more than the axis itself is normalised over.
template <typename OpT>
static Value makeSoftmax(NodeContext &ctx, Value input, int64_t axis,
                         bool flatten) {
  MaybeShape shape = getShape(input);
  int64_t last = shape ? int64_t(shape->size()) - 1 : -1;
  if (axis == -1 || (shape && axis == last))
    flatten = false;
  Builder &builder = ctx.builder();
  return ctx.make<OpT>(input, builder.getI64IntegerAttr(axis),
                       flatten ? builder.getUnitAttr() : UnitAttr());
}

template <typename OpT> static LogicalResult lowerSoftmax(NodeContext &ctx) {
  if (failed(ctx.requireInputs(1)))
    return failure();
  bool flatten = ctx.opset() < 13;
  int64_t axis = ctx.getInt("axis", flatten ? 1 : -1);
  ctx.setOutput(0, makeSoftmax<OpT>(ctx, ctx.input(0), axis, flatten));
  return success();
}

/// The kernel takes a matrix as Softmax did before opset 13 and adds a bias
/// that broadcasts to the data.
static LogicalResult lowerBiasSoftmax(NodeContext &ctx) {
  if (failed(ctx.requireInputs(2)))
    return failure();
  Value biased = ctx.make<mp::AddOp>(ctx.input(0), ctx.input(1));
  ctx.setOutput(
      0, makeSoftmax<mp::SoftmaxOp>(ctx, biased, ctx.getInt("axis", 1), true));
  return success();
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

static void registerNumbered(LoweringRegistry &registry) {
  registry.add("LeakyRelu", [](NodeContext &ctx) {
    return lowerFunction<mp::LeakyReluOp>(ctx, getNumber(ctx, "alpha", 0.01));
  });
  registry.add("ThresholdedRelu", [](NodeContext &ctx) {
    return lowerFunction<mp::ThresholdedReluOp>(ctx,
                                                getNumber(ctx, "alpha", 1.0));
  });
  registry.add("Elu", [](NodeContext &ctx) {
    return lowerFunction<mp::EluOp>(ctx, getNumber(ctx, "alpha", 1.0));
  });
  registry.add("Celu", [](NodeContext &ctx) {
    if (ctx.getFloat("alpha", 1.0) == 0)
      return ctx.error("alpha must not be 0");
    return lowerFunction<mp::CeluOp>(ctx, getNumber(ctx, "alpha", 1.0));
  });
  registry.add("Swish", [](NodeContext &ctx) {
    return lowerFunction<mp::SiluOp>(ctx, getNumber(ctx, "alpha", 1.0));
  });
  registry.add("com.microsoft", "QuickGelu", [](NodeContext &ctx) {
    return lowerFunction<mp::QuickGeluOp>(ctx, getNumber(ctx, "alpha", 1.702));
  });
  registry.add("HardSigmoid", [](NodeContext &ctx) {
    return lowerFunction<mp::HardSigmoidOp>(ctx, getNumber(ctx, "alpha", 0.2),
                                            getNumber(ctx, "beta", 0.5));
  });
  registry.add("Shrink", [](NodeContext &ctx) {
    return lowerFunction<mp::ShrinkOp>(ctx, getNumber(ctx, "lambd", 0.5),
                                       getNumber(ctx, "bias", 0.0));
  });
  registry.add("Selu", [](NodeContext &ctx) {
    // Opset 6 gave the defaults more digits.
    bool old = ctx.opset() < 6;
    return lowerFunction<mp::SeluOp>(
        ctx, getNumber(ctx, "alpha", old ? 1.6732 : 1.67326319217681884765625),
        getNumber(ctx, "gamma", old ? 1.0507 : 1.05070102214813232421875));
  });
  registry.add("Softplus", [](NodeContext &ctx) {
    return lowerFunction<mp::SoftplusOp>(
        ctx, ctx.builder().getF64FloatAttr(1.0), FloatAttr());
  });
}

void onnx_import::registerActivationLowerings(LoweringRegistry &registry) {
  registerNumbered(registry);
  registry.add("PRelu", lowerPRelu);
  registry.add("SwiGLU", lowerSwiglu);
  registry.add("Gelu", lowerGelu);
  registry.add("com.microsoft", "Gelu", lowerGelu);
  registry.add("com.microsoft", "BiasGelu", lowerBiasGelu);
  registry.add("com.microsoft", "FastGelu", lowerFastGelu);
  registry.add("Softmax", lowerSoftmax<mp::SoftmaxOp>);
  registry.add("LogSoftmax", lowerSoftmax<mp::LogSoftmaxOp>);
  registry.add("Hardmax", lowerSoftmax<mp::HardmaxOp>);
  registry.add("com.microsoft", "BiasSoftmax", lowerBiasSoftmax);
}
