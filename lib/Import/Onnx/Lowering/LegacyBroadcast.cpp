//===- LegacyBroadcast.cpp - Broadcasting before opset 7
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LegacyBroadcast.h"

#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

Value onnx_import::appendUnitDims(NodeContext &ctx, Value operand,
                                  int64_t count) {
  if (count == 0)
    return operand;
  int64_t rank = getShape(operand)->size();
  auto axes = llvm::to_vector(llvm::seq(rank, rank + count));
  return ctx.make<mp::UnsqueezeOp>(operand, Value(),
                                   ctx.builder().getDenseI64ArrayAttr(axes));
}

FailureOr<Value> onnx_import::getBroadcastOperand(NodeContext &ctx) {
  Value rhs = ctx.input(1);
  std::optional<int64_t> attribute = ctx.findInt("axis");
  // Without an axis the dims are matched from the back, as NumPy does.
  if (ctx.opset() >= 7 || !ctx.getFlag("broadcast") || !attribute)
    return rhs;
  MaybeShape shape = getShape(ctx.input(0)), other = getShape(rhs);
  if (!shape || !other)
    return Value();
  int64_t rank = shape->size(), dims = other->size();
  if (getNumElements(other) == 1)
    return rhs;
  std::optional<int64_t> axis = normalizeAxis(*attribute, rank);
  if (!axis || *axis + dims > rank)
    return FailureOr<Value>(ctx.error("axis " + Twine(*attribute) +
                                      " does not place an operand of "
                                      "rank " +
                                      Twine(dims) + " in one of rank " +
                                      Twine(rank)));
  return appendUnitDims(ctx, rhs, rank - *axis - dims);
}
