//===- ReductionOps.cpp - Reductions, scans and selections along axes -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/ReductionOps.h"

#include "mpopt/Dialect/ElementSupport.h"
#include "mpopt/Dialect/InferenceSupport.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/ReductionOps.cpp.inc"

void MPDialect::registerReductionOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/ReductionOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

LogicalResult mpopt::verifyReduction(Operation *op, Value input,
                                     std::optional<ArrayRef<int64_t>> axes,
                                     Value dynamicAxes) {
  if (axes && dynamicAxes)
    return op->emitOpError("has axes both as attribute and as operand");
  MaybeShape shape = getShape(input);
  if (!axes || !shape)
    return success();
  int64_t rank = std::max<int64_t>(shape->size(), 1);
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t axis : *axes) {
    if (failed(verifyAxis(op, input, axis)))
      return failure();
    if (!seen.insert(*normalizeAxis(axis, rank)).second)
      return op->emitOpError("axis ") << axis << " appears twice";
  }
  return success();
}

/// Which dims of a tensor of rank `rank` are reduced over; nothing if the axes
/// are not known.
static std::optional<SmallVector<bool>>
getReduced(std::optional<ArrayRef<int64_t>> axes, Value dynamicAxes,
           int64_t rank, const ShapeFacts &facts) {
  std::optional<SmallVector<int64_t>> known;
  if (dynamicAxes)
    known = facts.constants(dynamicAxes);
  else if (axes)
    known.emplace(*axes);
  else
    known.emplace();
  if (!known)
    return std::nullopt;
  SmallVector<bool> reduced(rank, known->empty());
  for (int64_t axis : *known) {
    if (rank == 0)
      continue; // a scalar's only axis
    std::optional<int64_t> index = normalizeAxis(axis, rank);
    if (!index)
      return std::nullopt;
    reduced[*index] = true;
  }
  return reduced;
}

LogicalResult mpopt::inferReduction(Operation *op, Value input,
                                    std::optional<ArrayRef<int64_t>> axes,
                                    Value dynamicAxes, bool keepDims,
                                    const ShapeFacts &facts, Type elementType,
                                    SmallVectorImpl<Type> &types) {
  if (failed(verifyReduction(op, input, axes, dynamicAxes)))
    return failure();
  MaybeShape shape = getShape(input), result;
  // All axes: a scalar whatever the rank.
  if (!dynamicAxes && (!axes || axes->empty()) && !keepDims)
    result = Shape();
  if (!shape) {
    types.push_back(getTensorType(result, elementType));
    return success();
  }
  int64_t rank = shape->size();
  if (auto reduced = getReduced(axes, dynamicAxes, rank, facts)) {
    result = Shape();
    for (auto [dim, gone] : llvm::zip(*shape, *reduced))
      if (!gone || keepDims)
        result->push_back(gone ? 1 : dim);
  } else if (keepDims) {
    result = Shape(rank, kDynamic);
  } else if (MaybeShape count = getShape(dynamicAxes);
             count && count->size() == 1 && count->front() > 0 &&
             count->front() <= rank) {
    result = Shape(rank - count->front(), kDynamic);
  }
  types.push_back(getTensorType(result, elementType));
  return success();
}

/// Folds the known elements of each group; a group with an unknown element, or
/// with none where there is no `start`, is unknown.
template <typename OpT>
static Elements
reduceElements(OpT op, const ShapeFacts &facts, std::optional<int64_t> start,
               llvm::function_ref<int64_t(int64_t, int64_t)> function) {
  Elements input = facts.elements(op.getInput());
  MaybeShape shape = getShape(op.getInput());
  if (!input || !getNumElements(shape))
    return std::nullopt;
  auto reduced =
      getReduced(op.getAxes(), op.getDynamicAxes(), shape->size(), facts);
  if (!reduced)
    return std::nullopt;
  int64_t count = 1;
  for (auto [dim, gone] : llvm::zip(*shape, *reduced))
    count = multiplyDims(count, gone ? 1 : dim);
  if (count < 0 || count > ShapeFacts::kMaxElements)
    return std::nullopt;

  Elements result(std::in_place, count, start);
  SmallVector<bool> started(count, start.has_value());
  for (auto [index, element] : llvm::enumerate(*input)) {
    int64_t rest = index, target = 0, stride = 1;
    for (int64_t dim = int64_t(shape->size()) - 1; dim >= 0; --dim) {
      if (!(*reduced)[dim]) {
        target += rest % (*shape)[dim] * stride;
        stride *= (*shape)[dim];
      }
      rest /= (*shape)[dim];
    }
    std::optional<int64_t> &group = (*result)[target];
    if (!started[target])
      group = element;
    else if (group)
      group = element ? std::optional(function(*group, *element)) : element;
    started[target] = true;
  }
  Type type = getElementType(op.getResult());
  for (std::optional<int64_t> &element : *result)
    if (element)
      element = fitElement(*element, type);
  return result;
}

Elements ReduceSumOp::inferElements(const ShapeFacts &facts) {
  return reduceElements(*this, facts, 0, [](int64_t sum, int64_t value) {
    return int64_t(uint64_t(sum) + uint64_t(value));
  });
}

Elements ReduceProdOp::inferElements(const ShapeFacts &facts) {
  return reduceElements(*this, facts, 1, [](int64_t product, int64_t value) {
    return int64_t(uint64_t(product) * uint64_t(value));
  });
}

Elements ReduceMaxOp::inferElements(const ShapeFacts &facts) {
  return reduceElements(
      *this, facts, std::nullopt,
      [](int64_t lhs, int64_t rhs) { return std::max(lhs, rhs); });
}

Elements ReduceMinOp::inferElements(const ShapeFacts &facts) {
  return reduceElements(
      *this, facts, std::nullopt,
      [](int64_t lhs, int64_t rhs) { return std::min(lhs, rhs); });
}

//===----------------------------------------------------------------------===//
// TopKOp, SortOp, MedianOp
//===----------------------------------------------------------------------===//

static Type getIndexType(MLIRContext *context) {
  return IntegerType::get(context, 64);
}

LogicalResult TopKOp::inferResultTypes(const ShapeFacts &facts,
                                       SmallVectorImpl<Type> &types) {
  MaybeShape shape = getShape(getInput());
  std::optional<int64_t> count = getK();
  if (getDynamicK())
    if (Elements known = facts.elements(getDynamicK()))
      if (known->size() == 1)
        count = known->front();
  if (shape && !shape->empty()) {
    std::optional<int64_t> axis = normalizeAxis(getAxis(), shape->size());
    if (!axis)
      return verifyAxis(*this, getInput(), getAxis());
    int64_t &dim = (*shape)[*axis];
    if (count && dim != kDynamic && *count > dim)
      return emitOpError("takes ")
             << *count << " elements of an axis with " << dim;
    dim = count.value_or(kDynamic);
  }
  types.push_back(getTensorType(shape, getElementType(getInput())));
  types.push_back(getTensorType(shape, getIndexType(getContext())));
  return success();
}

LogicalResult TopKOp::verify() {
  if (bool(getDynamicK()) == getK().has_value())
    return emitOpError("needs k, as attribute or as operand");
  if (getK() && int64_t(*getK()) < 0)
    return emitOpError("k must not be negative");
  return verifyAxis(*this, getInput(), getAxis());
}

LogicalResult SortOp::inferResultTypes(const ShapeFacts &,
                                       SmallVectorImpl<Type> &types) {
  types.push_back(getInput().getType());
  types.push_back(
      getTensorType(getShape(getInput()), getIndexType(getContext())));
  return success();
}

LogicalResult SortOp::verify() {
  return verifyAxis(*this, getInput(), getAxis());
}

LogicalResult MedianOp::inferResultTypes(const ShapeFacts &facts,
                                         SmallVectorImpl<Type> &types) {
  std::optional<int64_t> axis = getAxis();
  ArrayRef<int64_t> axes =
      axis ? ArrayRef<int64_t>(*axis) : ArrayRef<int64_t>();
  for (Type element : {getElementType(getInput()), getIndexType(getContext())})
    if (failed(inferReduction(*this, getInput(), axes, {}, getKeepDims(), facts,
                              element, types)))
      return failure();
  return success();
}

LogicalResult MedianOp::verify() {
  return verifyAxis(*this, getInput(), getAxis());
}
