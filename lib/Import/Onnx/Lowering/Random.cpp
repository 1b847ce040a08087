//===- Random.cpp - Random values and dropout, from ONNX ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Onnx/Arguments.h"

#include "mpopt/Dialect/InferenceSupport.h"
#include "mpopt/Dialect/Ops/RandomOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

static FloatAttr findFloatAttr(NodeContext &ctx, StringRef name) {
  std::optional<double> value = ctx.findFloat(name);
  return value ? ctx.builder().getF64FloatAttr(*value) : FloatAttr();
}

/// Random*Like take the shape of their input, the others have it written out.
template <typename OpT>
static LogicalResult lowerGenerator(NodeContext &ctx, StringRef first,
                                    double firstDefault, StringRef second) {
  Value shape;
  Type element = ctx.builder().getF32Type();
  if (ctx.hasInput(0)) {
    shape = ctx.make<mp::ShapeOp>(ctx.input(0), int64_t(0), IntegerAttr());
    element = getElementType(ctx.input(0));
  } else if (auto ints = ctx.findInts("shape")) {
    shape = ctx.makeInts(*ints);
  } else {
    return ctx.error("no shape");
  }
  Type type = findResultType(ctx, "dtype", element);
  if (!type)
    return ctx.error("dtype is not a data type");
  Builder &builder = ctx.builder();
  ctx.setOutput(0,
                ctx.makeTyped<OpT>(
                    {type}, shape,
                    builder.getF64FloatAttr(ctx.getFloat(first, firstDefault)),
                    builder.getF64FloatAttr(ctx.getFloat(second, 1)),
                    findFloatAttr(ctx, "seed")));
  return success();
}

static LogicalResult lowerNormal(NodeContext &ctx) {
  return lowerGenerator<mp::RandomNormalOp>(ctx, "mean", 0, "scale");
}
static LogicalResult lowerUniform(NodeContext &ctx) {
  return lowerGenerator<mp::RandomUniformOp>(ctx, "low", 0, "high");
}

static LogicalResult lowerBernoulli(NodeContext &ctx) {
  Type type = findResultType(ctx, "dtype", getElementType(ctx.input(0)));
  if (!type)
    return ctx.error("dtype is not a data type");
  ctx.setOutput(0, ctx.makeTyped<mp::BernoulliOp>({type}, ctx.input(0),
                                                  findFloatAttr(ctx, "seed")));
  return success();
}

static LogicalResult lowerMultinomial(NodeContext &ctx) {
  Type type = findResultType(ctx, "dtype", ctx.builder().getI32Type());
  if (!type)
    return ctx.error("dtype is not a data type");
  Builder &builder = ctx.builder();
  ctx.setOutput(0, ctx.makeTyped<mp::MultinomialOp>(
                       {type}, ctx.input(0),
                       builder.getI64IntegerAttr(ctx.getInt("sample_size", 1)),
                       UnitAttr(), findFloatAttr(ctx, "seed")));
  return success();
}

static LogicalResult lowerDropout(NodeContext &ctx) {
  double ratio = ctx.getFloat("ratio", 0.5);
  bool training = false;
  Value dynamicRatio, dynamicTraining;
  if (ctx.opset() < 7) {
    training = !ctx.getFlag("is_test");
  } else if (ctx.opset() >= 12) {
    if (Value input = ctx.input(1)) {
      auto known = floatConstants(input);
      if (known && known->size() == 1)
        ratio = known->front();
      else
        dynamicRatio = input;
    }
    if (auto known = ctx.constantInts(2); known && known->size() == 1)
      training = known->front() != 0;
    else
      dynamicTraining = ctx.input(2);
  }
  SmallVector<Type> types = ctx.unknownTypes(1);
  if (ctx.hasOutput(1)) {
    // Before opset 10 the mask has the data's type.
    Type element = ctx.opset() < 10 ? getElementType(ctx.input(0))
                                    : Type(ctx.builder().getI1Type());
    if (isUnknown(element))
      return ctx.unsupported();
    types.push_back(getTensorType(std::nullopt, element));
  }
  Builder &builder = ctx.builder();
  IntegerAttr seed;
  if (auto value = ctx.findInt("seed"))
    seed = builder.getI64IntegerAttr(*value);
  auto op = ctx.makeTyped<mp::DropoutOp>(
      types, ctx.input(0), dynamicRatio, dynamicTraining,
      builder.getF64FloatAttr(ratio),
      training ? builder.getUnitAttr() : UnitAttr(), seed);
  if (ctx.hasOutput(0))
    ctx.setOutput(0, op.getResult());
  if (ctx.hasOutput(1))
    ctx.setOutput(1, op.getMask());
  return success();
}

void onnx_import::registerRandomLowerings(LoweringRegistry &registry) {
  registry.add("RandomNormal", lowerNormal);
  registry.add("RandomNormalLike", withInputs<1, lowerNormal>);
  registry.add("RandomUniform", lowerUniform);
  registry.add("RandomUniformLike", withInputs<1, lowerUniform>);
  registry.add("Bernoulli", withInputs<1, lowerBernoulli>);
  registry.add("Multinomial", withInputs<1, lowerMultinomial>);
  registry.add("Dropout", withInputs<1, lowerDropout>);
}
