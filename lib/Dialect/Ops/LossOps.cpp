//===- LossOps.cpp - Losses -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/LossOps.h"

#include "mpopt/Dialect/ElementSupport.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/LossOps.cpp.inc"

void MPDialect::registerLossOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/LossOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Losses over classes
//===----------------------------------------------------------------------===//

/// `shape` without reduction, else a scalar.
static Type getLossType(StringRef reduction, const MaybeShape &shape,
                        Type elementType) {
  return getTensorType(reduction == "none" ? shape : MaybeShape(std::in_place),
                       elementType);
}

/// Input [N, C, d...] against class numbers [N, d...] (or [C] and a scalar) and
/// weights [C]; a target of floats has the input's shape.
static LogicalResult verifyClasses(Operation *op, Value input, Value target,
                                   Value weight) {
  MaybeShape shape = getShape(input), labels = getShape(target);
  if (shape && shape->empty())
    return op->emitOpError("input needs a class axis");
  if (isa<FloatType>(getElementType(target))) {
    if (shape && labels && failed(broadcastShapes(shape, labels)))
      return op->emitOpError("target distribution ")
             << target.getType() << " does not fit " << input.getType();
    return success();
  }
  size_t classAxis = shape && shape->size() > 1 ? 1 : 0;
  if (shape && labels) {
    Shape expected = *shape;
    expected.erase(expected.begin() + classAxis);
    bool fits = labels->size() == expected.size();
    for (auto [have, want] : llvm::zip(*labels, expected))
      fits &= have == want || have == kDynamic || want == kDynamic;
    if (!fits)
      return op->emitOpError("target ")
             << target.getType() << " does not fit " << input.getType();
  }
  MaybeShape weights = weight ? getShape(weight) : std::nullopt;
  if (weights && weights->size() != 1)
    return op->emitOpError("weight must be a list, one a class");
  if (weights && shape && (*weights)[0] != kDynamic &&
      (*shape)[classAxis] != kDynamic && (*weights)[0] != (*shape)[classAxis])
    return op->emitOpError("has ") << (*weights)[0] << " weights for "
                                   << (*shape)[classAxis] << " classes";
  return success();
}

/// Shape of an unreduced class loss: the target's, or the input's without its
/// class axis.
static MaybeShape getClassLossShape(Value input, Value target) {
  if (!isa<FloatType>(getElementType(target)))
    if (MaybeShape labels = getShape(target))
      return labels;
  MaybeShape shape = getShape(input);
  if (shape && !shape->empty())
    shape->erase(shape->begin() + (shape->size() > 1 ? 1 : 0));
  return shape;
}

LogicalResult
SoftmaxCrossEntropyOp::inferResultTypes(const ShapeFacts &,
                                        SmallVectorImpl<Type> &types) {
  Type element = getOutputType().value_or(getElementType(getInput()));
  types.push_back(getLossType(
      getReduction(), getClassLossShape(getInput(), getTarget()), element));
  types.push_back(getTensorType(getShape(getInput()), element));
  return success();
}

LogicalResult CrossEntropyOp::inferResultTypes(const ShapeFacts &,
                                               SmallVectorImpl<Type> &types) {
  types.push_back(getLossType(getReduction(),
                              getClassLossShape(getInput(), getTarget()),
                              getElementType(getInput())));
  return success();
}

LogicalResult NllLossOp::inferResultTypes(const ShapeFacts &,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(getLossType(getReduction(),
                              getClassLossShape(getInput(), getTarget()),
                              getElementType(getInput())));
  return success();
}

LogicalResult
MultiMarginLossOp::inferResultTypes(const ShapeFacts &,
                                    SmallVectorImpl<Type> &types) {
  types.push_back(getLossType(getReduction(), getShape(getTarget()),
                              getElementType(getInput())));
  return success();
}

LogicalResult SoftmaxCrossEntropyOp::verify() {
  return verifyClasses(*this, getInput(), getTarget(), getWeight());
}

LogicalResult CrossEntropyOp::verify() {
  if (getLabelSmoothing().convertToDouble() < 0 ||
      getLabelSmoothing().convertToDouble() > 1)
    return emitOpError("label_smoothing must lie in [0, 1]");
  return verifyClasses(*this, getInput(), getTarget(), getWeight());
}

LogicalResult NllLossOp::verify() {
  return verifyClasses(*this, getInput(), getTarget(), getWeight());
}

LogicalResult MultiMarginLossOp::verify() {
  return verifyClasses(*this, getInput(), getTarget(), getWeight());
}

//===----------------------------------------------------------------------===//
// Losses of two tensors
//===----------------------------------------------------------------------===//

LogicalResult mp::inferBroadcastLoss(Operation *op, StringRef reduction,
                                     SmallVectorImpl<Type> &types) {
  if (failed(inferBroadcast(op, op->getOperands(), types)))
    return failure();
  types.back() = getLossType(reduction, getShape(types.back()),
                             getElementType(types.back()));
  return success();
}

LogicalResult
MultilabelMarginLossOp::inferResultTypes(const ShapeFacts &,
                                         SmallVectorImpl<Type> &types) {
  MaybeShape shape = getShape(getInput());
  if (shape && !shape->empty())
    shape->pop_back();
  types.push_back(
      getLossType(getReduction(), shape, getElementType(getInput())));
  return success();
}

LogicalResult
MarginRankingLossOp::inferResultTypes(const ShapeFacts &,
                                      SmallVectorImpl<Type> &types) {
  return inferBroadcastLoss(*this, getReduction(), types);
}

/// Broadcasts `operands` and drops the last axis.
static LogicalResult inferRowLoss(Operation *op, ValueRange operands,
                                  StringRef reduction,
                                  SmallVectorImpl<Type> &types) {
  if (failed(inferBroadcast(op, operands, types)))
    return failure();
  MaybeShape shape = getShape(types.back());
  if (shape && shape->empty())
    return op->emitOpError("needs operands with an axis");
  if (shape)
    shape->pop_back();
  types.back() = getLossType(reduction, shape, getElementType(types.back()));
  return success();
}

LogicalResult
CosineEmbeddingLossOp::inferResultTypes(const ShapeFacts &,
                                        SmallVectorImpl<Type> &types) {
  return inferRowLoss(*this, {getFirst(), getSecond()}, getReduction(), types);
}

LogicalResult
TripletMarginLossOp::inferResultTypes(const ShapeFacts &,
                                      SmallVectorImpl<Type> &types) {
  return inferRowLoss(*this, getOperands(), getReduction(), types);
}

LogicalResult CtcLossOp::inferResultTypes(const ShapeFacts &,
                                          SmallVectorImpl<Type> &types) {
  MaybeShape shape = getShape(getLogProbs());
  if (shape)
    shape = shape->size() == 3 ? Shape{(*shape)[1]} : Shape();
  types.push_back(
      getLossType(getReduction(), shape, getElementType(getLogProbs())));
  return success();
}

LogicalResult CtcLossOp::verify() {
  MaybeShape shape = getShape(getLogProbs());
  if (shape && shape->size() != 2 && shape->size() != 3)
    return emitOpError("log-probabilities must have rank 2 or 3");
  return success();
}

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

LogicalResult
CosineSimilarityOp::inferResultTypes(const ShapeFacts &,
                                     SmallVectorImpl<Type> &types) {
  if (failed(inferBroadcast(*this, getOperands(), types)))
    return failure();
  MaybeShape shape = getShape(types.back());
  if (shape) {
    std::optional<int64_t> axis = normalizeAxis(getAxis(), shape->size());
    if (!axis)
      return emitOpError("axis ")
             << int64_t(getAxis()) << " is out of range of rank "
             << shape->size();
    shape->erase(shape->begin() + *axis);
  }
  types.back() = getTensorType(shape, getElementType(types.back()));
  return success();
}

LogicalResult PdistOp::inferResultTypes(const ShapeFacts &,
                                        SmallVectorImpl<Type> &types) {
  MaybeShape shape = getShape(getInput());
  int64_t rows = shape && !shape->empty() ? shape->front() : kDynamic;
  int64_t product = 0;
  int64_t pairs = kDynamic;
  if (rows == 0)
    pairs = 0;
  else if (rows != kDynamic && !llvm::MulOverflow(rows, rows - 1, product))
    pairs = product / 2;
  types.push_back(getTensorType(Shape{pairs}, getElementType(getInput())));
  return success();
}

LogicalResult PdistOp::verify() {
  if (MaybeShape shape = getShape(getInput()); shape && shape->size() != 2)
    return emitOpError("input must have rank 2");
  return success();
}

LogicalResult CdistOp::inferResultTypes(const ShapeFacts &,
                                        SmallVectorImpl<Type> &types) {
  MaybeShape first = getShape(getFirst()), second = getShape(getSecond());
  Type element = promoteElementTypes(getElementType(getFirst()),
                                     getElementType(getSecond()));
  if (!first || !second || first->size() < 2 || second->size() < 2) {
    types.push_back(getTensorType(std::nullopt, element));
    return success();
  }
  if (!broadcastDim(first->back(), second->back()) ||
      (first->back() != second->back() && first->back() != kDynamic &&
       second->back() != kDynamic))
    return emitOpError("rows of ")
           << first->back() << " and " << second->back() << " elements";
  int64_t rows = (*first)[first->size() - 2],
          columns = (*second)[second->size() - 2];
  first->pop_back_n(2);
  second->pop_back_n(2);
  FailureOr<MaybeShape> batch = broadcastShapes(first, second);
  if (failed(batch))
    return emitOpError("leading dims do not broadcast");
  (*batch)->append({rows, columns});
  types.push_back(getTensorType(*batch, element));
  return success();
}

LogicalResult CdistOp::verify() {
  for (Value operand : getOperands())
    if (MaybeShape shape = getShape(operand); shape && shape->size() < 2)
      return emitOpError("operands must have rank 2 or more");
  return success();
}

LogicalResult DistOp::inferResultTypes(const ShapeFacts &,
                                       SmallVectorImpl<Type> &types) {
  return inferBroadcastLoss(*this, "sum", types);
}

LogicalResult RenormOp::inferResultTypes(const ShapeFacts &,
                                         SmallVectorImpl<Type> &types) {
  types.push_back(getInput().getType());
  return success();
}
