//===- TrainingOps.cpp - Gradients and optimisers -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/TrainingOps.h"

#include "mpopt/Dialect/ElementSupport.h"
#include "mpopt/Dialect/Ops/GradientOps.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/TrainingOps.cpp.inc"

void MPDialect::registerTrainingOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/TrainingOps.cpp.inc"
      ,
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/GradientOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Gradients of elementwise functions
//===----------------------------------------------------------------------===//

/// True if two shapes can be the same.
static bool mayEqual(const MaybeShape &lhs, const MaybeShape &rhs) {
  if (!lhs || !rhs)
    return true;
  if (lhs->size() != rhs->size())
    return false;
  for (auto [left, right] : llvm::zip(*lhs, *rhs))
    if (left != right && left != kDynamic && right != kDynamic)
      return false;
  return true;
}

static LogicalResult verifySameShape(Operation *op, Value grad, Value kept) {
  if (!mayEqual(getShape(grad), getShape(kept)))
    return op->emitOpError("gradient ")
           << grad.getType() << " does not fit " << kept.getType();
  return success();
}

static LogicalResult verifyNormAxis(Operation *op, int64_t axis, Value value) {
  MaybeShape shape = getShape(value);
  if (shape && !normalizeAxis(axis, shape->size()))
    return op->emitOpError("axis ")
           << axis << " is out of range of " << value.getType();
  return success();
}

LogicalResult GeluGradOp::verify() {
  if (!symbolizeGeluForm(getApproximate()))
    return emitOpError("approximate must be none or tanh, is ")
           << getApproximate();
  return verifySameShape(*this, getGrad(), getInput());
}

LogicalResult SoftmaxGradOp::verify() {
  if (failed(verifyNormAxis(*this, getAxis(), getGrad())))
    return failure();
  return verifySameShape(*this, getGrad(), getOutput());
}

LogicalResult LogSoftmaxGradOp::verify() {
  if (failed(verifyNormAxis(*this, getAxis(), getGrad())))
    return failure();
  return verifySameShape(*this, getGrad(), getOutput());
}

//===----------------------------------------------------------------------===//
// Gradients of layers
//===----------------------------------------------------------------------===//

LogicalResult
SoftmaxCrossEntropyGradOp::inferResultTypes(const ShapeFacts &,
                                            SmallVectorImpl<Type> &types) {
  types.push_back(
      getTensorType(getShape(getLogProb()),
                    getOutputType().value_or(getElementType(getLogProb()))));
  return success();
}

LogicalResult SoftmaxCrossEntropyGradOp::verify() {
  MaybeShape shape = getShape(getLogProb()), labels = getShape(getTarget());
  if (shape && shape->size() < 2)
    return emitOpError("log-probabilities must have rank 2 or more");
  if (!shape || !labels)
    return success();
  Shape expected = *shape;
  expected.erase(expected.begin() + 1);
  if (!mayEqual(labels, expected))
    return emitOpError("target ") << getTarget().getType() << " does not fit "
                                  << getLogProb().getType();
  return success();
}

bool SoftmaxCrossEntropyGradOp::isPrecisionOperand(unsigned index) {
  return isa<FloatType>(getElementType(getOperation()->getOperand(index)));
}

LogicalResult LayerNormGradOp::inferResultTypes(const ShapeFacts &,
                                                SmallVectorImpl<Type> &types) {
  types.push_back(
      getTensorType(getShape(getInput()), getElementType(getGrad())));
  types.append(2, getScale().getType());
  return success();
}

LogicalResult LayerNormGradOp::verify() {
  if (failed(verifyNormAxis(*this, getAxis(), getInput())))
    return failure();
  return verifySameShape(*this, getGrad(), getInput());
}

LogicalResult RmsNormGradOp::inferResultTypes(const ShapeFacts &,
                                              SmallVectorImpl<Type> &types) {
  types.push_back(
      getTensorType(getShape(getInput()), getElementType(getGrad())));
  types.push_back(getScale().getType());
  return success();
}

LogicalResult RmsNormGradOp::verify() {
  if (failed(verifyNormAxis(*this, getAxis(), getInput())))
    return failure();
  return verifySameShape(*this, getGrad(), getInput());
}

LogicalResult BatchNormGradOp::inferResultTypes(const ShapeFacts &,
                                                SmallVectorImpl<Type> &types) {
  types.push_back(
      getTensorType(getShape(getInput()), getElementType(getGrad())));
  types.append(2, getScale().getType());
  return success();
}

LogicalResult ConvGradOp::inferResultTypes(const ShapeFacts &,
                                           SmallVectorImpl<Type> &types) {
  Type element = getElementType(getGrad());
  MaybeShape filter = getShape(getFilter());
  types.push_back(getTensorType(getShape(getInput()), element));
  types.push_back(getTensorType(filter, element));
  types.push_back(getTensorType(
      Shape{filter && !filter->empty() ? filter->front() : kDynamic}, element));
  return success();
}

LogicalResult ConvGradOp::verify() {
  MaybeShape input = getShape(getInput()), filter = getShape(getFilter()),
             grad = getShape(getGrad());
  if ((input && filter && input->size() != filter->size()) ||
      (input && grad && input->size() != grad->size()) ||
      (input && input->size() < 3))
    return emitOpError("gradient, input and filter must have one rank above 2");
  return success();
}

LogicalResult mp::inferFromShapeOperand(Operation *op, Value shape, Value like,
                                        const ShapeFacts &facts,
                                        SmallVectorImpl<Type> &types) {
  MaybeShape result;
  if (Elements dims = facts.elements(shape)) {
    result.emplace();
    for (std::optional<int64_t> dim : *dims) {
      if (dim && *dim < 0)
        return op->emitOpError("shape has the dim ") << *dim;
      result->push_back(dim.value_or(kDynamic));
    }
  } else if (MaybeShape rank = getShape(shape);
             rank && rank->size() == 1 && rank->front() != kDynamic &&
             rank->front() <= ShapeFacts::kMaxElements) {
    result = Shape(rank->front(), kDynamic);
  }
  types.push_back(getTensorType(result, getElementType(like)));
  return success();
}

LogicalResult GatherGradOp::verify() {
  if (!symbolizeGatherKind(getKind()))
    return emitOpError("kind must be gather, elements or nd, is ") << getKind();
  return success();
}

LogicalResult
BroadcastGradientArgsOp::inferResultTypes(const ShapeFacts &,
                                          SmallVectorImpl<Type> &types) {
  types.append(
      2, RankedTensorType::get({kDynamic}, IntegerType::get(getContext(), 64)));
  return success();
}

LogicalResult GradientOp::inferResultTypes(const ShapeFacts &,
                                           SmallVectorImpl<Type> &types) {
  llvm::append_range(types, getInputs().take_front(getNumResults()).getTypes());
  return success();
}

LogicalResult GradientOp::verify() {
  if (getCount() != getNumResults())
    return emitOpError("has ")
           << getNumResults() << " results for " << getCount() << " tensors";
  if (getCount() > getInputs().size())
    return emitOpError("has fewer operands than results");
  return success();
}

//===----------------------------------------------------------------------===//
// Optimisers
//===----------------------------------------------------------------------===//

LogicalResult mp::verifyOptimizer(Operation *op, Value weight, Value gradient,
                                  ValueRange states, ValueRange newStates) {
  if (states.size() != newStates.size())
    return op->emitOpError("has ") << states.size() << " states and "
                                   << newStates.size() << " new ones";
  auto fits = [&](Value value) {
    return isa<SequenceType>(weight.getType()) ==
               isa<SequenceType>(value.getType()) &&
           mayEqual(getShape(weight), getShape(value));
  };
  if (!fits(gradient))
    return op->emitOpError("gradient ")
           << gradient.getType() << " does not fit " << weight.getType();
  for (Value state : states)
    if (!fits(state))
      return op->emitOpError("state ")
             << state.getType() << " does not fit " << weight.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Loss scaling and gradient accumulation
//===----------------------------------------------------------------------===//

LogicalResult AccumulateOp::inferResultTypes(const ShapeFacts &,
                                             SmallVectorImpl<Type> &types) {
  types.push_back(getSum().getType());
  return success();
}

LogicalResult AccumulateOp::verify() {
  return verifySameShape(*this, getSum(), getValue());
}

LogicalResult ZeroGradientOp::inferResultTypes(const ShapeFacts &,
                                               SmallVectorImpl<Type> &types) {
  types.push_back(getGrad().getType());
  return success();
}

LogicalResult LossScaleOp::inferResultTypes(const ShapeFacts &,
                                            SmallVectorImpl<Type> &types) {
  types.push_back(
      getTensorType(getShape(getInput()),
                    getOutputType().value_or(getElementType(getInput()))));
  return success();
}

LogicalResult AllFiniteOp::inferResultTypes(const ShapeFacts &,
                                            SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get({}, IntegerType::get(getContext(), 1)));
  return success();
}

LogicalResult GlobalNormOp::inferResultTypes(const ShapeFacts &,
                                             SmallVectorImpl<Type> &types) {
  Type element = getElementType(getResult());
  if (isUnknown(element))
    element = Float32Type::get(getContext());
  types.push_back(RankedTensorType::get({}, element));
  return success();
}

LogicalResult ClipGradNormOp::inferResultTypes(const ShapeFacts &,
                                               SmallVectorImpl<Type> &types) {
  types.push_back(getGradients().getType());
  return success();
}
