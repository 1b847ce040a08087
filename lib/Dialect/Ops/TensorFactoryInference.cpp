//===- TensorFactoryInference.cpp - Types of tensors made from shapes -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/InferenceSupport.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

//===----------------------------------------------------------------------===//
// Shapes as values
//===----------------------------------------------------------------------===//

std::pair<int64_t, int64_t> ShapeOp::getBounds(int64_t rank) {
  auto clamp = [&](int64_t place) {
    return std::clamp<int64_t>(place < 0 ? place + rank : place, 0, rank);
  };
  int64_t start = clamp(getStart()), end = clamp(getEnd().value_or(rank));
  return {start, std::max(start, end)};
}

LogicalResult ShapeOp::inferResultTypes(const ShapeFacts &,
                                        SmallVectorImpl<Type> &types) {
  Shape result = {kDynamic};
  if (MaybeShape input = getShape(getInput())) {
    auto [start, end] = getBounds(input->size());
    result.front() = end - start;
  }
  types.push_back(getTensorType(result, Builder(getContext()).getI64Type()));
  return success();
}

LogicalResult SizeOp::inferResultTypes(const ShapeFacts &,
                                       SmallVectorImpl<Type> &types) {
  types.push_back(getTensorType(Shape(), Builder(getContext()).getI64Type()));
  return success();
}

//===----------------------------------------------------------------------===//
// Values from shapes
//===----------------------------------------------------------------------===//

LogicalResult FillOp::inferResultTypes(const ShapeFacts &facts,
                                       SmallVectorImpl<Type> &types) {
  auto type = dyn_cast<RankedTensorType>(getValue().getShapedType());
  if (!type || getNumElements(mpopt::getShape(type)) != 1)
    return emitOpError("value needs one element");
  FailureOr<MaybeShape> result = shapeFrom(*this, facts, getShape());
  if (failed(result))
    return failure();
  types.push_back(getTensorType(*result, type.getElementType()));
  return success();
}

/// max(ceil((limit - start) / delta), 0) of integers.
static int64_t countRange(int64_t start, int64_t limit, int64_t delta) {
  if (delta > 0 ? limit <= start : limit >= start)
    return 0;
  // The distance of any two int64_t fits a uint64_t, and so does |delta|.
  uint64_t distance = delta > 0 ? uint64_t(limit) - uint64_t(start)
                                : uint64_t(start) - uint64_t(limit);
  uint64_t step = delta > 0 ? uint64_t(delta) : -uint64_t(delta);
  uint64_t count = (distance - 1) / step + 1;
  return count > uint64_t(INT64_MAX) ? kDynamic : int64_t(count);
}

LogicalResult RangeOp::inferResultTypes(const ShapeFacts &facts,
                                        SmallVectorImpl<Type> &types) {
  Type element = mp::UnknownType::get(getContext());
  for (Value operand : getOperands())
    element = promoteElementTypes(element, getElementType(operand));
  int64_t count = kDynamic;
  auto readInt = [&](Value value) -> std::optional<int64_t> {
    auto elements = facts.constants(value);
    return elements && elements->size() == 1
               ? std::optional<int64_t>(elements->front())
               : std::nullopt;
  };
  auto readFloat = [&](Value value) -> std::optional<double> {
    auto elements = floatConstants(value);
    return elements && elements->size() == 1
               ? std::optional<double>(elements->front())
               : std::nullopt;
  };
  if (isa<FloatType>(element)) {
    auto start = readFloat(getStart()), limit = readFloat(getLimit()),
         delta = readFloat(getDelta());
    if (delta && !(*delta < 0) && !(*delta > 0))
      return emitOpError("has a delta of 0");
    if (start && limit && delta) {
      double exact = std::ceil((*limit - *start) / *delta);
      if (exact <= 0)
        count = 0;
      else if (exact < 9007199254740992.0) // 2^53; false for NaN
        count = int64_t(exact);
    }
  } else {
    auto start = readInt(getStart()), limit = readInt(getLimit()),
         delta = readInt(getDelta());
    if (delta && *delta == 0)
      return emitOpError("has a delta of 0");
    if (start && limit && delta)
      count = countRange(*start, *limit, *delta);
  }
  types.push_back(getTensorType(Shape{count}, element));
  return success();
}

LogicalResult EyeLikeOp::inferResultTypes(const ShapeFacts &,
                                          SmallVectorImpl<Type> &types) {
  if (failed(checkRank(*this, "input", getInput(), {2})))
    return failure();
  MaybeShape shape = getShape(getInput());
  Type own = getElementType(getResult());
  types.push_back(
      getTensorType(shape ? *shape : Shape{kDynamic, kDynamic},
                    isUnknown(own) ? getElementType(getInput()) : own));
  return success();
}

LogicalResult OneHotOp::inferResultTypes(const ShapeFacts &facts,
                                         SmallVectorImpl<Type> &types) {
  if (failed(checkRank(*this, "values", getValues(), {1})) ||
      failed(checkRank(*this, "depth", getDepth(), {0, 1})))
    return failure();
  MaybeShape result = getShape(getIndices());
  if (result) {
    FailureOr<int64_t> axis = checkAxis(*this, getAxis(), result->size() + 1);
    if (failed(axis))
      return failure();
    int64_t depth = kDynamic;
    if (auto known = facts.constants(getDepth()); known && known->size() == 1)
      depth = known->front();
    else if (auto real = floatConstants(getDepth());
             real && real->size() == 1 && real->front() >= 0 &&
             real->front() < 9007199254740992.0)
      depth = int64_t(real->front());
    if (depth != kDynamic && depth < 0)
      return emitOpError("has the negative depth ") << depth;
    result->insert(result->begin() + *axis, depth);
  }
  types.push_back(getTensorType(result, getElementType(getValues())));
  return success();
}

LogicalResult DetOp::inferResultTypes(const ShapeFacts &,
                                      SmallVectorImpl<Type> &types) {
  MaybeShape result = getShape(getInput());
  if (result) {
    if (result->size() < 2)
      return emitOpError("needs matrices, not rank ") << result->size();
    int64_t columns = result->pop_back_val(), rows = result->pop_back_val();
    if (rows != columns && rows != kDynamic && columns != kDynamic)
      return emitOpError("needs square matrices, not ")
             << rows << " by " << columns;
  }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}
