//===- Quantization.cpp - Quantisation, from ONNX -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Onnx/Lowering.h"

#include "Inputs.h"
#include "QLinear.h"

#include "mpopt/Dialect/Ops/QuantizationOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

static LogicalResult lowerQuantize(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  Type element = mp::UnknownType::get(ctx.context());
  if (int64_t dtype = ctx.getInt("output_dtype", 0))
    element = ctx.elementTypeOf(dtype);
  if (!element)
    return ctx.error("has an unknown output_dtype");
  Type compute;
  if (int64_t dtype = ctx.getInt("precision", 0))
    compute = ctx.elementTypeOf(dtype);
  auto op = ctx.makeTyped<mp::QuantizeOp>(
      {getTensorType(std::nullopt, element)}, ctx.input(0), ctx.input(1),
      ctx.input(2), b.getI64IntegerAttr(ctx.getInt("axis", 1)),
      b.getI64IntegerAttr(ctx.getInt("block_size", 0)),
      b.getBoolAttr(ctx.getFlag("saturate", true)),
      compute ? TypeAttr::get(compute) : TypeAttr(), DenseI64ArrayAttr());
  ctx.setOutput(0, op.getResult());
  return success();
}

static LogicalResult lowerDequantize(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  Type output;
  if (int64_t dtype = ctx.getInt("output_dtype", 0))
    if (!(output = ctx.elementTypeOf(dtype)))
      return ctx.error("has an unknown output_dtype");
  ctx.setOutput(0, ctx.make<mp::DequantizeOp>(
                       ctx.input(0), ctx.input(1), ctx.input(2),
                       b.getI64IntegerAttr(ctx.getInt("axis", 1)),
                       b.getI64IntegerAttr(ctx.getInt("block_size", 0)),
                       output ? TypeAttr::get(output) : TypeAttr(),
                       DenseI64ArrayAttr()));
  return success();
}

static LogicalResult lowerDynamicQuantize(NodeContext &ctx) {
  auto op =
      ctx.makeTyped<mp::DynamicQuantizeOp>(ctx.unknownTypes(3), ctx.input(0));
  for (OpResult result : op->getResults())
    ctx.setOutput(result.getResultNumber(), result);
  return success();
}

/// MatMulNBits, and MatMulBnb4, whose 4-bit values are a table's.
static LogicalResult lowerMatMulNBits(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  bool table = ctx.type() == "MatMulBnb4";
  std::optional<int64_t> k = ctx.findInt("K"), n = ctx.findInt("N"),
                         block = ctx.findInt("block_size");
  if (!k || !n || !block)
    return ctx.error("needs K, N and block_size");
  StringRef code = "int";
  if (table)
    code = ctx.getInt("quant_type", 1) == 0 ? "fp4" : "nf4";
  auto extra = [&](unsigned index) {
    return table ? Value() : ctx.input(index);
  };
  ctx.setOutput(0, ctx.make<mp::MatMulNBitsOp>(
                       ctx.input(0), ctx.input(1), ctx.input(2), extra(3),
                       extra(4), extra(5), b.getI64IntegerAttr(*k),
                       b.getI64IntegerAttr(*n),
                       b.getI64IntegerAttr(table ? 4 : ctx.getInt("bits", 4)),
                       b.getI64IntegerAttr(*block), b.getStringAttr(code)));
  return success();
}

static LogicalResult lowerGatherBlockQuantized(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  ctx.setOutput(0, ctx.make<mp::GatherBlockQuantizedOp>(
                       ctx.input(0), ctx.input(1), ctx.input(2), ctx.input(3),
                       b.getI64IntegerAttr(ctx.getInt("gather_axis", 0)),
                       b.getI64IntegerAttr(ctx.getInt("quantize_axis", 1)),
                       b.getI64IntegerAttr(ctx.getInt("block_size", 128)),
                       b.getI64IntegerAttr(ctx.getInt("bits", 4))));
  return success();
}

void onnx_import::registerQuantizationLowerings(LoweringRegistry &registry) {
  addQLinearOps(registry);
  for (StringRef domain : {"", "com.microsoft"}) {
    registry.add(domain, "QuantizeLinear", withInputs<lowerQuantize, 2>);
    registry.add(domain, "DequantizeLinear", withInputs<lowerDequantize, 2>);
  }
  registry.add("DynamicQuantizeLinear", withInputs<lowerDynamicQuantize, 1>);
  registry.add("com.microsoft", "MatMulNBits", withInputs<lowerMatMulNBits, 3>);
  registry.add("com.microsoft", "MatMulBnb4", withInputs<lowerMatMulNBits, 3>);
  registry.add("com.microsoft", "GatherBlockQuantized",
               withInputs<lowerGatherBlockQuantized, 3>);
}
