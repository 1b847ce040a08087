//===- Resample.cpp - Resizing and sampling of images, from ONNX ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Onnx/Arguments.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

/// `bilinear` is what early opsets and GridSample call `linear`.
static StringRef plainMode(StringRef mode) {
  if (mode == "bilinear")
    return "linear";
  return mode == "bicubic" ? "cubic" : mode;
}

static Value makeFloats(NodeContext &ctx, ArrayRef<double> values) {
  SmallVector<float> floats(values.begin(), values.end());
  auto type = RankedTensorType::get({int64_t(floats.size())},
                                    ctx.builder().getF32Type());
  ElementsAttr elements =
      DenseFPElementsAttr::get(type, ArrayRef<float>(floats));
  return ctx.makeTyped<mp::ConstantOp>({type}, elements);
}

/// An input that is there and not of size 0, which stands for none.
static Value findInput(NodeContext &ctx, unsigned index) {
  Value value = ctx.input(index);
  return value && getNumElements(getShape(value)) == 0 ? Value() : value;
}

namespace {
/// Where a resize's parameters are, by opset.
struct ResizeInputs {
  Value roi, scales, sizes;
};
} // namespace

static LogicalResult makeResize(NodeContext &ctx, const ResizeInputs &inputs) {
  if (!inputs.scales == !inputs.sizes)
    return ctx.error("needs either scales or sizes");
  Builder &builder = ctx.builder();
  // Before opset 11 (Upsample too) coordinates are divided by the scale and
  // rounded down.
  bool early = ctx.type() == "Upsample" || ctx.opset() < 11;
  auto text = [&](StringRef name, StringRef otherwise) {
    return builder.getStringAttr(ctx.getString(name, otherwise));
  };
  auto flag = [&](StringRef name) {
    return ctx.getFlag(name) ? builder.getUnitAttr() : UnitAttr();
  };
  ctx.setOutput(
      0, ctx.make<mp::ResizeOp>(
             ctx.input(0), inputs.roi, inputs.scales, inputs.sizes,
             builder.getStringAttr(plainMode(ctx.getString("mode", "nearest"))),
             text("coordinate_transformation_mode",
                  early ? "asymmetric" : "half_pixel"),
             text("nearest_mode", early ? "floor" : "round_prefer_floor"),
             text("keep_aspect_ratio_policy", "stretch"),
             builder.getF64FloatAttr(ctx.getFloat("cubic_coeff_a", -0.75)),
             builder.getF64FloatAttr(ctx.getFloat("extrapolation_value", 0)),
             flag("exclude_outside"), flag("antialias"),
             findIntsAttr(ctx, "axes")));
  return success();
}

static LogicalResult lowerResize(NodeContext &ctx) {
  if (ctx.opset() < 11)
    return makeResize(ctx, {Value(), ctx.input(1), Value()});
  return makeResize(ctx,
                    {findInput(ctx, 1), findInput(ctx, 2), findInput(ctx, 3)});
}

static LogicalResult lowerUpsample(NodeContext &ctx) {
  if (ctx.opset() >= 9)
    return makeResize(ctx, {Value(), ctx.input(1), Value()});
  if (auto scales = ctx.findFloats("scales"))
    return makeResize(ctx, {Value(), makeFloats(ctx, *scales), Value()});
  auto height = ctx.findFloat("height_scale"), // opset 1
      width = ctx.findFloat("width_scale");
  if (!height || !width)
    return ctx.error("no scales");
  return makeResize(
      ctx, {Value(), makeFloats(ctx, {1, 1, *height, *width}), Value()});
}

static LogicalResult lowerGridSample(NodeContext &ctx) {
  ctx.setOutput(
      0, ctx.make<mp::GridSampleOp>(ctx.input(0), ctx.input(1),
                                    plainMode(ctx.getString("mode", "linear")),
                                    ctx.getString("padding_mode", "zeros"),
                                    ctx.getFlag("align_corners")));
  return success();
}

static LogicalResult lowerAffineGrid(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<mp::AffineGridOp>(ctx.input(0), ctx.input(1),
                                              ctx.getFlag("align_corners")));
  return success();
}

void onnx_import::registerResampleLowerings(LoweringRegistry &registry) {
  registry.add("Resize", withInputs<1, lowerResize>);
  registry.add("Upsample", withInputs<1, lowerUpsample>);
  registry.add("GridSample", withInputs<2, lowerGridSample>);
  registry.add("AffineGrid", withInputs<2, lowerAffineGrid>);
  registry.add("com.microsoft", "GridSample", withInputs<2, lowerGridSample>);
}
