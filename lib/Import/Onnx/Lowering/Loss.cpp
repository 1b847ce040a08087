//===- Loss.cpp - Losses, from ONNX ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Onnx/Lowering.h"

#include "Inputs.h"

#include "mpopt/Dialect/Ops/LossOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

/// SoftmaxCrossEntropyLoss, and ONNX Runtime's form of it inside training
/// graphs, which takes ignore_index as an input and may give another dtype.
static LogicalResult lowerSoftmaxCrossEntropy(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  std::optional<int64_t> ignored = ctx.findInt("ignore_index");
  std::optional<int64_t> outputType = ctx.findInt("output_type");
  Type output = outputType ? ctx.elementTypeOf(*outputType) : Type();
  auto op = ctx.makeTyped<mp::SoftmaxCrossEntropyOp>(
      ctx.unknownTypes(2), ctx.input(0), ctx.input(1), ctx.input(2),
      ctx.input(3), b.getStringAttr(ctx.getString("reduction", "mean")),
      ignored ? b.getI64IntegerAttr(*ignored) : IntegerAttr(),
      output ? TypeAttr::get(output) : TypeAttr());
  ctx.setOutput(0, op.getLoss());
  ctx.setOutput(1, op.getLogProb());
  return success();
}

static LogicalResult lowerNllLoss(NodeContext &ctx) {
  OpBuilder &b = ctx.builder();
  std::optional<int64_t> ignored = ctx.findInt("ignore_index");
  if (ctx.hasInput(3)) { // the internal form
    std::optional<SmallVector<int64_t>> input = ctx.constantInts(3);
    if (!input || input->size() != 1)
      return ctx.unsupported();
    ignored = input->front();
  }
  ctx.setOutput(0,
                ctx.make<mp::NllLossOp>(
                    ctx.input(0), ctx.input(1), ctx.input(2),
                    b.getStringAttr(ctx.getString("reduction", "mean")),
                    ignored ? b.getI64IntegerAttr(*ignored) : IntegerAttr()));
  return success();
}

static LogicalResult lowerCDist(NodeContext &ctx) {
  StringRef metric = ctx.getString("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    return ctx.unsupported();
  OpBuilder &b = ctx.builder();
  ctx.setOutput(0, ctx.make<mp::CdistOp>(
                       ctx.input(0), ctx.input(1), b.getF64FloatAttr(2.0),
                       b.getBoolAttr(metric == "sqeuclidean")));
  return success();
}

void onnx_import::registerLossLowerings(LoweringRegistry &registry) {
  registry.add("SoftmaxCrossEntropyLoss",
               withInputs<lowerSoftmaxCrossEntropy, 2>);
  registry.add("NegativeLogLikelihoodLoss", withInputs<lowerNllLoss, 2>);
  for (StringRef domain : {"", "com.microsoft"}) {
    registry.add(domain, "SoftmaxCrossEntropyLossInternal",
                 withInputs<lowerSoftmaxCrossEntropy, 2>);
    registry.add(domain, "NegativeLogLikelihoodLossInternal",
                 withInputs<lowerNllLoss, 2>);
    registry.add(domain, "NegativeLogLikelihoodLossInternal2",
                 withInputs<lowerNllLoss, 2>);
  }
  registry.add("com.microsoft", "CDist", withInputs<lowerCDist, 2>);
}
