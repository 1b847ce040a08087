//===- IntegerProduct.cpp - Products of codes that become numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/IntegerProduct.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

using namespace mlir;
using namespace mpopt;

static Value lhsZeroPointOf(Operation *op) {
  if (auto matmul = dyn_cast<mp::MatMulIntegerOp>(op))
    return matmul.getLhsZeroPoint();
  return cast<mp::ConvIntegerOp>(op).getInputZeroPoint();
}

Value IntegerProduct::rhsZeroPoint() const {
  if (auto matmul = dyn_cast<mp::MatMulIntegerOp>(product))
    return matmul.getRhsZeroPoint();
  return cast<mp::ConvIntegerOp>(product).getFilterZeroPoint();
}

/// The one op that reads a value; null if there are several.
static Operation *findReader(Value value) {
  return value.hasOneUse() ? *value.getUsers().begin() : nullptr;
}

/// The scale of codes that are made at run time; null for others.
static Value findScaleOf(Value codes) {
  auto dynamic = codes.getDefiningOp<mp::DynamicQuantizeOp>();
  return dynamic && codes == dynamic.getValues() ? dynamic.getScale() : Value();
}

std::optional<IntegerProduct> mpopt::findIntegerProduct(Operation *op) {
  if (!isa_and_nonnull<mp::MatMulIntegerOp, mp::ConvIntegerOp>(op))
    return std::nullopt;
  auto cast = dyn_cast_if_present<mp::CastOp>(findReader(op->getResult(0)));
  if (!cast || !isa<FloatType>(getElementType(cast.getResult())))
    return std::nullopt;
  IntegerProduct found;
  found.product = op;
  found.numbers = cast.getResult();
  found.lhsScale = findScaleOf(op->getOperand(0));
  // Both scales in one factor, or one after the other.
  SmallVector<Value, 2> scales;
  while (scales.size() < 2) {
    Operation *times = findReader(found.numbers);
    if (!hasRole(times, Role::Multiplication) || times->getNumOperands() != 2)
      return std::nullopt;
    Value factor = times->getOperand(times->getOperand(0) == found.numbers);
    Operation *both = factor.getDefiningOp();
    if (hasRole(both, Role::Multiplication) && both->getNumOperands() == 2)
      scales.append(both->operand_begin(), both->operand_end());
    else
      scales.push_back(factor);
    found.numbers = times->getResult(0);
  }
  if (scales.size() != 2 || !llvm::is_contained(scales, found.lhsScale))
    return std::nullopt;
  found.rhsScale = scales[scales[0] == found.lhsScale];
  found.axis = isa<mp::MatMulIntegerOp>(op) ? -1 : 0;
  return found;
}

SmallVector<Operation *, 3> mpopt::buildNumbers(OpBuilder &builder,
                                                const IntegerProduct &product) {
  Operation *op = product.product;
  Location loc = op->getLoc();
  Type element = getElementType(product.numbers);
  auto dequantize = [&](Value codes, Value scale, Value zeroPoint) {
    return mp::DequantizeOp::create(
        builder, loc, getTensorType(getShape(codes), element), codes, scale,
        zeroPoint, builder.getI64IntegerAttr(product.axis),
        builder.getI64IntegerAttr(0), TypeAttr());
  };
  Operation *lhs =
      dequantize(op->getOperand(0), product.lhsScale, lhsZeroPointOf(op));
  Operation *rhs =
      dequantize(product.rhs(), product.rhsScale, product.rhsZeroPoint());
  Value a = lhs->getResult(0), b = rhs->getResult(0);
  Operation *made;
  if (auto conv = dyn_cast<mp::ConvIntegerOp>(op))
    made =
        mp::ConvOp::create(builder, loc, product.numbers.getType(), a, b,
                           Value(), conv.getStrides(), conv.getDilations(),
                           conv.getPads(), conv.getGroup(), conv.getAutoPad());
  else
    made = mp::MatMulOp::create(builder, loc, product.numbers.getType(), a, b,
                                builder.getBoolAttr(false),
                                builder.getBoolAttr(false),
                                builder.getF64FloatAttr(1.0));
  return {lhs, rhs, made};
}
