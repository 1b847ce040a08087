//===- Pooling.cpp - Pooling, from ONNX -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Window.h"

#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/TypeSupport.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

/// `kernel_shape` and an input of [N, C, as many dims].
static FailureOr<SmallVector<int64_t>> getKernel(NodeContext &ctx) {
  if (!ctx.hasInput(0))
    return ctx.error("input 0 is missing");
  SmallVector<int64_t> kernel = ctx.getInts("kernel_shape");
  if (kernel.empty())
    return ctx.error("attribute kernel_shape is missing");
  MaybeShape shape = getShape(ctx.input(0));
  if (shape && shape->size() != kernel.size() + 2)
    return ctx.error("kernel_shape has " + Twine(kernel.size()) +
                     " entries for an input of " + Twine(shape->size()) +
                     " dims");
  return kernel;
}

/// A number that was a float in opset 1 and an integer since.
static APFloat getPower(const NodeContext &ctx) {
  if (std::optional<int64_t> power = ctx.findInt("p"))
    return APFloat(double(*power));
  return APFloat(ctx.getFloat("p", 2.0));
}

static LogicalResult lowerMaxPool(NodeContext &ctx) {
  FailureOr<SmallVector<int64_t>> kernel = getKernel(ctx);
  if (failed(kernel))
    return failure();
  WindowAttributes window = readWindow(ctx, ctx.input(0), *kernel);
  bool indices = ctx.hasOutput(1);
  auto op = ctx.makeTyped<mp::MaxPoolOp>(
      ctx.unknownTypes(indices ? 2 : 1), ctx.input(0), *kernel, window.strides,
      window.dilations, window.pads, ctx.getFlag("ceil_mode"), window.autoPad,
      ctx.getInt("storage_order", 0));
  ctx.setOutput(0, op.getResult());
  if (indices)
    ctx.setOutput(1, op.getIndices());
  return success();
}

static LogicalResult lowerAveragePool(NodeContext &ctx) {
  FailureOr<SmallVector<int64_t>> kernel = getKernel(ctx);
  if (failed(kernel))
    return failure();
  WindowAttributes window = readWindow(ctx, ctx.input(0), *kernel);
  bool ceil = ctx.getFlag("ceil_mode");
  ctx.setOutput(0, ctx.make<mp::AveragePoolOp>(
                       ctx.input(0), *kernel, window.strides, window.dilations,
                       window.pads, ceil, window.autoPad,
                       ctx.getFlag("count_include_pad"),
                       ceil && ctx.opset() < 19));
  return success();
}

static LogicalResult lowerLpPool(NodeContext &ctx) {
  FailureOr<SmallVector<int64_t>> kernel = getKernel(ctx);
  if (failed(kernel))
    return failure();
  WindowAttributes window = readWindow(ctx, ctx.input(0), *kernel);
  ctx.setOutput(0, ctx.make<mp::LpPoolOp>(ctx.input(0), *kernel, window.strides,
                                          window.dilations, window.pads,
                                          ctx.getFlag("ceil_mode"),
                                          window.autoPad, getPower(ctx)));
  return success();
}

static LogicalResult lowerMaxUnpool(NodeContext &ctx) {
  FailureOr<SmallVector<int64_t>> kernel = getKernel(ctx);
  if (failed(kernel))
    return failure();
  if (!ctx.hasInput(1))
    return ctx.error("input 1 is missing");
  WindowAttributes window = readWindow(ctx, ctx.input(0), *kernel);
  ctx.setOutput(0, ctx.make<mp::MaxUnpoolOp>(ctx.input(0), ctx.input(1),
                                             ctx.input(2), *kernel,
                                             window.strides, window.pads));
  return success();
}

template <typename OpT> static LogicalResult lowerGlobalPool(NodeContext &ctx) {
  if (!ctx.hasInput(0))
    return ctx.error("input 0 is missing");
  ctx.setOutput(0, ctx.make<OpT>(ctx.input(0)));
  return success();
}

/// Three axes: only the last one is averaged, as the moments of a norm of rows
/// are, for which tf2onnx writes this op.
static LogicalResult lowerGlobalAveragePool(NodeContext &ctx) {
  MaybeShape shape = ctx.hasInput(0) ? getShape(ctx.input(0)) : MaybeShape();
  if (!shape || shape->size() != 3)
    return lowerGlobalPool<mp::GlobalAveragePoolOp>(ctx);
  ctx.setOutput(
      0, ctx.make<mp::ReduceMeanOp>(ctx.input(0), Value(),
                                    ctx.builder().getDenseI64ArrayAttr({2}),
                                    ctx.builder().getBoolAttr(true)));
  return success();
}

static LogicalResult lowerGlobalLpPool(NodeContext &ctx) {
  if (!ctx.hasInput(0))
    return ctx.error("input 0 is missing");
  ctx.setOutput(0, ctx.make<mp::GlobalLpPoolOp>(ctx.input(0), getPower(ctx)));
  return success();
}

static LogicalResult lowerMaxRoiPool(NodeContext &ctx) {
  if (!ctx.hasInput(0) || !ctx.hasInput(1))
    return ctx.error("an input is missing");
  ctx.setOutput(0, ctx.make<mp::MaxRoiPoolOp>(
                       ctx.input(0), ctx.input(1), ctx.getInts("pooled_shape"),
                       APFloat(ctx.getFloat("spatial_scale", 1.0))));
  return success();
}

static LogicalResult lowerRoiAlign(NodeContext &ctx) {
  if (!ctx.hasInput(0) || !ctx.hasInput(1) || !ctx.hasInput(2))
    return ctx.error("an input is missing");
  // Before opset 16 there was no shift by half a pixel.
  StringRef transformation =
      ctx.getString("coordinate_transformation_mode",
                    ctx.opset() < 16 ? "output_half_pixel" : "half_pixel");
  ctx.setOutput(
      0, ctx.make<mp::RoiAlignOp>(
             ctx.input(0), ctx.input(1), ctx.input(2),
             ctx.getInt("output_height", 1), ctx.getInt("output_width", 1),
             ctx.getInt("sampling_ratio", 0), ctx.getString("mode", "avg"),
             transformation == "half_pixel",
             APFloat(ctx.getFloat("spatial_scale", 1.0))));
  return success();
}

void onnx_import::registerPoolingLowerings(LoweringRegistry &registry) {
  registry.add("MaxPool", lowerMaxPool);
  registry.add("AveragePool", lowerAveragePool);
  registry.add("LpPool", lowerLpPool);
  registry.add("MaxUnpool", lowerMaxUnpool);
  registry.add("GlobalAveragePool", lowerGlobalAveragePool);
  registry.add("GlobalMaxPool", lowerGlobalPool<mp::GlobalMaxPoolOp>);
  registry.add("GlobalLpPool", lowerGlobalLpPool);
  registry.add("MaxRoiPool", lowerMaxRoiPool);
  registry.add("RoiAlign", lowerRoiAlign);
}
