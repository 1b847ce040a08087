//===- Random.cpp - Random values, from aten ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generators are not looked at. Not covered: cauchy, geometric, poisson,
// binomial.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/RandomOps.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

namespace {
/// Shape and element type of the tensor to fill.
struct Target {
  Value shape;
  Type element;
  explicit operator bool() const { return shape && element; }
};
} // namespace

/// `size` and `dtype` (f32 without one), or those of `self`.
static Target readTarget(NodeContext &context) {
  Type element;
  if (context.has("dtype")) {
    element = context.findElementType();
    if (!element)
      return {};
  }
  if (context.has("size"))
    return {context.shapeOf("size"),
            element ? element : context.builder().getF32Type()};
  Value like = context.tensor("self");
  if (!like)
    return {};
  if (!element)
    element = getElementType(like);
  if (isUnknown(element))
    return {};
  return {shapeValue(context, like), element};
}

/// Samples of the distribution `OpT`, with its two parameters.
template <typename OpT>
static Value makeFloats(NodeContext &context, const Target &target,
                        double first, double second) {
  Builder &builder = context.builder();
  return context
      .makeTyped<OpT>({getTensorType(std::nullopt, target.element)},
                      target.shape, builder.getF64FloatAttr(first),
                      builder.getF64FloatAttr(second), FloatAttr())
      .getResult();
}

static Value makeUniform(NodeContext &context, const Target &target, double low,
                         double high) {
  return makeFloats<mp::RandomUniformOp>(context, target, low, high);
}

static Value makeNormal(NodeContext &context, const Target &target, double mean,
                        double deviation) {
  return makeFloats<mp::RandomNormalOp>(context, target, mean, deviation);
}

static Value makeIntegers(NodeContext &context, const Target &target,
                          int64_t low, int64_t high) {
  Builder &builder = context.builder();
  return context
      .makeTyped<mp::RandomIntOp>({getTensorType(std::nullopt, target.element)},
                                  target.shape, builder.getI64IntegerAttr(low),
                                  builder.getI64IntegerAttr(high), FloatAttr())
      .getResult();
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

static LogicalResult lowerUniform(NodeContext &context) {
  Target target = readTarget(context);
  double low = context.getNumber("from", 0), high = context.getNumber("to", 1);
  if (!target || context.isDynamic("from") || context.isDynamic("to") ||
      !(low <= high))
    return context.unsupported();
  context.setOutput(0, makeUniform(context, target, low, high));
  return success();
}

static LogicalResult lowerNormal(NodeContext &context) {
  Target target = readTarget(context);
  double deviation = context.getNumber("std", 1);
  if (!target || context.isDynamic("mean") || context.isDynamic("std") ||
      !(deviation >= 0))
    return context.unsupported();
  context.setOutput(
      0, makeNormal(context, target, context.getNumber("mean", 0), deviation));
  return success();
}

/// The mean, the deviation or both an element: std * standard normal + mean.
static LogicalResult lowerNormalOf(NodeContext &context) {
  auto operands = promoteAll(context, {"mean", "std"});
  if (!operands)
    return context.unsupported();
  Value mean = (*operands)[0], deviation = (*operands)[1];
  Value like = context.overload() == "float_Tensor" ? deviation : mean;
  Type element = getElementType(like);
  if (isUnknown(element) || (context.overload() == "Tensor_Tensor" &&
                             getShape(mean) != getShape(deviation)))
    return context.unsupported();
  Value normal =
      makeNormal(context, {shapeValue(context, like), element}, 0, 1);
  context.setOutput(0, context.make<mp::AddOp>(
                           context.make<mp::MulOp>(normal, deviation), mean));
  return success();
}

/// -log(u) / lambd of a uniform u that is never 0.
static LogicalResult lowerExponential(NodeContext &context) {
  Target target = readTarget(context);
  double rate = context.getNumber("lambd", 1);
  if (!target || context.isDynamic("lambd") || !(rate > 0) ||
      !isa<FloatType>(target.element))
    return context.unsupported();
  // Drawn in f32, as the kernels do for narrower floats.
  Target drawn = target;
  if (isLowPrecision(target.element))
    drawn.element = context.builder().getF32Type();
  Value uniform = makeUniform(context, drawn, std::ldexp(1.0, -24), 1);
  Value value = context.make<mp::NegOp>(context.make<mp::LogOp>(uniform));
  if (rate != 1)
    value = context.make<mp::DivOp>(value, constantLike(context, rate, value));
  context.setOutput(0, context.cast(value, target.element));
  return success();
}

/// e^(a normal variable), by default of mean 1 and deviation 2.
static LogicalResult lowerLogNormal(NodeContext &context) {
  Target target = readTarget(context);
  double deviation = context.getNumber("std", 2);
  if (!target || context.isDynamic("mean") || context.isDynamic("std") ||
      !(deviation > 0) || !isa<FloatType>(target.element))
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::ExpOp>(makeNormal(
             context, target, context.getNumber("mean", 1), deviation)));
  return success();
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// i64 unless `dtype` says otherwise or there is a tensor to be like.
static LogicalResult lowerIntegers(NodeContext &context) {
  Target target = readTarget(context);
  std::optional<int64_t> low = context.has("low") ? context.findInt("low") : 0,
                         high = context.findInt("high");
  if (!target || !low || !high || *low >= *high)
    return context.unsupported();
  if (context.has("size") && !context.has("dtype"))
    target.element = context.builder().getI64Type();
  context.setOutput(0, makeIntegers(context, target, *low, *high));
  return success();
}

/// A permutation of 0 to n - 1.
static LogicalResult lowerPermutation(NodeContext &context) {
  std::optional<int64_t> n = context.findInt("n");
  Type element = context.has("dtype") ? context.findElementType()
                                      : Type(context.builder().getI64Type());
  if (!n || *n < 1 || !element)
    return context.unsupported();
  context.setOutput(
      0, makeIntegers(context, {context.makeInts({*n}), element}, 0, *n));
  return success();
}

/// `random_`: all integers that the dtype holds exactly, or [from, to).
static LogicalResult lowerRandom(NodeContext &context) {
  Target target = readTarget(context);
  std::optional<int64_t> low =
                             context.has("from") ? context.findInt("from") : 0,
                         high = context.findInt("to");
  if (!target || !low || (context.has("to") && !high))
    return context.unsupported();
  if (!high) {
    if (auto element = dyn_cast<FloatType>(target.element))
      high = (int64_t(1) << std::min(element.getFPMantissaWidth(), 62u)) + 1;
    else if (auto integer = dyn_cast<IntegerType>(target.element))
      high = integer.getWidth() >= 64
                 ? INT64_MAX
                 : int64_t(1)
                       << (integer.getWidth() -
                           (integer.isSignless() && integer.getWidth() > 1));
    else
      return context.unsupported();
  }
  if (*low >= *high)
    return context.unsupported();
  context.setOutput(0, makeIntegers(context, target, *low, *high));
  return success();
}

//===----------------------------------------------------------------------===//
// Draws
//===----------------------------------------------------------------------===//

/// Samples with the probabilities in `self`, or with `p` in the shape of
/// `self`.
static LogicalResult lowerBernoulli(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || isUnknown(getElementType(input)))
    return context.unsupported();
  Type type = getTensorType(getShape(input), getElementType(input));
  Value probabilities = input;
  // `bernoulli_()` has p = 1/2.
  if (context.has("p")) {
    Value shape = shapeValue(context, input);
    if (std::optional<double> known = context.findNumber("p"))
      probabilities =
          fill(context, shape, *known, context.builder().getF32Type());
    else if (Value p = context.tensor("p"))
      probabilities = expand(context, p, shape);
    else
      return context.unsupported();
  }
  context.setOutput(
      0, context.makeTyped<mp::BernoulliOp>({type}, probabilities, FloatAttr())
             .getResult());
  return success();
}

static LogicalResult lowerMultinomial(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<int64_t> count = context.findInt("num_samples");
  if (!input || !count || *count < 1)
    return context.unsupported();
  Builder &builder = context.builder();
  context.setOutput(0,
                    context
                        .makeTyped<mp::MultinomialOp>(
                            {getTensorType(std::nullopt, builder.getI64Type())},
                            input, builder.getI64IntegerAttr(*count),
                            builder.getUnitAttr(), FloatAttr())
                        .getResult());
  return success();
}

void mpopt::aten::registerRandom(LoweringRegistry &registry) {
  registry.add({"rand", "rand_like", "uniform"}, lowerUniform);
  registry.add({"randn", "randn_like", "normal", "normal_functional"},
               lowerNormal);
  registry.add(
      {"normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor"},
      lowerNormalOf);
  registry.add("exponential", lowerExponential);
  registry.add("log_normal", lowerLogNormal);
  registry.add({"randint", "randint_like"}, lowerIntegers);
  registry.add("randperm", lowerPermutation);
  registry.add("random", lowerRandom);
  registry.add("bernoulli", lowerBernoulli);
  registry.add("multinomial", lowerMultinomial);
  registerDropout(registry);
}
