//===- Training.cpp - Gradients and loss scaling, from ONNX
//-----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Gradients as ONNX Runtime's training graphs have them, in com.microsoft or,
// from some exporters, in the default domain. Optimisers are in Optimizers.cpp.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/Onnx/Lowering.h"

#include "Inputs.h"
#include "Optimizers.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

static LogicalResult setOutputs(NodeContext &ctx, Operation *op) {
  for (OpResult result : op->getResults())
    ctx.setOutput(result.getResultNumber(), result);
  return success();
}

/// dY and one tensor of the forward pass.
template <typename OpT>
static LogicalResult lowerElementGrad(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<OpT>(ctx.input(0), ctx.input(1)));
  return success();
}

/// GeluGrad and its fused and approximated forms.
static LogicalResult lowerGeluGrad(NodeContext &ctx) {
  bool fast = ctx.type().contains("Fast") ||
              ctx.getString("approximate", "none") == "tanh";
  ctx.setOutput(0,
                ctx.make<mp::GeluGradOp>(ctx.input(0), ctx.input(1),
                                         ctx.input(2), fast ? "tanh" : "none"));
  return success();
}

static LogicalResult lowerQuickGeluGrad(NodeContext &ctx) {
  ctx.setOutput(
      0, ctx.make<mp::QuickGeluGradOp>(
             ctx.input(0), ctx.input(1),
             ctx.builder().getF64FloatAttr(ctx.getFloat("alpha", 1.702))));
  return success();
}

static LogicalResult lowerLeakyReluGrad(NodeContext &ctx) {
  ctx.setOutput(
      0, ctx.make<mp::LeakyReluGradOp>(
             ctx.input(0), ctx.input(1),
             ctx.builder().getF64FloatAttr(ctx.getFloat("alpha", 0.01))));
  return success();
}

/// The plain names treat the axes behind `axis` as one, the ones with _13 do
/// not.
template <typename OpT>
static LogicalResult lowerSoftmaxGrad(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  bool coerced = !ctx.type().ends_with("_13");
  int64_t axis = ctx.getInt("axis", coerced ? 1 : -1);
  MaybeShape shape = getShape(ctx.input(0));
  // At the last axis both are one.
  if (shape && (axis == -1 || axis + 1 == int64_t(shape->size())))
    coerced = false;
  ctx.setOutput(0, ctx.make<OpT>(ctx.input(0), ctx.input(1),
                                 b.getI64IntegerAttr(axis),
                                 b.getBoolAttr(coerced)));
  return success();
}

static LogicalResult lowerDropoutGrad(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<mp::DropoutGradOp>(ctx.input(0), ctx.input(1),
                                               ctx.input(2), ctx.input(3)));
  return success();
}

/// The log-probabilities of an operand that stands for them. Some exporters
/// drop the loss from SoftmaxCrossEntropyLoss's outputs, so that its first
/// output, by position the scalar loss, is what the gradient takes as log_prob.
static Value getLogProb(Value value) {
  auto loss = value.getDefiningOp<mp::SoftmaxCrossEntropyOp>();
  return loss && value == loss.getLoss() ? Value(loss.getLogProb()) : value;
}

/// dY, log_prob, label, weight, ignore_index, bias; some exporters leave dY
/// out, so that class numbers come second.
static LogicalResult lowerSoftmaxCrossEntropyGrad(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  if (!ctx.hasInput(1))
    return ctx.error("has no log-probabilities or labels");
  bool noGrad = isa<IntegerType>(getElementType(ctx.input(1)));
  unsigned first = noGrad ? 0 : 1;
  if (!ctx.hasInput(first + 1))
    return ctx.error("has no labels");
  std::optional<int64_t> ignored = ctx.findInt("ignore_index");
  std::optional<int64_t> outputType = ctx.findInt("output_type");
  Type output = outputType ? ctx.elementTypeOf(*outputType) : Type();
  ctx.setOutput(0, ctx.make<mp::SoftmaxCrossEntropyGradOp>(
                       noGrad ? Value() : ctx.input(0),
                       getLogProb(ctx.input(first)), ctx.input(first + 1),
                       ctx.input(first + 2), ctx.input(first + 3),
                       ctx.input(first + 4),
                       b.getStringAttr(ctx.getString("reduction", "mean")),
                       ignored ? b.getI64IntegerAttr(*ignored) : IntegerAttr(),
                       output ? TypeAttr::get(output) : TypeAttr()));
  return success();
}

/// dY, X, scale, mean, inverse deviation. With four inputs the fourth is the
/// bias and the statistics are computed again.
static LogicalResult lowerLayerNormGrad(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  bool invertible = ctx.type().starts_with("Invertible");
  bool again = !invertible && !ctx.hasInput(4);
  std::optional<double> epsilon = ctx.findFloat("epsilon");
  auto op = ctx.makeTyped<mp::LayerNormGradOp>(
      ctx.unknownTypes(3), ctx.input(0), ctx.input(1), ctx.input(2),
      invertible || again ? Value() : ctx.input(3), ctx.input(4),
      invertible || again ? ctx.input(3) : Value(),
      b.getI64IntegerAttr(ctx.getInt("axis", -1)),
      epsilon ? b.getF64FloatAttr(*epsilon) : FloatAttr(),
      b.getBoolAttr(invertible));
  return setOutputs(ctx, op);
}

static LogicalResult lowerRmsNormGrad(NodeContext &ctx) {
  auto op = ctx.makeTyped<mp::RmsNormGradOp>(
      ctx.unknownTypes(2), ctx.input(0), ctx.input(1), ctx.input(2),
      ctx.input(3), ctx.builder().getI64IntegerAttr(ctx.getInt("axis", -1)),
      /*epsilon=*/FloatAttr());
  return setOutputs(ctx, op);
}

static LogicalResult lowerBatchNormGrad(NodeContext &ctx) {
  auto op = ctx.makeTyped<mp::BatchNormGradOp>(
      ctx.unknownTypes(3), ctx.input(0), ctx.input(1), ctx.input(2),
      ctx.input(3), ctx.input(4),
      ctx.builder().getF64FloatAttr(ctx.getFloat("epsilon", 1e-5)),
      /*frozen=*/UnitAttr());
  return setOutputs(ctx, op);
}

static LogicalResult lowerConvGrad(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  auto list = [&](StringRef name) {
    auto ints = ctx.findInts(name);
    return ints ? b.getDenseI64ArrayAttr(*ints) : DenseI64ArrayAttr();
  };
  auto op = ctx.makeTyped<mp::ConvGradOp>(
      ctx.unknownTypes(3), ctx.input(0), ctx.input(1), ctx.input(2),
      list("strides"), list("dilations"), list("pads"),
      b.getStringAttr(ctx.getString("auto_pad", "NOTSET")),
      b.getI64IntegerAttr(ctx.getInt("group", 1)));
  return setOutputs(ctx, op);
}

/// dY over the number of positions, at each of them; X says how many.
static LogicalResult lowerGlobalAveragePoolGrad(NodeContext &ctx) {
  Value grad = ctx.input(0),
        shape = ctx.make<mp::ShapeOp>(ctx.input(1), 0, IntegerAttr());
  Value positions = ctx.make<mp::ReduceProdOp>(
      ctx.make<mp::ShapeOp>(ctx.input(1), 2, IntegerAttr()), Value(),
      DenseI64ArrayAttr(), false);
  Value count =
      ctx.makeTyped<mp::CastOp>(
             {getTensorType(std::nullopt, getElementType(grad))}, positions)
          .getResult();
  ctx.setOutput(
      0, ctx.make<mp::ExpandOp>(ctx.make<mp::DivOp>(grad, count), shape));
  return success();
}

/// shape, indices, dY.
static LogicalResult lowerGatherGrad(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  StringRef kind = ctx.type() == "GatherGrad"           ? "gather"
                   : ctx.type() == "GatherElementsGrad" ? "elements"
                                                        : "nd";
  // GatherElementsGrad has the gradient first.
  bool gradFirst = kind == "elements";
  ctx.setOutput(
      0, ctx.make<mp::GatherGradOp>(
             ctx.input(gradFirst ? 0 : 2), ctx.input(gradFirst ? 1 : 0),
             ctx.input(gradFirst ? 2 : 1),
             b.getI64IntegerAttr(ctx.getInt("axis", 0)), b.getStringAttr(kind),
             b.getI64IntegerAttr(ctx.getInt("batch_dims", 0)),
             /*padding_index=*/IntegerAttr()));
  return success();
}

static LogicalResult lowerSliceGrad(NodeContext &ctx) {
  SmallVector<Value> bounds = ctx.inputs(2);
  if (bounds.size() + 2 != ctx.numInputs())
    return ctx.unsupported(); // steps without axes
  ctx.setOutput(0,
                ctx.make<mp::SliceGradOp>(ctx.input(0), ctx.input(1), bounds));
  return success();
}

static LogicalResult lowerBroadcastGradientArgs(NodeContext &ctx) {
  auto op = ctx.makeTyped<mp::BroadcastGradientArgsOp>(
      ctx.unknownTypes(2), ctx.input(0), ctx.input(1));
  return setOutputs(ctx, op);
}

static LogicalResult lowerGradient(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  auto xs = ctx.findStrings("xs");
  if (!xs || xs->size() != ctx.numOutputs())
    return ctx.error("needs one output for each name in xs");
  SmallVector<Value> inputs = ctx.inputs();
  if (inputs.size() < xs->size())
    return ctx.error("has fewer inputs than names in xs");
  auto op = ctx.makeTyped<mp::GradientOp>(
      ctx.unknownTypes(xs->size()), inputs, b.getI64IntegerAttr(xs->size()),
      b.getStringAttr(ctx.getString("y", "")));
  return setOutputs(ctx, op);
}

//===----------------------------------------------------------------------===//
// Loss scaling and gradient accumulation
//===----------------------------------------------------------------------===//

static LogicalResult lowerScale(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<mp::LossScaleOp>(
                       ctx.input(0), ctx.input(1),
                       ctx.builder().getBoolAttr(ctx.getFlag("scale_down")),
                       TypeAttr()));
  return success();
}

/// Scale first, then any number of tensors.
static LogicalResult lowerMixedPrecisionScale(NodeContext &ctx) {
  Type output = ctx.elementTypeOf(ctx.getInt("to", 0));
  if (!output)
    return ctx.error("needs the dtype 'to'");
  if (ctx.getFlag("fuse_outputs") || ctx.inputs().size() != ctx.numInputs())
    return ctx.unsupported();
  for (unsigned index = 1; index < ctx.numInputs(); ++index)
    ctx.setOutput(index - 1,
                  ctx.make<mp::LossScaleOp>(ctx.input(index), ctx.input(0),
                                            ctx.builder().getBoolAttr(false),
                                            TypeAttr::get(output)));
  return success();
}

static LogicalResult lowerAllFinite(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  ctx.setOutput(0, ctx.make<mp::AllFiniteOp>(
                       ctx.inputs(), b.getBoolAttr(ctx.getFlag("isinf_only")),
                       b.getBoolAttr(ctx.getFlag("isnan_only"))));
  return success();
}

static LogicalResult lowerGlobalNorm(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<mp::GlobalNormOp>(ctx.inputs()));
  return success();
}

static LogicalResult lowerClipGradNorm(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<mp::ClipGradNormOp>(
                       ctx.input(0), ctx.builder().getF64FloatAttr(
                                         ctx.getFloat("max_norm", 1.0))));
  return success();
}

static LogicalResult lowerAccumulate(NodeContext &ctx) {
  bool second = ctx.type().ends_with("V2");
  Value sum =
      ctx.make<mp::AccumulateOp>(ctx.input(0), ctx.input(1), ctx.input(2),
                                 ctx.builder().getBoolAttr(second));
  if (!second) {
    ctx.setOutput(0, sum);
    return success();
  }
  // Always done; the flag has one element.
  auto type = RankedTensorType::get({1}, ctx.builder().getI1Type());
  ctx.setOutput(0, ctx.makeTyped<mp::ConstantOp>(
                          {type}, DenseElementsAttr::get(type, true))
                       .getResult());
  ctx.setOutput(1, sum);
  return success();
}

/// In both domains that training graphs use.
static void addBoth(LoweringRegistry &registry, StringRef type,
                    Lowering lowering) {
  registry.add("", type, lowering);
  registry.add("com.microsoft", type, lowering);
}

void onnx_import::registerTrainingLowerings(LoweringRegistry &registry) {
  addOptimizers(registry);
  registry.add("ai.onnx.preview.training", "Gradient", lowerGradient);
  addBoth(registry, "ReluGrad",
          withInputs<lowerElementGrad<mp::ReluGradOp>, 2>);
  addBoth(registry, "SigmoidGrad",
          withInputs<lowerElementGrad<mp::SigmoidGradOp>, 2>);
  addBoth(registry, "TanhGrad",
          withInputs<lowerElementGrad<mp::TanhGradOp>, 2>);
  addBoth(registry, "LeakyReluGrad", withInputs<lowerLeakyReluGrad, 2>);
  addBoth(registry, "QuickGeluGrad", withInputs<lowerQuickGeluGrad, 2>);
  for (StringRef type :
       {"GeluGrad", "FastGeluGrad", "BiasGeluGrad_dX", "BiasFastGeluGrad_dX"})
    addBoth(registry, type, withInputs<lowerGeluGrad, 2>);
  for (StringRef type : {"SoftmaxGrad", "SoftmaxGrad_13"})
    addBoth(registry, type, withInputs<lowerSoftmaxGrad<mp::SoftmaxGradOp>, 2>);
  for (StringRef type : {"LogSoftmaxGrad", "LogSoftmaxGrad_13"})
    addBoth(registry, type,
            withInputs<lowerSoftmaxGrad<mp::LogSoftmaxGradOp>, 2>);
  addBoth(registry, "DropoutGrad", withInputs<lowerDropoutGrad, 2>);
  for (StringRef type :
       {"SoftmaxCrossEntropyLossGrad", "SoftmaxCrossEntropyLossInternalGrad"})
    addBoth(registry, type, withInputs<lowerSoftmaxCrossEntropyGrad, 2>);
  for (StringRef type :
       {"LayerNormalizationGrad", "InvertibleLayerNormalizationGrad"})
    addBoth(registry, type, withInputs<lowerLayerNormGrad, 4>);
  addBoth(registry, "SimplifiedLayerNormalizationGrad",
          withInputs<lowerRmsNormGrad, 3>);
  addBoth(registry, "BatchNormalizationGrad",
          withInputs<lowerBatchNormGrad, 5>);
  addBoth(registry, "ConvGrad", withInputs<lowerConvGrad, 3>);
  addBoth(registry, "GlobalAveragePoolGrad",
          withInputs<lowerGlobalAveragePoolGrad, 2>);
  for (StringRef type : {"GatherGrad", "GatherElementsGrad", "GatherNDGrad"})
    addBoth(registry, type, withInputs<lowerGatherGrad, 3>);
  addBoth(registry, "SliceGrad", withInputs<lowerSliceGrad, 4>);
  addBoth(registry, "BroadcastGradientArgs",
          withInputs<lowerBroadcastGradientArgs, 2>);
  registry.add("com.microsoft", "Scale", withInputs<lowerScale, 2>);
  registry.add("com.microsoft", "MixedPrecisionScale",
               withInputs<lowerMixedPrecisionScale, 2>);
  registry.add("com.microsoft", "IsAllFinite", lowerAllFinite);
  registry.add("com.microsoft", "ReduceAllL2", lowerGlobalNorm);
  registry.add("com.microsoft", "InplaceClipGradNorm",
               withInputs<lowerClipGradNorm, 1>);
  addBoth(registry, "InPlaceAccumulator", withInputs<lowerAccumulate, 2>);
  addBoth(registry, "InPlaceAccumulatorV2", withInputs<lowerAccumulate, 2>);
  addBoth(registry, "ZeroGradient",
          withInputs<lowerElementGrad<mp::ZeroGradientOp>, 2>);
}
