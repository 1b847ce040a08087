//===- Linear.cpp - Matrix products and convolutions, from ONNX -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Window.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

/// The first `count` inputs are there.
static LogicalResult needInputs(NodeContext &ctx, unsigned count) {
  for (unsigned index = 0; index < count; ++index)
    if (!ctx.hasInput(index))
      return ctx.error("input " + Twine(index) + " is missing");
  return success();
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// FusedMatMul's transBatchA and transBatchB: rows first, then batch dims, then
/// columns. Null if the rank is not known.
static Value moveBatchFirst(NodeContext &ctx, Value operand) {
  MaybeShape shape = getShape(operand);
  if (!shape)
    return {};
  SmallVector<int64_t> order;
  for (size_t dim = 1; dim + 1 < shape->size(); ++dim)
    order.push_back(dim);
  if (order.empty())
    return operand;
  order.push_back(0);
  order.push_back(shape->size() - 1);
  return ctx.make<mp::TransposeOp>(operand,
                                   ctx.builder().getDenseI64ArrayAttr(order));
}

static LogicalResult lowerMatMul(NodeContext &ctx) {
  if (failed(needInputs(ctx, 2)))
    return failure();
  // Only FusedMatMul and TransposeMatMul have attributes.
  Value lhs = ctx.input(0), rhs = ctx.input(1);
  if (ctx.getFlag("transBatchA"))
    lhs = moveBatchFirst(ctx, lhs);
  if (ctx.getFlag("transBatchB"))
    rhs = moveBatchFirst(ctx, rhs);
  if (!lhs || !rhs)
    return ctx.unsupported();
  ctx.setOutput(0, ctx.make<mp::MatMulOp>(lhs, rhs, ctx.getFlag("transA"),
                                          ctx.getFlag("transB"),
                                          APFloat(ctx.getFloat("alpha", 1.0))));
  return success();
}

/// Null if it has no form here. Some writers give Gemm batches of matrices,
/// which the standard does not have; they are products with an addition.
static Value makeGemm(NodeContext &ctx) {
  APFloat alpha(ctx.getFloat("alpha", 1.0)), beta(ctx.getFloat("beta", 1.0));
  bool transA = ctx.getFlag("transA"), transB = ctx.getFlag("transB");
  MaybeShape lhs = getShape(ctx.input(0)), rhs = getShape(ctx.input(1));
  if ((!lhs || lhs->size() <= 2) && (!rhs || rhs->size() <= 2))
    return ctx.make<mp::GemmOp>(ctx.input(0), ctx.input(1), ctx.input(2),
                                transA, transB, alpha, beta);
  if (ctx.hasInput(2) && !beta.isExactlyValue(1.0))
    return {};
  Value product =
      ctx.make<mp::MatMulOp>(ctx.input(0), ctx.input(1), transA, transB, alpha);
  return ctx.hasInput(2) ? ctx.make<mp::AddOp>(product, ctx.input(2)) : product;
}

static LogicalResult lowerGemm(NodeContext &ctx) {
  if (failed(needInputs(ctx, 2)))
    return failure();
  Value result = makeGemm(ctx);
  if (!result)
    return ctx.unsupported();
  ctx.setOutput(0, result);
  return success();
}

static LogicalResult lowerFusedGemm(NodeContext &ctx) {
  if (failed(needInputs(ctx, 2)))
    return failure();
  SmallVector<double> parameters;
  for (StringRef name :
       {"activation_alpha", "activation_beta", "activation_gamma"})
    if (std::optional<double> value = ctx.findFloat(name))
      parameters.push_back(*value);
  Value result = makeGemm(ctx);
  if (result)
    result = makeFusedActivation(ctx, ctx.getString("activation", ""),
                                 parameters, result);
  if (!result)
    return ctx.unsupported();
  ctx.setOutput(0, result);
  return success();
}

static LogicalResult lowerEinsum(NodeContext &ctx) {
  std::optional<StringRef> equation = ctx.findString("equation");
  if (!equation)
    return ctx.error("attribute equation is missing");
  ctx.setOutput(0, ctx.make<mp::EinsumOp>(ctx.inputs(), *equation));
  return success();
}

static LogicalResult lowerMatMulInteger(NodeContext &ctx) {
  if (failed(needInputs(ctx, 2)))
    return failure();
  ctx.setOutput(0, ctx.make<mp::MatMulIntegerOp>(ctx.input(0), ctx.input(1),
                                                 ctx.input(2), ctx.input(3)));
  return success();
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// Kernel sizes: `kernel_shape`, else the filter's. Fails if both are known and
/// differ.
static FailureOr<SmallVector<int64_t>> getKernel(NodeContext &ctx) {
  SmallVector<int64_t> listed = ctx.getInts("kernel_shape");
  MaybeShape filter = getShape(ctx.input(1));
  if (!filter || filter->size() < 2)
    return listed;
  SmallVector<int64_t> actual(ArrayRef(*filter).drop_front(2));
  if (listed.empty())
    return actual;
  bool same = listed.size() == actual.size();
  for (size_t index = 0; same && index < listed.size(); ++index)
    same = actual[index] < 0 || actual[index] == listed[index];
  if (!same)
    return ctx.error("kernel_shape is not the filter's");
  return listed;
}

/// The attributes of a convolution whose first `count` inputs must be there.
static FailureOr<WindowAttributes> readConvWindow(NodeContext &ctx,
                                                  unsigned count) {
  if (failed(needInputs(ctx, count)))
    return failure();
  FailureOr<SmallVector<int64_t>> kernel = getKernel(ctx);
  if (failed(kernel))
    return failure();
  return readWindow(ctx, ctx.input(0), *kernel);
}

static FailureOr<Value> makeConv(NodeContext &ctx) {
  FailureOr<WindowAttributes> window = readConvWindow(ctx, 2);
  if (failed(window))
    return failure();
  return ctx.make<mp::ConvOp>(ctx.input(0), ctx.input(1), ctx.input(2),
                              window->strides, window->dilations, window->pads,
                              ctx.getInt("group", 1), window->autoPad);
}

static LogicalResult lowerConv(NodeContext &ctx) {
  FailureOr<Value> result = makeConv(ctx);
  if (failed(result))
    return failure();
  ctx.setOutput(0, *result);
  return success();
}

/// activation(conv(X, W, B) + Z)
static LogicalResult lowerFusedConv(NodeContext &ctx) {
  FailureOr<Value> sum = makeConv(ctx);
  if (failed(sum))
    return failure();
  if (Value addend = ctx.input(3))
    sum = ctx.make<mp::AddOp>(*sum, addend);
  Value result = makeFusedActivation(
      ctx, ctx.getString("activation", ""),
      ctx.findFloats("activation_params").value_or(SmallVector<double>()),
      *sum);
  if (!result)
    return ctx.unsupported();
  ctx.setOutput(0, result);
  return success();
}

static LogicalResult lowerConvTranspose(NodeContext &ctx) {
  if (failed(needInputs(ctx, 2)))
    return failure();
  FailureOr<SmallVector<int64_t>> kernel = getKernel(ctx);
  if (failed(kernel))
    return failure();
  WindowAttributes window = readWindow(ctx, ctx.input(0), *kernel, false);
  SmallVector<int64_t> shape = ctx.getInts("output_shape");
  // Some exporters list batch and channels too.
  if (!kernel->empty() && shape.size() > kernel->size())
    shape.erase(shape.begin(), shape.end() - kernel->size());
  SmallVector<int64_t> padding = ctx.getInts("output_padding");
  if (llvm::all_of(padding, [](int64_t pad) { return pad == 0; }))
    padding.clear();
  ctx.setOutput(0, ctx.make<mp::ConvTransposeOp>(
                       ctx.input(0), ctx.input(1), ctx.input(2), window.strides,
                       window.dilations, window.pads, padding, shape,
                       ctx.getInt("group", 1), window.autoPad));
  return success();
}

static LogicalResult lowerDeformConv(NodeContext &ctx) {
  FailureOr<WindowAttributes> window = readConvWindow(ctx, 3);
  if (failed(window))
    return failure();
  ctx.setOutput(0, ctx.make<mp::DeformConvOp>(
                       ctx.input(0), ctx.input(1), ctx.input(2), ctx.input(3),
                       ctx.input(4), window->strides, window->dilations,
                       window->pads, ctx.getInt("group", 1),
                       ctx.getInt("offset_group", 1)));
  return success();
}

static LogicalResult lowerConvInteger(NodeContext &ctx) {
  FailureOr<WindowAttributes> window = readConvWindow(ctx, 2);
  if (failed(window))
    return failure();
  ctx.setOutput(0, ctx.make<mp::ConvIntegerOp>(
                       ctx.input(0), ctx.input(1), ctx.input(2), ctx.input(3),
                       window->strides, window->dilations, window->pads,
                       ctx.getInt("group", 1), window->autoPad));
  return success();
}

void onnx_import::registerLinearLowerings(LoweringRegistry &registry) {
  registry.add("MatMul", lowerMatMul);
  registry.add("com.microsoft", "FusedMatMul", lowerMatMul);
  registry.add("com.microsoft", "TransposeMatMul", lowerMatMul);
  registry.add("Gemm", lowerGemm);
  registry.add("com.microsoft", "FusedGemm", lowerFusedGemm);
  registry.add("Einsum", lowerEinsum);
  registry.add("MatMulInteger", lowerMatMulInteger);
  registry.add("com.microsoft", "MatMulInteger16", lowerMatMulInteger);
  registry.add("Conv", lowerConv);
  registry.add("com.microsoft", "FusedConv", lowerFusedConv);
  registry.add("ConvTranspose", lowerConvTranspose);
  registry.add("DeformConv", lowerDeformConv);
  registry.add("ConvInteger", lowerConvInteger);
}
