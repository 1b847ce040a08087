//===- Reduction.cpp - Reductions, scans and selections, from ONNX --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Onnx/Lowering.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Axes are an attribute, from opset 18 (13 for ReduceSum) on an input. `NoopT`
/// is what remains of the op where it reduces over no axis.
template <typename OpT, typename NoopT>
static LogicalResult lowerReduce(NodeContext &ctx) {
  if (failed(ctx.requireInputs(1)))
    return failure();
  Value input = ctx.input(0), dynamic;
  std::optional<SmallVector<int64_t>> axes = ctx.attrOrInput("axes", 1);
  bool noop = ctx.getFlag("noop_with_empty_axes");
  if (!axes && ctx.hasInput(1)) {
    MaybeShape count = getShape(ctx.input(1));
    bool ranked = count && count->size() == 1;
    // Only the run decides that the node reduces at all.
    if (noop && (!ranked || count->front() == kDynamic))
      return ctx.unsupported();
    if (!ranked || count->front() != 0)
      dynamic = ctx.input(1);
  }
  if (noop && !dynamic && (!axes || axes->empty())) {
    ctx.setOutput(0, ctx.make<NoopT>(input));
    return success();
  }
  Builder &builder = ctx.builder();
  ctx.setOutput(
      0,
      ctx.make<OpT>(input, dynamic,
                    axes && !axes->empty() ? builder.getDenseI64ArrayAttr(*axes)
                                           : DenseI64ArrayAttr(),
                    builder.getBoolAttr(ctx.getFlag("keepdims", true))));
  return success();
}

//===----------------------------------------------------------------------===//
// ArgMax, ArgMin, TopK
//===----------------------------------------------------------------------===//

template <typename OpT> static LogicalResult lowerArg(NodeContext &ctx) {
  if (failed(ctx.requireInputs(1)))
    return failure();
  Builder &builder = ctx.builder();
  ctx.setOutput(
      0, ctx.make<OpT>(ctx.input(0),
                       builder.getI64IntegerAttr(ctx.getInt("axis", 0)),
                       builder.getBoolAttr(ctx.getFlag("keepdims", true)),
                       ctx.getFlag("select_last_index") ? builder.getUnitAttr()
                                                        : UnitAttr()));
  return success();
}

/// `k` is an attribute before opset 10.
static LogicalResult lowerTopK(NodeContext &ctx) {
  if (failed(ctx.requireInputs(ctx.opset() < 10 ? 1 : 2)))
    return failure();
  Builder &builder = ctx.builder();
  std::optional<SmallVector<int64_t>> k = ctx.attrOrInput("k", 1);
  if (k && (k->size() != 1 || k->front() < 0))
    return ctx.error("k must be one number that is not negative");
  if (!k && !ctx.hasInput(1))
    return ctx.error("attribute 'k' is missing");
  auto op = ctx.makeTyped<mp::TopKOp>(
      ctx.unknownTypes(2), ctx.input(0), k ? Value() : ctx.input(1),
      k ? builder.getI64IntegerAttr(k->front()) : IntegerAttr(),
      builder.getI64IntegerAttr(ctx.getInt("axis", -1)),
      builder.getBoolAttr(ctx.getFlag("largest", true)),
      builder.getBoolAttr(ctx.getFlag("sorted", true)));
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (ctx.hasOutput(index))
      ctx.setOutput(index, result);
  return success();
}

//===----------------------------------------------------------------------===//
// CumSum, CumProd
//===----------------------------------------------------------------------===//

template <typename OpT> static LogicalResult lowerScan(NodeContext &ctx) {
  if (failed(ctx.requireInputs(2)))
    return failure();
  Builder &builder = ctx.builder();
  std::optional<SmallVector<int64_t>> axis = ctx.constantInts(1);
  if (axis && axis->size() != 1)
    return ctx.error("axis must be one number");
  auto flag = [&](StringRef name) {
    return ctx.getFlag(name) ? builder.getUnitAttr() : UnitAttr();
  };
  ctx.setOutput(0, ctx.make<OpT>(ctx.input(0), axis ? Value() : ctx.input(1),
                                 axis ? builder.getI64IntegerAttr(axis->front())
                                      : IntegerAttr(),
                                 flag("exclusive"), flag("reverse")));
  return success();
}

void onnx_import::registerReductionLowerings(LoweringRegistry &registry) {
  registry.add("ReduceSum", lowerReduce<mp::ReduceSumOp, mp::IdentityOp>);
  registry.add("ReduceMean", lowerReduce<mp::ReduceMeanOp, mp::IdentityOp>);
  registry.add("ReduceMax", lowerReduce<mp::ReduceMaxOp, mp::IdentityOp>);
  registry.add("ReduceMin", lowerReduce<mp::ReduceMinOp, mp::IdentityOp>);
  registry.add("ReduceProd", lowerReduce<mp::ReduceProdOp, mp::IdentityOp>);
  registry.add("ReduceL1", lowerReduce<mp::ReduceL1Op, mp::AbsOp>);
  registry.add("ReduceL2", lowerReduce<mp::ReduceL2Op, mp::AbsOp>);
  registry.add("ReduceSumSquare",
               lowerReduce<mp::ReduceSumSquareOp, mp::SquareOp>);
  registry.add("ReduceLogSum", lowerReduce<mp::ReduceLogSumOp, mp::LogOp>);
  registry.add("ReduceLogSumExp",
               lowerReduce<mp::ReduceLogSumExpOp, mp::IdentityOp>);
  registry.add("ArgMax", lowerArg<mp::ArgMaxOp>);
  registry.add("ArgMin", lowerArg<mp::ArgMinOp>);
  registry.add("TopK", lowerTopK);
  registry.add("CumSum", lowerScan<mp::CumSumOp>);
  registry.add("CumProd", lowerScan<mp::CumProdOp>);
}
