//===- RandomOps.cpp - Random values and dropout --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/RandomOps.h"

#include "mpopt/Dialect/InferenceSupport.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/RandomOps.cpp.inc"

void MPDialect::registerRandomOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/RandomOps.cpp.inc"
      >();
}

/// The shape operand's shape in the element type that is written.
static LogicalResult inferGenerator(Operation *op, const ShapeFacts &facts,
                                    SmallVectorImpl<Type> &types) {
  FailureOr<MaybeShape> shape = shapeFrom(op, facts, op->getOperand(0));
  if (failed(shape))
    return failure();
  types.push_back(getTensorType(*shape, getElementType(op->getResult(0))));
  return success();
}

LogicalResult RandomNormalOp::inferResultTypes(const ShapeFacts &facts,
                                               SmallVectorImpl<Type> &types) {
  if (!(getScale().convertToDouble() >= 0))
    return emitOpError("has a negative scale");
  return inferGenerator(*this, facts, types);
}

LogicalResult RandomUniformOp::inferResultTypes(const ShapeFacts &facts,
                                                SmallVectorImpl<Type> &types) {
  if (!(getLow().convertToDouble() <= getHigh().convertToDouble()))
    return emitOpError("has low above high");
  return inferGenerator(*this, facts, types);
}

LogicalResult RandomIntOp::inferResultTypes(const ShapeFacts &facts,
                                            SmallVectorImpl<Type> &types) {
  if (int64_t(getLow()) >= int64_t(getHigh()))
    return emitOpError("has low not below high");
  return inferGenerator(*this, facts, types);
}

LogicalResult BernoulliOp::inferResultTypes(const ShapeFacts &,
                                            SmallVectorImpl<Type> &types) {
  Type own = getElementType(getResult());
  types.push_back(getTensorType(
      getShape(getInput()), isUnknown(own) ? getElementType(getInput()) : own));
  return success();
}

LogicalResult MultinomialOp::inferResultTypes(const ShapeFacts &,
                                              SmallVectorImpl<Type> &types) {
  if (failed(checkRank(*this, "input", getInput(), {1, 2})))
    return failure();
  if (getSampleSize() < 1)
    return emitOpError("has sample_size ") << getSampleSize();
  MaybeShape result = getShape(getInput());
  if (result)
    result->back() = getSampleSize();
  types.push_back(getTensorType(result, getElementType(getResult())));
  return success();
}

LogicalResult DropoutOp::inferResultTypes(const ShapeFacts &,
                                          SmallVectorImpl<Type> &types) {
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio <= 1))
    return emitOpError("has a ratio out of [0, 1]");
  if (failed(checkRank(*this, "ratio", getDynamicRatio(), {0, 1})) ||
      failed(checkRank(*this, "training", getDynamicTraining(), {0, 1})))
    return failure();
  if (getTraining() && getDynamicTraining())
    return emitOpError("has training as an attribute and an operand");
  types.push_back(getInput().getType());
  if (getMask()) {
    Type own = getElementType(getMask());
    types.push_back(getTensorType(
        getShape(getInput()),
        isUnknown(own) ? Builder(getContext()).getI1Type() : own));
  }
  return success();
}
