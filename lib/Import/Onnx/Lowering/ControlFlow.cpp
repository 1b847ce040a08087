//===- ControlFlow.cpp - Branches, loops and their yield, from ONNX -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Onnx/Lowering.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/ControlFlowOps.h"
#include "mpopt/Dialect/TypeJoin.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

/// A carried value's type as the body is first imported: its dims may change
/// from one iteration to the next, and what is lowered must hold for all of
/// them. Inference puts back those that do not.
static Type withDynamicDims(Type type) {
  if (MaybeShape shape = getShape(type))
    return getTensorType(Shape(shape->size(), kDynamic), getElementType(type));
  return forgetShape(type);
}

/// Imports a body of `op`, which is of no use without.
static LogicalResult importInto(NodeContext &ctx, Operation *op, StringRef name,
                                Region &region, TypeRange arguments = {}) {
  if (succeeded(ctx.importBody(name, region, arguments)))
    return success();
  op->erase();
  return failure();
}

static LogicalResult finishOutputs(NodeContext &ctx, Operation *op) {
  ctx.finish(op); // with its bodies
  for (OpResult result : op->getResults())
    ctx.setOutput(result.getResultNumber(), result);
  return success();
}

static LogicalResult lowerIf(NodeContext &ctx) {
  if (!ctx.hasInput(0))
    return ctx.error("has no condition");
  auto op =
      ctx.makeTyped<mp::IfOp>(ctx.unknownTypes(ctx.numOutputs()), ctx.input(0));
  if (failed(importInto(ctx, op, "then_branch", op.getThenBody())) ||
      failed(importInto(ctx, op, "else_branch", op.getElseBody())))
    return failure();
  return finishOutputs(ctx, op);
}

static LogicalResult lowerLoop(NodeContext &ctx) {
  SmallVector<Value> initial = ctx.inputs(2);
  if (initial.size() + 2 < ctx.numInputs())
    return ctx.unsupported(); // a carried value that is not there
  if (ctx.numOutputs() < initial.size())
    return ctx.error("has fewer outputs than carried values");
  SmallVector<Type> arguments = {
      RankedTensorType::get({}, ctx.builder().getI64Type()),
      RankedTensorType::get({}, ctx.builder().getI1Type())};
  for (Value value : initial)
    arguments.push_back(withDynamicDims(value.getType()));
  auto op = ctx.makeTyped<mp::LoopOp>(ctx.unknownTypes(ctx.numOutputs()),
                                      ctx.input(0), ctx.input(1), initial);
  if (failed(importInto(ctx, op, "body", op.getBody(), arguments)))
    return failure();
  return finishOutputs(ctx, op);
}

static LogicalResult lowerScan(NodeContext &ctx) {
  // Opset 8 has a batch axis, sequence lengths first and one list of
  // directions.
  bool batched = ctx.opset() < 9;
  unsigned first = batched ? 1 : 0;
  SmallVector<Value> operands = ctx.inputs(first);
  int64_t scanned = ctx.getInt("num_scan_inputs", 0);
  if (operands.size() + first < ctx.numInputs())
    return ctx.unsupported();
  if (scanned < 1 || scanned > int64_t(operands.size()))
    return ctx.error("scans over " + Twine(scanned) + " of " +
                     Twine(operands.size()) + " inputs");
  ArrayRef<Value> initial = ArrayRef(operands).drop_back(scanned),
                  inputs = ArrayRef(operands).take_back(scanned);
  if (ctx.numOutputs() < initial.size())
    return ctx.error("has fewer outputs than states");
  auto list = [&](StringRef name) {
    std::optional<SmallVector<int64_t>> ints = ctx.findInts(name);
    return ints ? ctx.builder().getDenseI64ArrayAttr(*ints)
                : DenseI64ArrayAttr();
  };
  auto op = ctx.makeTyped<mp::ScanOp>(
      ctx.unknownTypes(ctx.numOutputs()), batched ? ctx.input(0) : Value(),
      initial, inputs, list("scan_input_axes"),
      list(batched ? "directions" : "scan_input_directions"),
      list("scan_output_axes"), list("scan_output_directions"),
      batched ? ctx.builder().getUnitAttr() : UnitAttr());
  SmallVector<Type> arguments;
  for (Value value : initial) {
    Type type = withDynamicDims(value.getType());
    if (MaybeShape shape = getShape(type); shape && batched && !shape->empty())
      type = getTensorType(Shape(shape->size() - 1, kDynamic),
                           getElementType(type));
    arguments.push_back(type);
  }
  for (auto [index, value] : llvm::enumerate(inputs)) {
    MaybeShape shape = getShape(value);
    std::optional<int64_t> axis =
        shape ? normalizeAxis(op.getInputAxis(index), shape->size())
              : std::nullopt;
    if (shape && !axis)
      shape.reset(); // the verifier reports the axis
    if (shape) {
      shape->erase(shape->begin() + *axis);
      if (batched && !shape->empty())
        shape->erase(shape->begin());
    }
    arguments.push_back(getTensorType(shape, getElementType(value)));
  }
  if (failed(importInto(ctx, op, "body", op.getBody(), arguments)))
    return failure();
  return finishOutputs(ctx, op);
}

void onnx_import::registerControlFlowLowerings(LoweringRegistry &registry) {
  registry.add("If", lowerIf);
  registry.add("Loop", lowerLoop);
  registry.add("Scan", lowerScan);
}
