//===- NormalizationOps.cpp - Normalisations ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/NormalizationOps.h"

#include "mpopt/Dialect/ElementSupport.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/NormalizationOps.cpp.inc"

void MPDialect::registerNormalizationOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/NormalizationOps.cpp.inc"
      >();
}

static bool differ(int64_t lhs, int64_t rhs) {
  return lhs >= 0 && rhs >= 0 && lhs != rhs;
}

/// Statistics are in FP32 at least unless the model says otherwise.
static Type getStatisticsType(Value input, std::optional<Type> stashType) {
  if (stashType)
    return *stashType;
  Type element = getElementType(input);
  return isLowPrecision(element) ? Type(Float32Type::get(element.getContext()))
                                 : element;
}

static LogicalResult verifyStashType(Operation *op,
                                     std::optional<Type> stashType) {
  if (stashType && !isa<FloatType>(*stashType))
    return op->emitOpError("stash_type must be a float type, got ")
           << *stashType;
  return success();
}

static LogicalResult verifyEpsilon(Operation *op, const APFloat &epsilon) {
  if (epsilon.isNegative() || !epsilon.isFinite())
    return op->emitOpError("epsilon must be a finite number of at least 0");
  return success();
}

/// One number per channel, dim 1 of the input.
static LogicalResult verifyChannels(Operation *op, Value input,
                                    ValueRange parameters,
                                    std::optional<int64_t> channels) {
  for (Value parameter : parameters) {
    MaybeShape shape = getShape(parameter);
    if (shape &&
        (shape->size() != 1 || (channels && differ((*shape)[0], *channels))))
      return op->emitOpError("parameter ")
             << parameter.getType() << " is not one number per channel of "
             << input.getType();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// BatchNormOp, InstanceNormOp, GroupNormOp
//===----------------------------------------------------------------------===//

LogicalResult BatchNormOp::verify() {
  if (failed(verifyEpsilon(*this, getEpsilon())))
    return failure();
  if (!getTraining() && (!getMean() || !getVariance()))
    return emitOpError("needs a mean and a variance");
  size_t stats = getStats().size();
  if (stats != 0 && stats != 2 && stats != 4)
    return emitOpError("has ") << stats << " statistics";
  MaybeShape shape = getShape(getInput());
  if (shape && shape->empty())
    return emitOpError("input has no dims");
  if (!getSpatial())
    return success();
  std::optional<int64_t> channels;
  if (shape)
    // [N]: a single channel (PyTorch and ONNX both allow it).
    channels = shape->size() > 1 ? (*shape)[1] : 1;
  return verifyChannels(*this, getInput(), getOperands().drop_front(),
                        channels);
}

LogicalResult BatchNormOp::inferResultTypes(const ShapeFacts &,
                                            SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  types.push_back(getInput().getType());
  MaybeShape shape = getShape(getInput());
  MaybeShape channels;
  if (shape && getSpatial())
    channels = Shape{shape->size() > 1 ? (*shape)[1] : 1};
  else if (shape)
    channels = Shape(ArrayRef(*shape).drop_front());
  Value old = getMean() ? getMean() : getScale();
  Type element =
      old ? getElementType(old) : getStatisticsType(getInput(), std::nullopt);
  for (size_t index = 0; index < getStats().size(); ++index)
    types.push_back(getTensorType(channels, element));
  return success();
}

LogicalResult InstanceNormOp::verify() {
  if (failed(verifyEpsilon(*this, getEpsilon())))
    return failure();
  MaybeShape shape = getShape(getInput());
  if (shape && shape->size() < 2)
    return emitOpError("needs a batch and a channel dim, got ")
           << getInput().getType();
  return verifyChannels(*this, getInput(), getOperands().drop_front(),
                        shape ? std::optional((*shape)[1]) : std::nullopt);
}

LogicalResult InstanceNormOp::inferResultTypes(const ShapeFacts &,
                                               SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  types.push_back(getInput().getType());
  return success();
}

LogicalResult GroupNormOp::verify() {
  int64_t groups = getNumGroups();
  if (groups < 1)
    return emitOpError("num_groups is ") << groups;
  if (failed(verifyEpsilon(*this, getEpsilon())) ||
      failed(verifyStashType(*this, getStashType())))
    return failure();
  MaybeShape shape = getShape(getInput());
  if (!shape)
    return success();
  if (shape->size() < 2)
    return emitOpError("needs a batch and a channel dim, got ")
           << getInput().getType();
  int64_t channels = getChannelsLast() ? shape->back() : (*shape)[1];
  if (channels >= 0 && channels % groups)
    return emitOpError("num_groups ")
           << groups << " does not divide " << channels << " channels";
  for (Value parameter : getOperands().drop_front()) {
    MaybeShape each = getShape(parameter);
    if (each && (each->size() != 1 ||
                 (differ((*each)[0], channels) && differ((*each)[0], groups))))
      return emitOpError("parameter ")
             << parameter.getType()
             << " is neither one number per channel nor one per group of "
             << getInput().getType();
  }
  return success();
}

LogicalResult GroupNormOp::inferResultTypes(const ShapeFacts &,
                                            SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  types.push_back(getInput().getType());
  return success();
}

//===----------------------------------------------------------------------===//
// LayerNormOp, RMSNormOp
//===----------------------------------------------------------------------===//

/// `axis` in range and parameters that broadcast to the normalised dims.
static LogicalResult verifyRows(Operation *op, Value input,
                                ValueRange parameters, int64_t axis) {
  MaybeShape shape = getShape(input);
  if (!shape)
    return success();
  std::optional<int64_t> first = normalizeAxis(axis, shape->size());
  if (!first)
    return op->emitOpError("axis ")
           << axis << " is out of range for " << input.getType();
  for (Value parameter : parameters) {
    MaybeShape each = getShape(parameter);
    if (!each)
      continue;
    bool fits = each->size() <= shape->size();
    for (size_t back = 1; fits && back <= each->size(); ++back) {
      int64_t dim = (*each)[each->size() - back];
      fits = dim == 1 || !differ(dim, (*shape)[shape->size() - back]);
    }
    if (!fits)
      return op->emitOpError("parameter ")
             << parameter.getType() << " does not broadcast to "
             << input.getType();
  }
  return success();
}

static Type getRowType(Value input, int64_t axis, Type element) {
  MaybeShape shape = getShape(input);
  if (shape)
    std::fill(shape->begin() + *normalizeAxis(axis, shape->size()),
              shape->end(), 1);
  return getTensorType(shape, element);
}

LogicalResult LayerNormOp::verify() {
  if (!getStats().empty() && getStats().size() != 2)
    return emitOpError("has ")
           << getStats().size() << " statistics, none or two are possible";
  if (failed(verifyEpsilon(*this, getEpsilon())) ||
      failed(verifyStashType(*this, getStashType())))
    return failure();
  return verifyRows(*this, getInput(), getOperands().drop_front(), getAxis());
}

LogicalResult LayerNormOp::inferResultTypes(const ShapeFacts &,
                                            SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  types.push_back(getInput().getType());
  for (size_t index = 0; index < getStats().size(); ++index)
    types.push_back(getRowType(getInput(), getAxis(),
                               getStatisticsType(getInput(), getStashType())));
  return success();
}

LogicalResult RMSNormOp::verify() {
  if (failed(verifyEpsilon(*this, getEpsilon())) ||
      failed(verifyStashType(*this, getStashType())))
    return failure();
  return verifyRows(*this, getInput(), getOperands().drop_front(), getAxis());
}

LogicalResult RMSNormOp::inferResultTypes(const ShapeFacts &,
                                          SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  Type element = getElementType(getInput());
  if (Value scale = getScale())
    element = promoteElementTypes(element, getElementType(scale));
  types.push_back(getTensorType(getShape(getInput()), element));
  if (getInvRms())
    types.push_back(getRowType(getInput(), getAxis(),
                               getStatisticsType(getInput(), getStashType())));
  return success();
}

//===----------------------------------------------------------------------===//
// LRNOp, LpNormalizeOp, MeanVarianceNormOp
//===----------------------------------------------------------------------===//

LogicalResult LRNOp::verify() {
  if (int64_t(getSize()) < 1)
    return emitOpError("size is ") << int64_t(getSize());
  MaybeShape shape = getShape(getInput());
  if (shape && shape->size() < 2)
    return emitOpError("needs a batch and a channel dim, got ")
           << getInput().getType();
  return success();
}

LogicalResult LRNOp::inferResultTypes(const ShapeFacts &,
                                      SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  types.push_back(getInput().getType());
  return success();
}

LogicalResult LpNormalizeOp::verify() {
  if (!(getP().convertToDouble() > 0))
    return emitOpError("p must be positive");
  return verifyRows(*this, getInput(), {}, getAxis());
}

LogicalResult LpNormalizeOp::inferResultTypes(const ShapeFacts &,
                                              SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  types.push_back(getInput().getType());
  return success();
}

LogicalResult MeanVarianceNormOp::verify() {
  for (int64_t axis : getAxes())
    if (failed(verifyRows(*this, getInput(), {}, axis)))
      return failure();
  return success();
}

LogicalResult
MeanVarianceNormOp::inferResultTypes(const ShapeFacts &,
                                     SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  types.push_back(getInput().getType());
  return success();
}
