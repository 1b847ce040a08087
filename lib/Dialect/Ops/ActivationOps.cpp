//===- ActivationOps.cpp - Activation functions ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/ActivationOps.h"

#include "mpopt/Dialect/ElementSupport.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/ActivationOps.cpp.inc"

void MPDialect::registerActivationOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/ActivationOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Result types of ops with two operands
//===----------------------------------------------------------------------===//

LogicalResult PReluOp::inferResultTypes(const ShapeFacts &,
                                        SmallVectorImpl<Type> &types) {
  MaybeShape input = getShape(getInput()), slope = getShape(getSlope());
  if (input && slope) {
    FailureOr<MaybeShape> joined = broadcastShapes(input, slope);
    if (failed(joined) || (*joined)->size() != input->size())
      return emitOpError("slope of type ")
             << getSlope().getType() << " does not broadcast to "
             << getInput().getType();
  }
  types.push_back(
      getTensorType(input, promoteElementTypes(getElementType(getInput()),
                                               getElementType(getSlope()))));
  return success();
}

LogicalResult SwigluOp::inferResultTypes(const ShapeFacts &,
                                         SmallVectorImpl<Type> &types) {
  MaybeShape gate = getShape(getGate()), value = getShape(getValue());
  Type element = promoteElementTypes(getElementType(getGate()),
                                     getElementType(getValue()));
  std::optional<Type> joined =
      refineType(getTensorType(gate, element), getTensorType(value, element));
  if (!joined)
    return emitOpError("gate and value have different shapes: ")
           << getOperandTypes();
  types.push_back(*joined);
  return success();
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult GeluOp::verify() {
  if (!symbolizeGeluForm(getApproximate()))
    return emitOpError("unknown approximation '") << getApproximate() << "'";
  return success();
}

LogicalResult CeluOp::verify() {
  if (getAlpha().isZero())
    return emitOpError("divides by alpha, which is 0");
  return success();
}

LogicalResult SoftplusOp::verify() {
  if (getBeta().isZero())
    return emitOpError("divides by beta, which is 0");
  return success();
}

LogicalResult HardTanhOp::verify() {
  if (getLow() > getHigh())
    return emitOpError("has its low end above its high end");
  return success();
}

LogicalResult SoftmaxOp::verify() {
  return verifyAxis(*this, getInput(), getAxis());
}

LogicalResult LogSoftmaxOp::verify() {
  return verifyAxis(*this, getInput(), getAxis());
}

LogicalResult SoftminOp::verify() {
  return verifyAxis(*this, getInput(), getAxis());
}

LogicalResult HardmaxOp::verify() {
  return verifyAxis(*this, getInput(), getAxis());
}
