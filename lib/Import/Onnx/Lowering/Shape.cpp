//===- Shape.cpp - Shape changes and data movement, from ONNX -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resampling is in Resample.cpp.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/Onnx/Arguments.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

//===----------------------------------------------------------------------===//
// The same elements under another shape
//===----------------------------------------------------------------------===//

static LogicalResult lowerReshape(NodeContext &ctx) {
  Value shape = ctx.input(1);
  if (auto ints = ctx.findInts("shape")) // opset 1
    shape = ctx.makeInts(*ints);
  if (!shape)
    return ctx.error("no shape");
  ctx.setOutput(0, ctx.make<mp::ReshapeOp>(ctx.input(0), shape,
                                           ctx.getFlag("allowzero")));
  return success();
}

static LogicalResult lowerFlatten(NodeContext &ctx) {
  ctx.setOutput(0,
                ctx.make<mp::FlattenOp>(ctx.input(0), ctx.getInt("axis", 1)));
  return success();
}

static LogicalResult lowerTranspose(NodeContext &ctx) {
  ctx.setOutput(
      0, ctx.make<mp::TransposeOp>(ctx.input(0), findIntsAttr(ctx, "perm")));
  return success();
}

static LogicalResult lowerSqueeze(NodeContext &ctx) {
  Parameter axes = readParameter(ctx, "axes", 1);
  ctx.setOutput(
      0, ctx.make<mp::SqueezeOp>(ctx.input(0), axes.operand, axes.attribute));
  return success();
}

static LogicalResult lowerUnsqueeze(NodeContext &ctx) {
  Parameter axes = readParameter(ctx, "axes", 1);
  if (!axes.isThere())
    return ctx.error("no axes");
  ctx.setOutput(
      0, ctx.make<mp::UnsqueezeOp>(ctx.input(0), axes.operand, axes.attribute));
  return success();
}

//===----------------------------------------------------------------------===//
// Repetition, parts
//===----------------------------------------------------------------------===//

static LogicalResult lowerTile(NodeContext &ctx) {
  Value repeats = ctx.input(1);
  if (ctx.opset() < 6) {
    // One axis and how often, both inputs.
    auto count = ctx.constantInts(1), axis = ctx.constantInts(2);
    MaybeShape shape = getShape(ctx.input(0));
    if (!count || !axis || !shape || count->size() != 1 || axis->size() != 1)
      return ctx.unsupported();
    std::optional<int64_t> place = normalizeAxis(axis->front(), shape->size());
    if (!place)
      return ctx.error("axis " + Twine(axis->front()) +
                       " is out of range for rank " + Twine(shape->size()));
    SmallVector<int64_t> all(shape->size(), 1);
    all[*place] = count->front();
    repeats = ctx.makeInts(all);
  }
  ctx.setOutput(0, ctx.make<mp::TileOp>(ctx.input(0), repeats));
  return success();
}

static LogicalResult lowerConcat(NodeContext &ctx) {
  // Opset 1 has the channels as the default axis; later ones have none.
  std::optional<int64_t> axis = ctx.findInt("axis");
  if (!axis && ctx.opset() >= 4)
    return ctx.error("no axis");
  ctx.setOutput(
      0, ctx.make<mp::ConcatOp>(ValueRange(ctx.inputs()), axis.value_or(1)));
  return success();
}

static LogicalResult lowerSplit(NodeContext &ctx) {
  Parameter sizes = readParameter(ctx, "split", 1);
  if (auto count = ctx.findInt("num_outputs");
      count && *count != int64_t(ctx.numOutputs()))
    return ctx.error("num_outputs is " + Twine(*count) + " for " +
                     Twine(ctx.numOutputs()) + " outputs");
  auto op = ctx.makeTyped<mp::SplitOp>(
      ctx.unknownTypes(ctx.numOutputs()), ctx.input(0), sizes.operand,
      ctx.builder().getI64IntegerAttr(ctx.getInt("axis", 0)), sizes.attribute);
  for (unsigned index = 0; index < ctx.numOutputs(); ++index)
    if (ctx.hasOutput(index))
      ctx.setOutput(index, op->getResult(index));
  return success();
}

static LogicalResult lowerSlice(NodeContext &ctx) {
  Parameter starts = readParameter(ctx, "starts", 1),
            ends = readParameter(ctx, "ends", 2),
            axes = readParameter(ctx, "axes", 3),
            steps = readParameter(ctx, "steps", 4);
  if (!starts.isThere() || !ends.isThere())
    return ctx.error("no starts or ends");
  ctx.setOutput(0, ctx.make<mp::SliceOp>(
                       ctx.input(0), starts.operand, ends.operand, axes.operand,
                       steps.operand, starts.attribute, ends.attribute,
                       axes.attribute, steps.attribute));
  return success();
}

static LogicalResult lowerPad(NodeContext &ctx) {
  Parameter pads = readParameter(ctx, ctx.opset() < 2 ? "paddings" : "pads", 1);
  Parameter axes = readParameter(ctx, "axes", 3);
  if (!pads.isThere())
    return ctx.error("no pads");
  Value value = ctx.input(2);
  if (ctx.opset() < 11) {
    if (double number = ctx.getFloat("value", 0)) {
      Type element = getElementType(ctx.input(0));
      if (!isa<FloatType>(element))
        return ctx.unsupported();
      value = ctx.makeScalar(number, element);
    }
  }
  StringRef mode = ctx.getString("mode", "constant");
  ctx.setOutput(0, ctx.make<mp::PadOp>(ctx.input(0), pads.operand, value,
                                       axes.operand, pads.attribute,
                                       axes.attribute,
                                       ctx.builder().getStringAttr(mode)));
  return success();
}

static LogicalResult lowerCenterCropPad(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<mp::CenterCropPadOp>(ctx.input(0), ctx.input(1),
                                                 findIntsAttr(ctx, "axes")));
  return success();
}

static LogicalResult lowerTensorScatter(NodeContext &ctx) {
  ctx.setOutput(
      0, ctx.make<mp::TensorScatterOp>(ctx.input(0), ctx.input(1), ctx.input(2),
                                       ctx.getInt("axis", -2),
                                       ctx.getString("mode", "linear")));
  return success();
}

//===----------------------------------------------------------------------===//
// Reordering
//===----------------------------------------------------------------------===//

static LogicalResult lowerReverseSequence(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<mp::ReverseSequenceOp>(ctx.input(0), ctx.input(1),
                                                   ctx.getInt("batch_axis", 1),
                                                   ctx.getInt("time_axis", 0)));
  return success();
}

static LogicalResult lowerTrilu(NodeContext &ctx) {
  int64_t k = 0;
  Value dynamic;
  if (auto known = ctx.constantInts(1); known && known->size() == 1)
    k = known->front();
  else
    dynamic = ctx.input(1);
  ctx.setOutput(0, ctx.make<mp::TriluOp>(ctx.input(0), dynamic, k,
                                         ctx.getFlag("upper", true)));
  return success();
}

/// DepthToSpace and SpaceToDepth.
template <typename OpT> static LogicalResult lowerBlocks(NodeContext &ctx) {
  std::optional<int64_t> block = ctx.findInt("blocksize");
  if (!block)
    return ctx.error("no blocksize");
  ctx.setOutput(
      0, ctx.make<OpT>(ctx.input(0), *block, ctx.getString("mode", "DCR")));
  return success();
}

static LogicalResult lowerCol2Im(NodeContext &ctx) {
  ctx.setOutput(0,
                ctx.make<mp::Col2ImOp>(ctx.input(0), ctx.input(1), ctx.input(2),
                                       findIntsAttr(ctx, "dilations"),
                                       findIntsAttr(ctx, "pads"),
                                       findIntsAttr(ctx, "strides")));
  return success();
}

//===----------------------------------------------------------------------===//
// Shapes as values, and values from shapes
//===----------------------------------------------------------------------===//

static LogicalResult lowerShape(NodeContext &ctx) {
  Builder &builder = ctx.builder();
  IntegerAttr end;
  if (auto place = ctx.findInt("end"))
    end = builder.getI64IntegerAttr(*place);
  ctx.setOutput(0, ctx.make<mp::ShapeOp>(
                       ctx.input(0),
                       builder.getI64IntegerAttr(ctx.getInt("start", 0)), end));
  return success();
}

static LogicalResult lowerConstantOfShape(NodeContext &ctx) {
  if (!ctx.hasAttr("value")) {
    auto zero = DenseElementsAttr::get(
        RankedTensorType::get({1}, ctx.builder().getF32Type()), 0.0f);
    ctx.setOutput(0, ctx.make<mp::FillOp>(ctx.input(0), ElementsAttr(zero)));
    return success();
  }
  Value value = ctx.makeConstantOf("value");
  if (!value)
    return ctx.error("value is not a tensor");
  auto constant = value.getDefiningOp<mp::ConstantOp>();
  if (getNumElements(getShape(value)) != 1)
    return ctx.error("value does not have one element");
  if (constant)
    if (auto elements = dyn_cast<ElementsAttr>(constant.getValue())) {
      ctx.setOutput(0, ctx.make<mp::FillOp>(ctx.input(0), elements));
      if (constant->use_empty())
        constant->erase();
      return success();
    }
  // Bytes that stay in the file.
  Value scalar = ctx.make<mp::ReshapeOp>(value, ctx.makeInts({}), false);
  ctx.setOutput(0, ctx.make<mp::ExpandOp>(scalar, ctx.input(0)));
  return success();
}

static LogicalResult lowerEyeLike(NodeContext &ctx) {
  Type type = findResultType(ctx, "dtype", getElementType(ctx.input(0)));
  if (!type)
    return ctx.error("dtype is not a data type");
  ctx.setOutput(0, ctx.makeTyped<mp::EyeLikeOp>({type}, ctx.input(0),
                                                ctx.getInt("k", 0)));
  return success();
}

static LogicalResult lowerOneHot(NodeContext &ctx) {
  ctx.setOutput(0,
                ctx.make<mp::OneHotOp>(ctx.input(0), ctx.input(1), ctx.input(2),
                                       ctx.getInt("axis", -1)));
  return success();
}

void onnx_import::registerShapeLowerings(LoweringRegistry &registry) {
  registry.add("Reshape", withInputs<1, lowerReshape>);
  registry.add("Flatten", withInputs<1, lowerFlatten>);
  registry.add("Transpose", withInputs<1, lowerTranspose>);
  registry.add("Squeeze", withInputs<1, lowerSqueeze>);
  registry.add("Unsqueeze", withInputs<1, lowerUnsqueeze>);
  registry.add("Expand", lowerPlain<mp::ExpandOp, 2>);
  registry.add("Tile", withInputs<2, lowerTile>);
  registry.add("Concat", withInputs<1, lowerConcat>);
  registry.add("Split", withInputs<1, lowerSplit>);
  registry.add("Slice", withInputs<1, lowerSlice>);
  registry.add("Pad", withInputs<1, lowerPad>);
  registry.add("CenterCropPad", withInputs<2, lowerCenterCropPad>);
  registry.add("TensorScatter", withInputs<2, lowerTensorScatter>);
  registry.add("ReverseSequence", withInputs<2, lowerReverseSequence>);
  registry.add("Trilu", withInputs<1, lowerTrilu>);
  registry.add("DepthToSpace", withInputs<1, lowerBlocks<mp::DepthToSpaceOp>>);
  registry.add("SpaceToDepth", withInputs<1, lowerBlocks<mp::SpaceToDepthOp>>);
  registry.add("Col2Im", withInputs<3, lowerCol2Im>);
  registry.add("Shape", withInputs<1, lowerShape>);
  registry.add("Size", lowerPlain<mp::SizeOp, 1>);
  registry.add("ConstantOfShape", withInputs<1, lowerConstantOfShape>);
  registry.add("Range", lowerPlain<mp::RangeOp, 3>);
  registry.add("EyeLike", withInputs<1, lowerEyeLike>);
  registry.add("OneHot", withInputs<3, lowerOneHot>);
  registry.add("Det", lowerPlain<mp::DetOp, 1>);
  registry.add("com.microsoft", "Pad", withInputs<1, lowerPad>);
  registry.add("com.microsoft", "Range", lowerPlain<mp::RangeOp, 3>);
  registry.add("com.microsoft", "Trilu", withInputs<1, lowerTrilu>);
  registerResampleLowerings(registry);
}
