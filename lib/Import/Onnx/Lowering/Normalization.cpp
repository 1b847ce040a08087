//===- Normalization.cpp - Normalisation, from ONNX -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Onnx/Lowering.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

static LogicalResult needInputs(NodeContext &ctx, ArrayRef<unsigned> indices) {
  for (unsigned index : indices)
    if (!ctx.hasInput(index))
      return ctx.error("input " + Twine(index) + " is missing");
  return success();
}

static APFloat getEpsilon(const NodeContext &ctx, double otherwise = 1e-5) {
  return APFloat(ctx.getFloat("epsilon", otherwise));
}

/// Null unless the node says it: its default is what an absent one means.
static TypeAttr getStashType(const NodeContext &ctx) {
  std::optional<int64_t> dtype = ctx.findInt("stash_type");
  Type type = dtype ? ctx.elementTypeOf(*dtype) : Type();
  return type ? TypeAttr::get(type) : TypeAttr();
}

//===----------------------------------------------------------------------===//
// By channel
//===----------------------------------------------------------------------===//

static LogicalResult lowerBatchNorm(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0, 1, 2, 3, 4})))
    return failure();
  unsigned wanted = 0;
  for (unsigned index = 1; index < ctx.numOutputs(); ++index)
    if (ctx.hasOutput(index))
      wanted = index;
  // Until opset 13 the number of outputs tells training from inference.
  bool modern = ctx.opset() >= 14;
  bool training = modern ? ctx.getFlag("training_mode") : wanted > 0;
  unsigned stats = !wanted ? 0 : modern ? 2 : 4;
  if (wanted > stats)
    return ctx.error("has " + Twine(wanted + 1) + " outputs");
  auto op = ctx.makeTyped<mp::BatchNormOp>(
      ctx.unknownTypes(1 + stats), ctx.input(0), ctx.input(1), ctx.input(2),
      ctx.input(3), ctx.input(4), getEpsilon(ctx),
      APFloat(ctx.getFloat("momentum", 0.9)), training,
      ctx.getFlag("spatial", true));
  for (OpResult result : op->getResults())
    if (ctx.hasOutput(result.getResultNumber()))
      ctx.setOutput(result.getResultNumber(), result);
  return success();
}

/// ONNX Runtime's of training graphs: (X, scale, B, mean, variance) to Y, the
/// running mean and variance, and of the batch the mean and 1 / sqrt(variance +
/// epsilon).
static LogicalResult lowerBatchNormInternal(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0, 1, 2, 3, 4})))
    return failure();
  bool training = ctx.getFlag("training_mode");
  bool wantsStatistics = false;
  for (unsigned index = 1; index < ctx.numOutputs(); ++index)
    wantsStatistics |= ctx.hasOutput(index);
  // Statistics have the type of those that come in, whatever else is at odds.
  Type statistic = getElementType(ctx.input(4));
  if (wantsStatistics && !(training && isa_and_present<FloatType>(statistic)))
    return ctx.unsupported();
  auto op = ctx.makeTyped<mp::BatchNormOp>(
      ctx.unknownTypes(training ? 5 : 1), ctx.input(0), ctx.input(1),
      ctx.input(2), ctx.input(3), ctx.input(4), getEpsilon(ctx),
      APFloat(ctx.getFloat("momentum", 0.9)), training,
      ctx.getFlag("spatial", true));
  // The output saved_var, which holds 1 / sqrt(var + epsilon).
  constexpr unsigned kVariance = 4;
  for (OpResult result : op->getResults()) {
    unsigned index = result.getResultNumber();
    if (!ctx.hasOutput(index))
      continue;
    Value value = result;
    if (index == kVariance) {
      Value guard =
          ctx.makeScalar(getEpsilon(ctx).convertToDouble(), statistic);
      value = ctx.make<mp::RsqrtOp>(ctx.make<mp::AddOp>(value, guard));
    }
    ctx.setOutput(index, value);
  }
  return success();
}

static LogicalResult lowerInstanceNorm(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0, 1, 2})))
    return failure();
  ctx.setOutput(0, ctx.make<mp::InstanceNormOp>(ctx.input(0), ctx.input(1),
                                                ctx.input(2), getEpsilon(ctx)));
  return success();
}

static LogicalResult lowerGroupNorm(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0, 1, 2})))
    return failure();
  std::optional<int64_t> groups = ctx.findInt("num_groups");
  if (!groups)
    return ctx.error("attribute num_groups is missing");
  ctx.setOutput(0, ctx.make<mp::GroupNormOp>(
                       ctx.input(0), ctx.input(1), ctx.input(2), *groups,
                       getEpsilon(ctx), false, getStashType(ctx)));
  return success();
}

/// GroupNorm and SkipGroupNorm of com.microsoft: by default channels last, with
/// SiLU if `activation` is 1; `extra` inputs are added first.
static LogicalResult lowerMicrosoftGroupNorm(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0, 1, 2})))
    return failure();
  std::optional<int64_t> groups = ctx.findInt("groups");
  if (!groups)
    return ctx.error("attribute groups is missing");
  Value input = ctx.input(0);
  for (unsigned index : {4u, 3u}) {
    Value addend = ctx.input(index);
    if (!addend)
      continue;
    // A skip of [N, C] holds for every pixel.
    MaybeShape shape = getShape(addend);
    if (index == 3 && shape && shape->size() == 2)
      addend = ctx.make<mp::UnsqueezeOp>(
          addend, Value(), ctx.builder().getDenseI64ArrayAttr({1, 2}));
    input = ctx.make<mp::AddOp>(input, addend);
  }
  Value result = ctx.make<mp::GroupNormOp>(
      input, ctx.input(1), ctx.input(2), *groups, getEpsilon(ctx),
      ctx.getFlag("channels_last", true), TypeAttr());
  if (ctx.getInt("activation", 0) == 1)
    result = ctx.make<mp::SiluOp>(result, APFloat(1.0));
  ctx.setOutput(0, result);
  if (ctx.hasOutput(1))
    ctx.setOutput(1, input);
  return success();
}

//===----------------------------------------------------------------------===//
// By row
//===----------------------------------------------------------------------===//

static mp::LayerNormOp makeLayerNorm(NodeContext &ctx, Value input, Value scale,
                                     Value bias, APFloat epsilon, bool stats) {
  return ctx.makeTyped<mp::LayerNormOp>(ctx.unknownTypes(stats ? 3 : 1), input,
                                        scale, bias, ctx.getInt("axis", -1),
                                        epsilon, getStashType(ctx));
}

static LogicalResult lowerLayerNorm(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0, 1})))
    return failure();
  bool stats = ctx.hasOutput(1) || ctx.hasOutput(2);
  auto op = makeLayerNorm(ctx, ctx.input(0), ctx.input(1), ctx.input(2),
                          getEpsilon(ctx), stats);
  for (OpResult result : op->getResults())
    if (ctx.hasOutput(result.getResultNumber()))
      ctx.setOutput(result.getResultNumber(), result);
  return success();
}

/// ONNX gives the result the scale's dtype, which mp.rms_norm has only where
/// that is the wider one.
static Value toScaleType(NodeContext &ctx, Value result, Value scale) {
  Type wanted = getElementType(scale);
  if (isUnknown(wanted) || wanted == getElementType(result))
    return result;
  Type type = getTensorType(getShape(result), wanted);
  return ctx.makeTyped<mp::CastOp>({type}, result).getResult();
}

static mp::RMSNormOp makeRMSNorm(NodeContext &ctx, Value input, Value scale,
                                 APFloat epsilon, bool stats) {
  return ctx.makeTyped<mp::RMSNormOp>(ctx.unknownTypes(stats ? 2 : 1), input,
                                      scale, ctx.getInt("axis", -1), epsilon,
                                      getStashType(ctx));
}

/// RMSNormalization, SimplifiedLayerNormalization.
static LogicalResult lowerRMSNorm(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0, 1})))
    return failure();
  bool stats = ctx.hasOutput(1);
  auto op =
      makeRMSNorm(ctx, ctx.input(0), ctx.input(1), getEpsilon(ctx), stats);
  ctx.setOutput(0, toScaleType(ctx, op.getResult(), ctx.input(1)));
  if (stats)
    ctx.setOutput(1, op.getInvRms());
  return success();
}

static Value addAll(NodeContext &ctx, ArrayRef<Value> values) {
  Value sum;
  for (Value value : values)
    if (value)
      sum = sum ? ctx.make<mp::AddOp>(sum, value) : value;
  return sum;
}

/// com.microsoft: (input, skip, gamma, beta, bias) to (output, mean, inv_std,
/// input + skip + bias).
static LogicalResult lowerSkipLayerNorm(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0, 1, 2})))
    return failure();
  Value sum = addAll(ctx, {ctx.input(0), ctx.input(1), ctx.input(4)});
  bool stats = ctx.hasOutput(1) || ctx.hasOutput(2);
  auto op = makeLayerNorm(ctx, sum, ctx.input(2), ctx.input(3),
                          getEpsilon(ctx, 1e-12), stats);
  for (OpResult result : op->getResults())
    if (ctx.hasOutput(result.getResultNumber()))
      ctx.setOutput(result.getResultNumber(), result);
  if (ctx.hasOutput(3))
    ctx.setOutput(3, sum);
  return success();
}

/// com.microsoft: (input, skip, gamma, bias), outputs as above; the mean is
/// never computed.
static LogicalResult lowerSkipRMSNorm(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0, 1, 2})))
    return failure();
  if (ctx.hasOutput(1))
    return ctx.unsupported();
  Value sum = addAll(ctx, {ctx.input(0), ctx.input(1), ctx.input(3)});
  bool stats = ctx.hasOutput(2);
  auto op = makeRMSNorm(ctx, sum, ctx.input(2), getEpsilon(ctx, 1e-12), stats);
  ctx.setOutput(0, op.getResult());
  if (stats)
    ctx.setOutput(2, op.getInvRms());
  if (ctx.hasOutput(3))
    ctx.setOutput(3, sum);
  return success();
}

/// Rows of the position table: of `position_ids`, else the first S.
static Value makePositions(NodeContext &ctx, Value ids, Value table) {
  if (Value positions = ctx.input(8))
    return ctx.make<mp::GatherOp>(table, positions, 0);
  auto ints = [&](ArrayRef<int64_t> values) {
    return ctx.builder().getDenseI64ArrayAttr(values);
  };
  Value length =
      ctx.make<mp::ShapeOp>(ids, 1, ctx.builder().getI64IntegerAttr(2));
  return ctx.make<mp::SliceOp>(table, Value(), length, Value(), Value(),
                               ints({0}), DenseI64ArrayAttr(), ints({0}),
                               DenseI64ArrayAttr());
}

/// com.microsoft: (input_ids, segment_ids, word, position and segment tables,
/// gamma, beta, mask, position_ids) to (output, mask_index, sum).
static LogicalResult lowerEmbedLayerNorm(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0, 2, 3, 5, 6})))
    return failure();
  Value words = ctx.make<mp::GatherOp>(ctx.input(2), ctx.input(0), 0);
  Value positions = makePositions(ctx, ctx.input(0), ctx.input(3));
  Value segments;
  if (ctx.hasInput(1) && ctx.hasInput(4))
    segments = ctx.make<mp::GatherOp>(ctx.input(4), ctx.input(1), 0);
  Value sum = addAll(ctx, {words, positions, segments});
  auto op = makeLayerNorm(ctx, sum, ctx.input(5), ctx.input(6),
                          getEpsilon(ctx, 1e-12), false);
  ctx.setOutput(0, op.getResult());
  if (ctx.hasOutput(1)) {
    // The number of tokens in each row, zeros without a mask.
    Value mask = ctx.input(7);
    if (!mask) {
      Value zero = ctx.makeScalar(0, ctx.builder().getI32Type());
      mask = ctx.make<mp::MulOp>(ctx.input(0), zero);
    }
    ctx.setOutput(
        1, ctx.make<mp::ReduceSumOp>(
               mask, Value(), ctx.builder().getDenseI64ArrayAttr({1}), false));
  }
  if (ctx.hasOutput(2))
    ctx.setOutput(2, sum);
  return success();
}

//===----------------------------------------------------------------------===//
// Without parameters
//===----------------------------------------------------------------------===//

static LogicalResult lowerLRN(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0})))
    return failure();
  std::optional<int64_t> size = ctx.findInt("size");
  if (!size)
    return ctx.error("attribute size is missing");
  ctx.setOutput(0, ctx.make<mp::LRNOp>(ctx.input(0), *size,
                                       APFloat(ctx.getFloat("alpha", 1e-4)),
                                       APFloat(ctx.getFloat("beta", 0.75)),
                                       APFloat(ctx.getFloat("bias", 1.0))));
  return success();
}

static LogicalResult lowerLpNormalize(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0})))
    return failure();
  ctx.setOutput(0, ctx.make<mp::LpNormalizeOp>(
                       ctx.input(0), ctx.getInt("axis", -1),
                       APFloat(double(ctx.getInt("p", 2))), APFloat(0.0)));
  return success();
}

static LogicalResult lowerMeanVarianceNorm(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0})))
    return failure();
  // The experimental op of opset 1 has other attributes.
  if (ctx.opset() < 9)
    return ctx.unsupported();
  ctx.setOutput(0, ctx.make<mp::MeanVarianceNormOp>(
                       ctx.input(0), ctx.findInts("axes").value_or(
                                         SmallVector<int64_t>{0, 2, 3})));
  return success();
}

void onnx_import::registerNormalizationLowerings(LoweringRegistry &registry) {
  registry.add("BatchNormalization", lowerBatchNorm);
  registry.add("com.microsoft", "BatchNormInternal", lowerBatchNormInternal);
  registry.add("InstanceNormalization", lowerInstanceNorm);
  registry.add("GroupNormalization", lowerGroupNorm);
  registry.add("com.microsoft", "GroupNorm", lowerMicrosoftGroupNorm);
  registry.add("com.microsoft", "SkipGroupNorm", lowerMicrosoftGroupNorm);
  registry.add("LayerNormalization", lowerLayerNorm);
  registry.add("com.microsoft", "LayerNormalization", lowerLayerNorm);
  registry.add("RMSNormalization", lowerRMSNorm);
  // ONNX Runtime has it under both names.
  registry.add("SimplifiedLayerNormalization", lowerRMSNorm);
  registry.add("com.microsoft", "SimplifiedLayerNormalization", lowerRMSNorm);
  registry.add("com.microsoft", "SkipLayerNormalization", lowerSkipLayerNorm);
  registry.add("com.microsoft", "SkipSimplifiedLayerNormalization",
               lowerSkipRMSNorm);
  registry.add("com.microsoft", "EmbedLayerNormalization", lowerEmbedLayerNorm);
  registry.add("LRN", lowerLRN);
  registry.add("LpNormalization", lowerLpNormalize);
  registry.add("MeanVarianceNormalization", lowerMeanVarianceNorm);
}
