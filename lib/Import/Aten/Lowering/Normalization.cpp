//===- Normalization.cpp - Normalisation, from aten -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PyTorch's momentum is the weight of the new statistics, mp's that of the old
// ones. Not covered: instance_norm that updates running statistics.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "ShapeValues.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"

#include <limits>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

static std::optional<double> readEpsilon(const NodeContext &context) {
  StringRef name = oneOf(context, "eps", "epsilon");
  if (context.isDynamic(name))
    return std::nullopt;
  return context.getNumber(name, 1e-5);
}

//===----------------------------------------------------------------------===//
// By channel
//===----------------------------------------------------------------------===//

/// The mean and 1 / sqrt(variance + epsilon) over `axes`.
static std::pair<Value, Value> makeStatistics(NodeContext &context, Value input,
                                              ArrayRef<int64_t> axes,
                                              double epsilon, bool keepDims) {
  Builder &builder = context.builder();
  DenseI64ArrayAttr over = intsAttr(context, axes);
  BoolAttr keep = builder.getBoolAttr(keepDims);
  Type element = getElementType(input);
  if (isLowPrecision(element))
    input = context.cast(input, builder.getF32Type());
  Value mean = context.make<mp::ReduceMeanOp>(input, Value(), over, keep);
  Value variance = context.make<mp::VarianceOp>(input, Value(), over, keep,
                                                builder.getF64FloatAttr(0));
  Value addend = constantLike(context, epsilon, variance);
  if (!addend)
    return {};
  Value inverse =
      context.make<mp::RsqrtOp>(context.make<mp::AddOp>(variance, addend));
  return {mean, inverse};
}

/// True if the batch's own statistics are used.
static std::optional<bool> readTraining(const NodeContext &context) {
  if (context.name().ends_with("no_training"))
    return false;
  if (context.name().contains("with_update"))
    return true;
  for (StringRef name : {"training", "use_input_stats"}) {
    if (context.isDynamic(name))
      return std::nullopt;
    if (context.getBool(name))
      return true;
  }
  return !context.has("running_mean") || !context.has("running_var");
}

/// batch_norm and its inner forms, which also give the statistics they used.
static LogicalResult lowerBatchNorm(NodeContext &context) {
  Value input = context.tensor("input");
  std::optional<bool> training = readTraining(context);
  std::optional<double> epsilon = readEpsilon(context);
  StringRef momentum = oneOf(context, "momentum", "exponential_average_factor");
  Value mean = context.tensor("running_mean"),
        variance = context.tensor("running_var");
  // The functional form gives the running statistics instead of writing them.
  bool gives = context.name().ends_with("_functional");
  if (!input || !training || !epsilon ||
      context.numOutputs() > (gives ? 5u : 4u) ||
      (gives && (!mean || !variance)))
    return context.unsupported();
  bool updates = *training && mean && variance;
  if (updates && context.isDynamic(momentum))
    return context.unsupported();
  std::optional<int64_t> rank = NodeContext::rankOf(input);
  unsigned outputs = context.numOutputs();
  if (outputs > 1 && (!rank || *rank < 2))
    return context.unsupported();
  auto op = context.makeTyped<mp::BatchNormOp>(
      context.unknownTypes(updates ? 3 : 1), input, context.tensor("weight"),
      context.tensor("bias"), mean, variance, APFloat(*epsilon),
      APFloat(1 - context.getNumber(momentum, 0.1)), *training,
      /*spatial=*/true);
  context.setOutput(0, op.getResult());
  if (gives) {
    context.setOutput(3, updates ? op.getStats()[0] : mean);
    context.setOutput(4, updates ? op.getStats()[1] : variance);
  } else if (updates) {
    context.write("running_mean", op.getStats()[0]);
    context.write("running_var", op.getStats()[1]);
  }
  if (outputs == 1)
    return success();
  // Saved for the backward pass; nothing of it in inference.
  Type element = context.builder().getF32Type();
  std::pair<Value, Value> saved;
  if (*training) {
    SmallVector<int64_t> axes = {0};
    for (int64_t axis = 2; axis < *rank; ++axis)
      axes.push_back(axis);
    saved = makeStatistics(context, input, axes, *epsilon, false);
    if (!saved.first)
      return context.unsupported();
  } else {
    saved.first = saved.second =
        fill(context, context.makeInts({0}), 0, element);
  }
  context.setOutput(1, saved.first);
  context.setOutput(2, saved.second);
  if (outputs == 4)
    context.setOutput(
        3, fill(context, context.makeInts({0}), 0,
                IntegerType::get(context.context(), 8, IntegerType::Unsigned)));
  return success();
}

/// With running statistics in place of the input's it is a batch norm.
static LogicalResult lowerInstanceNorm(NodeContext &context) {
  Value input = context.tensor("input");
  std::optional<bool> own = readTraining(context);
  std::optional<double> epsilon = readEpsilon(context);
  if (!input || !own || !epsilon)
    return context.unsupported();
  if (!*own)
    return lowerBatchNorm(context);
  if (context.has("running_mean"))
    return context.unsupported();
  context.setOutput(0, context.make<mp::InstanceNormOp>(
                           input, context.tensor("weight"),
                           context.tensor("bias"), APFloat(*epsilon)));
  return success();
}

/// The inner form calls the number of groups `group` and gives mean and
/// 1 / deviation as [N, groups].
static LogicalResult lowerGroupNorm(NodeContext &context) {
  Value input = context.tensor("input");
  std::optional<int64_t> groups =
      context.findInt(oneOf(context, "num_groups", "group"));
  std::optional<double> epsilon = readEpsilon(context);
  if (!input || !groups || !epsilon)
    return context.unsupported();
  context.setOutput(0, context.make<mp::GroupNormOp>(
                           input, context.tensor("weight"),
                           context.tensor("bias"), *groups, APFloat(*epsilon),
                           /*channels_last=*/false, TypeAttr()));
  if (context.numOutputs() < 3)
    return success();
  std::optional<int64_t> batch = staticDim(input, 0);
  if (!batch)
    return context.unsupported();
  Value rows = reshape(context, input, {*batch, *groups, -1});
  auto [mean, inverse] = makeStatistics(context, rows, {2}, *epsilon, false);
  if (!mean)
    return context.unsupported();
  context.setOutput(1, mean);
  context.setOutput(2, inverse);
  return success();
}

//===----------------------------------------------------------------------===//
// By row
//===----------------------------------------------------------------------===//

/// How many dims are normalised over, as an axis from the end.
static std::optional<int64_t> readRowAxis(NodeContext &context) {
  if (auto sizes = context.findInts("normalized_shape"))
    return sizes->empty() ? std::nullopt
                          : std::optional(-int64_t(sizes->size()));
  Value sizes = context.shapeOf("normalized_shape");
  std::optional<int64_t> count = sizes ? staticDim(sizes, 0) : std::nullopt;
  return count && *count > 0 ? std::optional(-*count) : std::nullopt;
}

static LogicalResult lowerLayerNorm(NodeContext &context) {
  Value input = context.tensor("input");
  std::optional<int64_t> axis = readRowAxis(context);
  std::optional<double> epsilon = readEpsilon(context);
  if (!input || !axis || !epsilon)
    return context.unsupported();
  auto op = context.makeTyped<mp::LayerNormOp>(
      context.unknownTypes(context.numOutputs() == 3 ? 3 : 1), input,
      context.tensor("weight"), context.tensor("bias"), *axis,
      APFloat(*epsilon), TypeAttr());
  for (OpResult result : op->getResults())
    context.setOutput(result.getResultNumber(), result);
  return success();
}

/// Without `eps`, the machine epsilon of what it computes in: f32, or f64 for
/// f64. The result has the input's dtype whatever the weight's.
static LogicalResult lowerRMSNorm(NodeContext &context) {
  Value input = context.tensor("input");
  std::optional<int64_t> axis = readRowAxis(context);
  if (!input || !axis || context.isDynamic("eps"))
    return context.unsupported();
  Type element = getElementType(input);
  double epsilon = element.isF64()
                       ? std::numeric_limits<double>::epsilon()
                       : double(std::numeric_limits<float>::epsilon());
  auto op = context.makeTyped<mp::RMSNormOp>(
      context.unknownTypes(context.numOutputs() == 2 ? 2 : 1), input,
      context.tensor("weight"), *axis,
      APFloat(context.getNumber("eps", epsilon)), TypeAttr());
  context.setOutput(0, isUnknown(element)
                           ? op.getResult()
                           : context.cast(op.getResult(), element));
  if (context.numOutputs() == 2)
    context.setOutput(1, op.getInvRms());
  return success();
}

void mpopt::aten::registerNormalization(LoweringRegistry &registry) {
  registry.add({"batch_norm", "native_batch_norm", "_native_batch_norm_legit",
                "_native_batch_norm_legit_no_training",
                "_native_batch_norm_legit_functional", "_batch_norm_no_update",
                "_batch_norm_with_update", "cudnn_batch_norm"},
               lowerBatchNorm);
  registry.add("instance_norm", lowerInstanceNorm);
  registry.add({"group_norm", "native_group_norm"}, lowerGroupNorm);
  registry.add({"layer_norm", "native_layer_norm"}, lowerLayerNorm);
  registry.add({"rms_norm", "_fused_rms_norm"}, lowerRMSNorm);
}
