//===- GradientOp.cpp - Ops whose gradient is an op of its own
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/GradientOp.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h"

using namespace mlir;
using namespace mpopt;

// MLIR's attribute with the sizes of operand groups (AttrSizedOperandSegments).
static constexpr StringLiteral kSegments = "operandSegmentSizes";

void mpopt::makeGradientOp(GradientContext &ctx, StringRef name,
                           unsigned gradients, bool segmented, bool firstOnly) {
  Operation *op = ctx.op();
  for (unsigned i = gradients; i < op->getNumResults(); ++i)
    if (ctx.gradient(i))
      return ctx.lack();
  SmallVector<Value> operands;
  SmallVector<int32_t> segments;
  for (unsigned i = 0; i < gradients; ++i) {
    // An op with one gradient needs it.
    Value gradient = gradients == 1 ? Value(ctx.dy(i)) : ctx.gradient(i);
    segments.push_back(gradient ? 1 : 0);
    if (gradient)
      operands.push_back(gradient);
  }
  unsigned first = operands.size();
  SmallVector<int64_t> wanted;
  auto precision = dyn_cast<PrecisionOpInterface>(op);
  for (unsigned i = 0; i < (firstOnly ? 1 : op->getNumOperands()); ++i)
    if (ctx.wants(i) && (!precision || precision.isPrecisionOperand(i)))
      wanted.push_back(first + i);
  if (wanted.empty())
    return;
  llvm::append_range(operands, op->getOperands());
  SmallVector<NamedAttribute> attributes;
  for (StringAttr attribute : op->getName().getAttributeNames())
    if (attribute != kSegments)
      if (std::optional<Attribute> value = op->getInherentAttr(attribute);
          value && *value)
        attributes.emplace_back(attribute, *value);
  if (segmented) {
    auto own =
        cast<DenseI32ArrayAttr>(*op->getInherentAttr(kSegments)).asArrayRef();
    llvm::append_range(segments, own);
    attributes.push_back(ctx.builder().getNamedAttr(
        kSegments, ctx.builder().getDenseI32ArrayAttr(segments)));
  }
  attributes.push_back(ctx.integers("wanted", wanted));
  Operation *made = ctx.makeGeneric(name, operands, segmented, attributes,
                                    wanted.size(), Type());
  for (auto [result, number] : llvm::zip(made->getResults(), wanted))
    ctx.give(unsigned(number - first), result);
}
