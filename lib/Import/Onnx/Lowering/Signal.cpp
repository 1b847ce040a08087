//===- Signal.cpp - Windows, Fourier and image transforms, from ONNX ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Onnx/Arguments.h"

#include "mpopt/Dialect/Ops/SignalOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

static LogicalResult lowerDFT(NodeContext &ctx) {
  // An attribute with default 1 in opset 17, an input with default -2 later.
  int64_t axis = ctx.getInt("axis", ctx.opset() < 20 ? 1 : -2);
  Value dynamicAxis;
  if (ctx.opset() >= 20) {
    if (auto known = ctx.constantInts(2); known && known->size() == 1)
      axis = known->front();
    else
      dynamicAxis = ctx.input(2);
  }
  ctx.setOutput(0, ctx.make<mp::DFTOp>(ctx.input(0), ctx.input(1), dynamicAxis,
                                       axis, ctx.getFlag("inverse"),
                                       ctx.getFlag("onesided")));
  return success();
}

static LogicalResult lowerSTFT(NodeContext &ctx) {
  ctx.setOutput(0, ctx.make<mp::STFTOp>(ctx.input(0), ctx.input(1),
                                        ctx.input(2), ctx.input(3),
                                        ctx.getFlag("onesided", true)));
  return success();
}

static LogicalResult lowerMelWeightMatrix(NodeContext &ctx) {
  Type type =
      findResultType(ctx, "output_datatype", ctx.builder().getF32Type());
  if (!type)
    return ctx.error("output_datatype is not a data type");
  ctx.setOutput(0, ctx.makeTyped<mp::MelWeightMatrixOp>(
                       {type}, ctx.input(0), ctx.input(1), ctx.input(2),
                       ctx.input(3), ctx.input(4)));
  return success();
}

static LogicalResult lowerWindow(NodeContext &ctx) {
  Type type =
      findResultType(ctx, "output_datatype", ctx.builder().getF32Type());
  if (!type)
    return ctx.error("output_datatype is not a data type");
  StringRef kind = ctx.type() == "HannWindow"      ? "hann"
                   : ctx.type() == "HammingWindow" ? "hamming"
                                                   : "blackman";
  ctx.setOutput(0, ctx.makeTyped<mp::WindowOp>({type}, ctx.input(0), kind,
                                               ctx.getFlag("periodic", true)));
  return success();
}

void onnx_import::registerSignalLowerings(LoweringRegistry &registry) {
  registry.add("DFT", withInputs<1, lowerDFT>);
  registry.add("STFT", withInputs<2, lowerSTFT>);
  registry.add("MelWeightMatrix", withInputs<5, lowerMelWeightMatrix>);
  for (StringRef name : {"HannWindow", "HammingWindow", "BlackmanWindow"})
    registry.add(name, withInputs<1, lowerWindow>);
}
