//===- QLinear.cpp - Ops on quantised tensors, from ONNX ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowerings of the QLinear ops, which dequantise, compute and quantise: lowered
// to these three, with transposes around an op whose channels come last. Scales
// that are neither one number nor a list have no lowering.
//
//===----------------------------------------------------------------------===//

#include "QLinear.h"

#include "Inputs.h"
#include "Window.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

static Value makeDequantize(NodeContext &ctx, Value input, Value scale,
                            Value zeroPoint, int64_t axis) {
  OpBuilder &b = ctx.builder();
  return ctx.make<mp::DequantizeOp>(
      input, scale, zeroPoint, b.getI64IntegerAttr(axis),
      b.getI64IntegerAttr(0), TypeAttr(), DenseI64ArrayAttr());
}

/// Tensor, scale and zero point from input `first` on.
static Value makeDequantize(NodeContext &ctx, unsigned first, int64_t axis) {
  return makeDequantize(ctx, ctx.input(first), ctx.input(first + 1),
                        ctx.input(first + 2), axis);
}

/// Quantises the node's result by the scale and zero point at input `first`.
static LogicalResult quantizeOutput(NodeContext &ctx, Value value,
                                    unsigned first, int64_t axis) {
  OpBuilder &b = ctx.builder();
  ctx.setOutput(0, ctx.make<mp::QuantizeOp>(
                       value, ctx.input(first), ctx.input(first + 1),
                       b.getI64IntegerAttr(axis), b.getI64IntegerAttr(0),
                       b.getBoolAttr(true), TypeAttr(), DenseI64ArrayAttr()));
  return success();
}

/// Inputs at `indices` are there; optional ones stand between them.
static LogicalResult needInputs(NodeContext &ctx, ArrayRef<unsigned> indices) {
  for (unsigned index : indices)
    if (!ctx.hasInput(index))
      return ctx.error("has no input " + Twine(index));
  return success();
}

/// True if the inputs at `indices` are one number or a list.
static bool haveSimpleScales(NodeContext &ctx, ArrayRef<unsigned> indices) {
  return llvm::all_of(indices, [&](unsigned index) {
    MaybeShape shape = getShape(ctx.input(index));
    return !shape || shape->size() <= 1 || getNumElements(shape) == 1;
  });
}

/// Channels of (N, ..., C) to where the dialect has them, or back again. Null
/// if the rank is not known.
static Value moveChannels(NodeContext &ctx, Value value, bool back) {
  MaybeShape shape = getShape(value);
  if (!shape || shape->size() < 2)
    return {};
  SmallVector<int64_t> order = {0};
  for (size_t dim = 1; dim + 1 < shape->size(); ++dim)
    order.push_back(back ? dim + 1 : dim);
  order.insert(back ? order.end() : order.begin() + 1,
               back ? 1 : shape->size() - 1);
  return ctx.make<mp::TransposeOp>(value,
                                   ctx.builder().getDenseI64ArrayAttr(order));
}

/// The input at 0 to 2 in floating point, channels at axis 1.
static Value makeImage(NodeContext &ctx) {
  Value input = makeDequantize(ctx, 0, /*axis=*/1);
  return ctx.getFlag("channels_last") ? moveChannels(ctx, input, /*back=*/false)
                                      : input;
}

/// quantizeOutput of what was computed with channels at axis 1.
static LogicalResult quantizeImage(NodeContext &ctx, Value value,
                                   unsigned first) {
  if (ctx.getFlag("channels_last"))
    value = moveChannels(ctx, value, /*back=*/true);
  if (!value)
    return ctx.unsupported();
  return quantizeOutput(ctx, value, first, /*axis=*/1);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static LogicalResult lowerQLinearConv(NodeContext &ctx) {
  Value input = makeImage(ctx);
  if (!input)
    return ctx.unsupported();
  SmallVector<int64_t> kernel = ctx.getInts("kernel_shape");
  if (MaybeShape filter = getShape(ctx.input(3));
      kernel.empty() && filter && filter->size() > 2)
    kernel.assign(filter->begin() + 2, filter->end());
  WindowAttributes window = readWindow(ctx, input, kernel);
  Value filter = makeDequantize(ctx, 3, /*axis=*/0), bias;
  // Its scale is the product of the others.
  if (ctx.hasInput(8))
    bias = makeDequantize(ctx, ctx.input(8),
                          ctx.make<mp::MulOp>(ctx.input(1), ctx.input(4)),
                          Value(), /*axis=*/0);
  Value result = ctx.make<mp::ConvOp>(input, filter, bias, window.strides,
                                      window.dilations, window.pads,
                                      ctx.getInt("group", 1), window.autoPad);
  return quantizeImage(ctx, result, 6);
}

static Value makeMatMul(NodeContext &ctx, Value lhs, Value rhs) {
  OpBuilder &b = ctx.builder();
  return ctx.make<mp::MatMulOp>(lhs, rhs, b.getBoolAttr(false),
                                b.getBoolAttr(false), b.getF64FloatAttr(1.0));
}

static LogicalResult lowerQLinearMatMul(NodeContext &ctx) {
  if (!haveSimpleScales(ctx, {1, 4, 6}))
    return ctx.unsupported();
  // A scale for each row of the left operand, each column of the right one.
  Value lhs = makeDequantize(ctx, 0, -2), rhs = makeDequantize(ctx, 3, -1);
  return quantizeOutput(ctx, makeMatMul(ctx, lhs, rhs), 6, -2);
}

/// A and B with scale and zero point each, C, and those of the result, which is
/// a float without.
static LogicalResult lowerQGemm(NodeContext &ctx) {
  if (failed(needInputs(ctx, {3, 4})))
    return failure();
  double alpha = ctx.getFloat("alpha", 1.0);
  // C's scale is the product of the others and alpha.
  if (!haveSimpleScales(ctx, {1, 4}) || (ctx.hasInput(6) && alpha != 1.0))
    return ctx.unsupported();
  bool transA = ctx.getFlag("transA"), transB = ctx.getFlag("transB");
  Value lhs = makeDequantize(ctx, 0, transA ? 1 : 0),
        rhs = makeDequantize(ctx, 3, transB ? 0 : 1), bias;
  if (ctx.hasInput(6))
    bias = makeDequantize(ctx, ctx.input(6),
                          ctx.make<mp::MulOp>(ctx.input(1), ctx.input(4)),
                          Value(), /*axis=*/-1);
  Value result = ctx.make<mp::GemmOp>(lhs, rhs, bias, transA, transB,
                                      APFloat(alpha), APFloat(1.0));
  if (ctx.hasInput(7))
    return quantizeOutput(ctx, result, 7, -1);
  ctx.setOutput(0, result);
  return success();
}

/// A, B, their scales, their zero points, bias; the result stays a float.
static LogicalResult lowerMatMulIntegerToFloat(NodeContext &ctx) {
  if (!haveSimpleScales(ctx, {2, 3}))
    return ctx.unsupported();
  Value lhs = makeDequantize(ctx, ctx.input(0), ctx.input(2), ctx.input(4), -2);
  Value rhs = makeDequantize(ctx, ctx.input(1), ctx.input(3), ctx.input(5), -1);
  Value result = makeMatMul(ctx, lhs, rhs);
  if (Value bias = ctx.input(6))
    result = ctx.make<mp::AddOp>(result, bias);
  ctx.setOutput(0, result);
  return success();
}

/// A, B, B's scale and zero point, bias: A is quantised by its own range.
static LogicalResult lowerDynamicQuantizeMatMul(NodeContext &ctx) {
  if (!haveSimpleScales(ctx, {2}))
    return ctx.unsupported();
  auto quantized =
      ctx.makeTyped<mp::DynamicQuantizeOp>(ctx.unknownTypes(3), ctx.input(0));
  Value lhs = makeDequantize(ctx, quantized.getValues(), quantized.getScale(),
                             quantized.getZeroPoint(), 1);
  Value rhs = makeDequantize(ctx, ctx.input(1), ctx.input(2), ctx.input(3), -1);
  Value result = makeMatMul(ctx, lhs, rhs);
  if (Value bias = ctx.input(4))
    result = ctx.make<mp::AddOp>(result, bias);
  ctx.setOutput(0, result);
  return success();
}

//===----------------------------------------------------------------------===//
// Elementwise ops, pools, concatenation
//===----------------------------------------------------------------------===//

template <typename OpT>
static LogicalResult lowerQLinearBinary(NodeContext &ctx) {
  if (failed(needInputs(ctx, {3, 4, 6})))
    return failure();
  Value lhs = makeDequantize(ctx, 0, 1), rhs = makeDequantize(ctx, 3, 1);
  return quantizeOutput(ctx, ctx.make<OpT>(lhs, rhs), 6, 1);
}

static LogicalResult lowerQLinearSigmoid(NodeContext &ctx) {
  if (failed(needInputs(ctx, {3})))
    return failure();
  Value input = makeDequantize(ctx, 0, 1);
  return quantizeOutput(ctx, ctx.make<mp::SigmoidOp>(input), 3, 1);
}

static LogicalResult lowerQLinearLeakyRelu(NodeContext &ctx) {
  if (failed(needInputs(ctx, {3})))
    return failure();
  Value input = makeDequantize(ctx, 0, 1);
  return quantizeOutput(
      ctx,
      ctx.make<mp::LeakyReluOp>(
          input, ctx.builder().getF64FloatAttr(ctx.getFloat("alpha", 0.01))),
      3, 1);
}

static LogicalResult lowerQLinearSoftmax(NodeContext &ctx) {
  if (failed(needInputs(ctx, {3})))
    return failure();
  OpBuilder &b = ctx.builder();
  // It carries the opset of the Softmax it came from.
  bool flatten = ctx.getInt("opset", 13) < 13;
  Value input = makeDequantize(ctx, 0, 1);
  return quantizeOutput(ctx,
                        ctx.make<mp::SoftmaxOp>(
                            input, b.getI64IntegerAttr(ctx.getInt("axis", -1)),
                            flatten ? b.getUnitAttr() : UnitAttr()),
                        3, 1);
}

static LogicalResult lowerQLinearGlobalAveragePool(NodeContext &ctx) {
  if (failed(needInputs(ctx, {3})))
    return failure();
  Value input = makeImage(ctx);
  if (!input)
    return ctx.unsupported();
  return quantizeImage(ctx, ctx.make<mp::GlobalAveragePoolOp>(input), 3);
}

static LogicalResult lowerQLinearAveragePool(NodeContext &ctx) {
  if (failed(needInputs(ctx, {3})))
    return failure();
  SmallVector<int64_t> kernel = ctx.getInts("kernel_shape");
  if (kernel.empty())
    return ctx.error("has no kernel_shape");
  Value input = makeImage(ctx);
  if (!input)
    return ctx.unsupported();
  WindowAttributes window = readWindow(ctx, input, kernel);
  bool ceil = ctx.getFlag("ceil_mode");
  Value result = ctx.make<mp::AveragePoolOp>(
      input, kernel, window.strides, window.dilations, window.pads, ceil,
      window.autoPad, ctx.getFlag("count_include_pad"), ceil);
  return quantizeImage(ctx, result, 3);
}

/// MaxPool with channels last; its numbers stay what they are.
static LogicalResult lowerNhwcMaxPool(NodeContext &ctx) {
  SmallVector<int64_t> kernel = ctx.getInts("kernel_shape");
  if (kernel.empty())
    return ctx.error("has no kernel_shape");
  Value input = moveChannels(ctx, ctx.input(0), /*back=*/false);
  if (!input)
    return ctx.unsupported();
  WindowAttributes window = readWindow(ctx, input, kernel);
  auto pool = ctx.makeTyped<mp::MaxPoolOp>(
      ctx.unknownTypes(1), input, kernel, window.strides, window.dilations,
      window.pads, ctx.getFlag("ceil_mode"), window.autoPad, 0);
  Value result = moveChannels(ctx, pool.getResult(), /*back=*/true);
  if (!result)
    return ctx.unsupported();
  ctx.setOutput(0, result);
  return success();
}

static LogicalResult lowerQLinearReduceMean(NodeContext &ctx) {
  if (failed(needInputs(ctx, {3})))
    return failure();
  OpBuilder &b = ctx.builder();
  std::optional<SmallVector<int64_t>> axes = ctx.findInts("axes");
  Value result = ctx.make<mp::ReduceMeanOp>(
      makeDequantize(ctx, 0, 1), Value(),
      axes ? b.getDenseI64ArrayAttr(*axes) : DenseI64ArrayAttr(),
      b.getBoolAttr(ctx.getFlag("keepdims", true)));
  return quantizeOutput(ctx, result, 3, 1);
}

static LogicalResult lowerQLinearWhere(NodeContext &ctx) {
  if (failed(needInputs(ctx, {4, 5, 7})))
    return failure();
  Value lhs = makeDequantize(ctx, 1, 1), rhs = makeDequantize(ctx, 4, 1);
  return quantizeOutput(ctx, ctx.make<mp::WhereOp>(ctx.input(0), lhs, rhs), 7,
                        1);
}

/// The result's scale and zero point, then tensor, scale and zero point of each
/// operand.
static LogicalResult lowerQLinearConcat(NodeContext &ctx) {
  std::optional<int64_t> axis = ctx.findInt("axis");
  if (!axis || ctx.numInputs() < 5 || ctx.numInputs() % 3 != 2)
    return ctx.error("needs an axis, and three inputs for each tensor");
  SmallVector<Value> operands;
  for (unsigned first = 2; first < ctx.numInputs(); first += 3) {
    if (!ctx.hasInput(first) || !ctx.hasInput(first + 1))
      return ctx.error("has no input " + Twine(first));
    operands.push_back(makeDequantize(ctx, first, 1));
  }
  Value result =
      ctx.make<mp::ConcatOp>(operands, ctx.builder().getI64IntegerAttr(*axis));
  return quantizeOutput(ctx, result, 0, 1);
}

void onnx_import::addQLinearOps(LoweringRegistry &registry) {
  // The domain of ONNX Runtime's own ops.
  constexpr StringRef kMs = "com.microsoft";
  registry.add("QLinearConv", withInputs<lowerQLinearConv, 7>);
  registry.add(kMs, "QLinearConv", withInputs<lowerQLinearConv, 7>);
  registry.add("QLinearMatMul", withInputs<lowerQLinearMatMul, 7>);
  registry.add(kMs, "MatMulIntegerToFloat",
               withInputs<lowerMatMulIntegerToFloat, 4>);
  registry.add(kMs, "DynamicQuantizeMatMul",
               withInputs<lowerDynamicQuantizeMatMul, 3>);
  registry.add(kMs, "QLinearConcat", withInputs<lowerQLinearConcat, 1>);
  // Zero points may be left out, scales not.
  registry.add(kMs, "QLinearSigmoid", withInputs<lowerQLinearSigmoid, 2>);
  registry.add(kMs, "QLinearLeakyRelu", withInputs<lowerQLinearLeakyRelu, 2>);
  registry.add(kMs, "QLinearSoftmax", withInputs<lowerQLinearSoftmax, 2>);
  registry.add(kMs, "QLinearGlobalAveragePool",
               withInputs<lowerQLinearGlobalAveragePool, 2>);
  registry.add(kMs, "QLinearAveragePool",
               withInputs<lowerQLinearAveragePool, 2>);
  registry.add(kMs, "QLinearReduceMean", withInputs<lowerQLinearReduceMean, 2>);
  registry.add(kMs, "QLinearWhere", withInputs<lowerQLinearWhere, 3>);
  registry.add(kMs, "QGemm", withInputs<lowerQGemm, 2>);
  registry.add(kMs, "NhwcMaxPool", withInputs<lowerNhwcMaxPool, 1>);
  registry.add(kMs, "QLinearAdd", withInputs<lowerQLinearBinary<mp::AddOp>, 2>);
  registry.add(kMs, "QLinearMul", withInputs<lowerQLinearBinary<mp::MulOp>, 2>);
}
