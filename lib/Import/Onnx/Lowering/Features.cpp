//===- Features.cpp - Feature transforms and linear models, from ONNX -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of ai.onnx.ml that compute on numbers. Not covered: maps (ZipMap,
// CastMap, DictVectorizer), strings, support vector machines, Normalizer by the
// maximum, linear classifiers of two classes with one row of coefficients.
//
//===----------------------------------------------------------------------===//

#include "Classic.h"

#include "mpopt/Import/Onnx/Arguments.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

Value onnx_import::makeFloats(NodeContext &ctx, ArrayRef<double> numbers,
                              ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, ctx.builder().getF32Type());
  SmallVector<float> values(numbers.begin(), numbers.end());
  return ctx
      .makeTyped<mp::ConstantOp>(
          {type}, DenseElementsAttr::get(type, ArrayRef<float>(values)))
      .getResult();
}

static Value castTo(NodeContext &ctx, Value value, Type element) {
  if (getElementType(value) == element)
    return value;
  return ctx
      .makeTyped<mp::CastOp>({getTensorType(std::nullopt, element)}, value)
      .getResult();
}

static Value toFloat(NodeContext &ctx, Value value) {
  return castTo(ctx, value, ctx.builder().getF32Type());
}

/// A list along the last axis, or one number.
static Value makeList(NodeContext &ctx, ArrayRef<double> numbers) {
  return makeFloats(ctx, numbers, {int64_t(numbers.size())});
}

/// (x - offset) * scale.
static LogicalResult lowerScaler(NodeContext &ctx) {
  auto offset = ctx.findFloats("offset"), scale = ctx.findFloats("scale");
  if (!offset || !scale || offset->empty() || scale->empty())
    return ctx.error("needs offset and scale");
  Value centred =
      ctx.make<mp::SubOp>(toFloat(ctx, ctx.input(0)), makeList(ctx, *offset));
  ctx.setOutput(0, ctx.make<mp::MulOp>(centred, makeList(ctx, *scale)));
  return success();
}

static LogicalResult lowerNormalizer(NodeContext &ctx) {
  StringRef norm = ctx.getString("norm", "MAX");
  if (norm != "L1" && norm != "L2")
    return ctx.unsupported();
  // A row of zeros stays one.
  ctx.setOutput(0, ctx.make<mp::LpNormalizeOp>(
                       toFloat(ctx, ctx.input(0)), -1,
                       APFloat(norm == "L1" ? 1.0 : 2.0), APFloat(0x1p-149)));
  return success();
}

/// 1 above the threshold, else 0, in the input's dtype.
static LogicalResult lowerBinarizer(NodeContext &ctx) {
  Value input = ctx.input(0);
  Type element = getElementType(input);
  if (!isa<FloatType, IntegerType>(element))
    return ctx.unsupported();
  Value above = ctx.make<mp::GreaterOp>(
      input, ctx.makeScalar(ctx.getFloat("threshold", 0), element));
  ctx.setOutput(0, castTo(ctx, above, element));
  return success();
}

/// Columns of all inputs side by side; a list is a row.
static LogicalResult lowerFeatureVectorizer(NodeContext &ctx) {
  SmallVector<Value> columns;
  for (Value input : ctx.inputs()) {
    MaybeShape shape = getShape(input);
    if (!shape)
      return ctx.unsupported();
    if (shape->size() == 1)
      input = ctx.make<mp::ReshapeOp>(input, ctx.makeInts({1, -1}), false);
    columns.push_back(toFloat(ctx, input));
  }
  if (columns.empty())
    return ctx.error("has no inputs");
  ctx.setOutput(0, ctx.make<mp::ConcatOp>(columns, -1));
  return success();
}

/// Elements of the last axis.
static LogicalResult lowerArrayFeatureExtractor(NodeContext &ctx) {
  MaybeShape shape = getShape(ctx.input(0));
  Value indices =
      ctx.make<mp::ReshapeOp>(ctx.input(1), ctx.makeInts({-1}), false);
  if (!shape || shape->size() < 2)
    return ctx.unsupported();
  ctx.setOutput(0, ctx.make<mp::GatherOp>(ctx.input(0), indices,
                                          int64_t(shape->size()) - 1));
  return success();
}

/// Replaces missing values (NaN, or a number that stands for them).
static LogicalResult lowerImputer(NodeContext &ctx) {
  Value input = ctx.input(0);
  auto values = ctx.findFloats("imputed_value_floats");
  if (!values || values->empty() || !isa<FloatType>(getElementType(input)))
    return ctx.unsupported();
  double replaced = ctx.getFloat("replaced_value_float", 0);
  Type element = getElementType(input);
  Value missing =
      std::isnan(replaced)
          ? ctx.make<mp::IsNanOp>(input)
          : ctx.make<mp::EqualOp>(input, ctx.makeScalar(replaced, element));
  ctx.setOutput(
      0, ctx.make<mp::WhereOp>(
             missing, castTo(ctx, makeList(ctx, *values), element), input));
  return success();
}

/// A column for each category.
static LogicalResult lowerOneHotEncoder(NodeContext &ctx) {
  SmallVector<int64_t> categories = ctx.getInts("cats_int64s");
  Type element = getElementType(ctx.input(0));
  if (categories.empty() || !element.isInteger())
    return ctx.unsupported();
  Value column = ctx.make<mp::UnsqueezeOp>(
      castTo(ctx, ctx.input(0), ctx.builder().getI64Type()), Value(),
      ctx.builder().getDenseI64ArrayAttr({-1}));
  Value equal = ctx.make<mp::EqualOp>(column, ctx.makeInts(categories));
  ctx.setOutput(0, toFloat(ctx, equal));
  return success();
}

/// Null if the transform has no counterpart.
static Value applyPostTransform(NodeContext &ctx, Value scores) {
  StringRef transform = ctx.getString("post_transform", "NONE");
  if (transform == "NONE")
    return scores;
  if (transform == "LOGISTIC")
    return ctx.make<mp::SigmoidOp>(scores);
  if (transform == "SOFTMAX")
    return ctx.make<mp::SoftmaxOp>(scores, ctx.builder().getI64IntegerAttr(-1),
                                   UnitAttr());
  return {};
}

/// x coefficients^T + intercepts with so many rows; null if they do not fit.
static Value makeScores(NodeContext &ctx, int64_t rows) {
  auto coefficients = ctx.findFloats("coefficients");
  auto intercepts = ctx.findFloats("intercepts");
  if (!coefficients || rows < 1 || coefficients->empty() ||
      int64_t(coefficients->size()) % rows != 0 ||
      (intercepts && int64_t(intercepts->size()) != rows))
    return {};
  int64_t features = int64_t(coefficients->size()) / rows;
  Value bias = intercepts ? makeList(ctx, *intercepts) : Value();
  return ctx.make<mp::LinearOp>(
      toFloat(ctx, ctx.input(0)),
      makeFloats(ctx, *coefficients, {rows, features}), bias);
}

static LogicalResult lowerLinearRegressor(NodeContext &ctx) {
  Value scores = makeScores(ctx, ctx.getInt("targets", 1));
  Value result = scores ? applyPostTransform(ctx, scores) : Value();
  if (!result)
    return ctx.unsupported();
  ctx.setOutput(0, result);
  return success();
}

static LogicalResult lowerLinearClassifier(NodeContext &ctx) {
  SmallVector<int64_t> labels = ctx.getInts("classlabels_ints");
  auto intercepts = ctx.findFloats("intercepts");
  if (labels.size() < 2 || !intercepts || intercepts->size() != labels.size())
    return ctx.unsupported();
  Value scores = makeScores(ctx, labels.size());
  Value result = scores ? applyPostTransform(ctx, scores) : Value();
  if (!result)
    return ctx.unsupported();
  Value best = ctx.make<mp::ArgMaxOp>(
      scores, ctx.builder().getI64IntegerAttr(-1), false, false);
  ctx.setOutput(0, ctx.make<mp::GatherOp>(ctx.makeInts(labels), best, 0));
  if (ctx.hasOutput(1))
    ctx.setOutput(1, result);
  return success();
}

void onnx_import::registerFeatureLowerings(LoweringRegistry &registry) {
  // The domain of ONNX-ML.
  constexpr StringRef kDomain = "ai.onnx.ml";
  registry.add(kDomain, "ArrayFeatureExtractor",
               withInputs<2, lowerArrayFeatureExtractor>);
  registry.add(kDomain, "Binarizer", withInputs<1, lowerBinarizer>);
  registry.add(kDomain, "FeatureVectorizer", lowerFeatureVectorizer);
  registry.add(kDomain, "Imputer", withInputs<1, lowerImputer>);
  registry.add(kDomain, "LinearClassifier",
               withInputs<1, lowerLinearClassifier>);
  registry.add(kDomain, "LinearRegressor", withInputs<1, lowerLinearRegressor>);
  registry.add(kDomain, "Normalizer", withInputs<1, lowerNormalizer>);
  registry.add(kDomain, "OneHotEncoder", withInputs<1, lowerOneHotEncoder>);
  registry.add(kDomain, "Scaler", withInputs<1, lowerScaler>);
}
