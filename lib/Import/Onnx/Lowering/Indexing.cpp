//===- Indexing.cpp - Gather, scatter and other indexing, from ONNX -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Onnx/Arguments.h"

#include "mpopt/Dialect/Ops/IndexingOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

template <typename OpT> static LogicalResult lowerAlongAxis(NodeContext &ctx) {
  ctx.setOutput(
      0, ctx.make<OpT>(ctx.input(0), ctx.input(1), ctx.getInt("axis", 0)));
  return success();
}

static LogicalResult lowerGatherND(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<mp::GatherNDOp>(ctx.input(0), ctx.input(1),
                                            ctx.getInt("batch_dims", 0)));
  return success();
}

/// Also the Scatter of opset 9, the same under an older name.
static LogicalResult lowerScatterElements(NodeContext &ctx) {
  ctx.setOutput(
      0, ctx.make<mp::ScatterElementsOp>(ctx.input(0), ctx.input(1),
                                         ctx.input(2), ctx.getInt("axis", 0),
                                         ctx.getString("reduction", "none")));
  return success();
}

static LogicalResult lowerScatterND(NodeContext &ctx) {
  ctx.setOutput(
      0, ctx.make<mp::ScatterNDOp>(ctx.input(0), ctx.input(1), ctx.input(2),
                                   ctx.getString("reduction", "none")));
  return success();
}

static IntegerAttr findAxis(NodeContext &ctx) {
  std::optional<int64_t> axis = ctx.findInt("axis");
  return axis ? ctx.builder().getI64IntegerAttr(*axis) : IntegerAttr();
}

static LogicalResult lowerCompress(NodeContext &ctx) {
  ctx.setOutput(
      0, ctx.make<mp::CompressOp>(ctx.input(0), ctx.input(1), findAxis(ctx)));
  return success();
}

static LogicalResult lowerUnique(NodeContext &ctx) {
  if (ctx.numOutputs() > 4)
    return ctx.error("more than four outputs");
  auto op = ctx.makeTyped<mp::UniqueOp>(
      ctx.unknownTypes(4), ctx.input(0), findAxis(ctx),
      ctx.builder().getBoolAttr(ctx.getFlag("sorted", true)));
  for (unsigned index = 0; index < ctx.numOutputs(); ++index)
    if (ctx.hasOutput(index))
      ctx.setOutput(index, op->getResult(index));
  return success();
}

static LogicalResult lowerNonMaxSuppression(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<mp::NonMaxSuppressionOp>(
                       ctx.input(0), ctx.input(1), ctx.input(2), ctx.input(3),
                       ctx.input(4), ctx.getFlag("center_point_box")));
  return success();
}

void onnx_import::registerIndexingLowerings(LoweringRegistry &registry) {
  registry.add("Gather", withInputs<2, lowerAlongAxis<mp::GatherOp>>);
  registry.add("GatherElements",
               withInputs<2, lowerAlongAxis<mp::GatherElementsOp>>);
  registry.add("GatherND", withInputs<2, lowerGatherND>);
  registry.add("com.microsoft", "GatherND", withInputs<2, lowerGatherND>);
  registry.add("Scatter", withInputs<3, lowerScatterElements>);
  registry.add("ScatterElements", withInputs<3, lowerScatterElements>);
  registry.add("ScatterND", withInputs<3, lowerScatterND>);
  registry.add("Compress", withInputs<2, lowerCompress>);
  registry.add("NonZero", lowerPlain<mp::NonZeroOp, 1>);
  registry.add("Unique", withInputs<1, lowerUnique>);
  registry.add("NonMaxSuppression", withInputs<2, lowerNonMaxSuppression>);
}
