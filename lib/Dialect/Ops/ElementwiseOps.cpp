//===- ElementwiseOps.cpp - Elementwise arithmetic
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/ElementwiseOps.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/ElementwiseOps.cpp.inc"

void MPDialect::registerElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/ElementwiseOps.cpp.inc"
      >();
}

LogicalResult BitCastOp::inferResultTypes(const ShapeFacts &,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(
      getTensorType(getShape(getInput()), getElementType(getResult())));
  return success();
}

/// In memory: a boolean has a byte.
static std::optional<unsigned> getWidth(Type elementType) {
  if (elementType.isInteger(1))
    return 8;
  if (auto complex = dyn_cast<ComplexType>(elementType))
    return 2 * complex.getElementType().getIntOrFloatBitWidth();
  if (!elementType.isIntOrFloat())
    return std::nullopt;
  return elementType.getIntOrFloatBitWidth();
}

LogicalResult BitCastOp::verify() {
  Type from = getElementType(getInput()), to = getElementType(getResult());
  std::optional<unsigned> width = getWidth(from), other = getWidth(to);
  if (width && other && *width != *other)
    return emitOpError("between element types of different width: ")
           << from << " and " << to;
  return success();
}

LogicalResult WhereOp::inferResultTypes(const ShapeFacts &,
                                        SmallVectorImpl<Type> &types) {
  return inferBroadcast(
      *this, (*this)->getOperands(), types,
      promoteElementTypes(getElementType(getLhs()), getElementType(getRhs())));
}

LogicalResult ClipOp::inferResultTypes(const ShapeFacts &,
                                       SmallVectorImpl<Type> &types) {
  return inferBroadcast(*this, (*this)->getOperands(), types,
                        getElementType(getInput()));
}
