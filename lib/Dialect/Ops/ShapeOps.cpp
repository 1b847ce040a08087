//===- ShapeOps.cpp - Shape changes and data movement ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration, and the types of what keeps all elements: reshapes, transposes,
// repetition, concatenation. Parts are in SliceInference.cpp, interpolation and
// image layouts in InterpolationInference.cpp, tensors made from shapes in
// TensorFactoryInference.cpp, elements in ShapeElements.cpp.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "mpopt/Dialect/DimOrigin.h"
#include "mpopt/Dialect/ElementSupport.h"
#include "mpopt/Dialect/InferenceSupport.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/ShapeOps.cpp.inc"

void MPDialect::registerShapeOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/ShapeOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// ReshapeOp
//===----------------------------------------------------------------------===//

namespace {
/// A reshape's target with what its elements say, before counting.
struct ReshapeTarget {
  Shape dims;
  std::optional<size_t> inferred; // where the -1 is
  SmallVector<size_t> copied;     // dims taken over from the input (0)
  SmallVector<size_t> unknown;    // elements that are not known
};
} // namespace

static LogicalResult readTarget(ReshapeOp op,
                                ArrayRef<std::optional<int64_t>> elements,
                                const MaybeShape &input,
                                ReshapeTarget &target) {
  for (auto [index, element] : llvm::enumerate(elements)) {
    int64_t dim = element.value_or(kDynamic);
    if (!element) {
      target.unknown.push_back(index);
    } else if (dim == -1) {
      if (target.inferred)
        return op.emitOpError("shape has more than one -1");
      target.inferred = index;
      dim = kDynamic;
    } else if (dim < 0) {
      return op.emitOpError("shape has the negative dim ") << dim;
    } else if (dim == 0 && !op.getAllowZero()) {
      if (input && index >= input->size())
        return op.emitOpError("shape copies dim ")
               << index << " of an input of rank " << input->size();
      target.copied.push_back(index);
      dim = input ? (*input)[index] : kDynamic;
    }
    target.dims.push_back(dim);
  }
  return success();
}

/// Dims that are read from a shape and are those of the input count as copied.
static void findCopied(ReshapeOp op, const ShapeFacts &facts,
                       const Shape &input, ReshapeTarget &target) {
  llvm::erase_if(target.unknown, [&](size_t index) {
    if (index >= input.size() || input[index] != kDynamic)
      return false;
    auto from = findDimOf(op.getShape(), int64_t(index), facts);
    if (!from || !areSameDim({op.getInput(), int64_t(index)}, *from, facts))
      return false;
    target.copied.push_back(index);
    return true;
  });
}

/// The one dim that counting elements gives: dims copied from the input cancel
/// even where they are not known, so that [0, 0, -1] of (?, ?, 12, 64) ends in
/// 768.
static int64_t countRest(const ReshapeTarget &target, const Shape &input,
                         size_t hole) {
  int64_t left = 1, right = 1;
  for (auto [index, dim] : llvm::enumerate(input))
    if (!llvm::is_contained(target.copied, index) || dim == 0)
      left = multiplyDims(left, dim);
  for (auto [index, dim] : llvm::enumerate(target.dims))
    if (index != hole &&
        (!llvm::is_contained(target.copied, index) || dim == 0))
      right = multiplyDims(right, dim);
  // With no element at all, any size would do.
  if (left == kDynamic || right == kDynamic || right == 0 || left % right)
    return kDynamic;
  return left / right;
}

LogicalResult ReshapeOp::inferResultTypes(const ShapeFacts &facts,
                                          SmallVectorImpl<Type> &types) {
  if (failed(checkRank(*this, "shape", getShape(), {1})))
    return failure();
  Type element = getElementType(getInput());
  Elements elements = elementsOf(facts, getShape());
  if (!elements) {
    types.push_back(getTensorType(std::nullopt, element));
    return success();
  }
  MaybeShape input = mpopt::getShape(getInput());
  ReshapeTarget target;
  if (failed(readTarget(*this, *elements, input, target)))
    return failure();

  if (input && target.inferred)
    findCopied(*this, facts, *input, target);

  std::optional<int64_t> count = getNumElements(input);
  std::optional<size_t> hole = target.inferred;
  if (!hole && target.unknown.size() == 1 && count)
    hole = target.unknown.front();
  bool holeOnly = target.unknown.size() == (target.inferred || !hole ? 0 : 1);
  if (hole && holeOnly && input) {
    target.dims[*hole] = countRest(target, *input, *hole);
    if (target.inferred && count && target.dims[*hole] == kDynamic) {
      int64_t rest = 1;
      for (auto [index, dim] : llvm::enumerate(target.dims))
        if (index != *hole)
          rest = multiplyDims(rest, dim);
      if (rest > 0 && *count % rest)
        return emitOpError("cannot give ")
               << *count << " elements a shape with a multiple of " << rest;
    }
  }
  std::optional<int64_t> result = getNumElements(target.dims);
  if (count && result && *count != *result)
    return emitOpError("gives ")
           << *count << " elements a shape for " << *result;
  types.push_back(getTensorType(target.dims, element));
  return success();
}

LogicalResult FlattenOp::inferResultTypes(const ShapeFacts &,
                                          SmallVectorImpl<Type> &types) {
  Shape result = {kDynamic, kDynamic};
  if (MaybeShape input = getShape(getInput())) {
    int64_t rank = input->size(), axis = getAxis();
    if (axis < -rank || axis > rank)
      return emitOpError("axis ")
             << axis << " is out of range for rank " << rank;
    if (axis < 0)
      axis += rank;
    ArrayRef<int64_t> dims(*input);
    result = {multiplyDims(dims.take_front(axis)),
              multiplyDims(dims.drop_front(axis))};
  }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}

LogicalResult TransposeOp::inferResultTypes(const ShapeFacts &,
                                            SmallVectorImpl<Type> &types) {
  MaybeShape input = getShape(getInput()), result;
  std::optional<ArrayRef<int64_t>> perm = getPerm();
  if (perm) {
    if (input && perm->size() != input->size())
      return emitOpError("perm has ")
             << perm->size() << " axes for rank " << input->size();
    FailureOr<SmallVector<int64_t>> axes =
        checkAxes(*this, *perm, perm->size());
    if (failed(axes))
      return failure();
    result = Shape(perm->size(), kDynamic);
    if (input)
      for (auto [dim, axis] : llvm::zip(*result, *axes))
        dim = (*input)[axis];
  } else if (input) {
    result = Shape(llvm::reverse(*input));
  }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}

LogicalResult SqueezeOp::inferResultTypes(const ShapeFacts &facts,
                                          SmallVectorImpl<Type> &types) {
  if (failed(checkParameter(*this, "axes", getAxes().has_value(),
                            getDynamicAxes(), /*required=*/false)))
    return failure();
  MaybeShape input = getShape(getInput()), result;
  std::optional<SmallVector<int64_t>> axes =
      constantParameter(getAxes(), getDynamicAxes(), facts);
  Elements dynamic =
      getDynamicAxes() ? elementsOf(facts, getDynamicAxes()) : Elements();
  if (input && axes) {
    FailureOr<SmallVector<int64_t>> checked =
        checkAxes(*this, *axes, input->size());
    if (failed(checked))
      return failure();
    result.emplace();
    for (auto [index, dim] : llvm::enumerate(*input)) {
      if (!llvm::is_contained(*checked, int64_t(index)))
        result->push_back(dim);
      else if (dim != 1 && dim != kDynamic)
        return emitOpError("cannot drop dim ") << index << " of size " << dim;
    }
  } else if (input && dynamic) {
    if (dynamic->size() > input->size())
      return emitOpError("drops ")
             << dynamic->size() << " dims of rank " << input->size();
    result = Shape(input->size() - dynamic->size(), kDynamic);
  } else if (input && !getDynamicAxes() &&
             !llvm::is_contained(*input, kDynamic)) {
    result = Shape(
        llvm::make_filter_range(*input, [](int64_t dim) { return dim != 1; }));
  }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}

LogicalResult UnsqueezeOp::inferResultTypes(const ShapeFacts &facts,
                                            SmallVectorImpl<Type> &types) {
  if (failed(checkParameter(*this, "axes", getAxes().has_value(),
                            getDynamicAxes())))
    return failure();
  MaybeShape input = getShape(getInput()), result;
  Elements axes = parameter(getAxes(), getDynamicAxes(), facts);
  if (input && axes) {
    int64_t rank = input->size() + axes->size();
    result = Shape(rank, kDynamic);
    if (auto known = constantParameter(getAxes(), getDynamicAxes(), facts)) {
      FailureOr<SmallVector<int64_t>> checked = checkAxes(*this, *known, rank);
      if (failed(checked))
        return failure();
      const int64_t *next = input->begin();
      for (auto [index, dim] : llvm::enumerate(*result))
        dim = llvm::is_contained(*checked, int64_t(index)) ? 1 : *next++;
    }
  }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}

//===----------------------------------------------------------------------===//
// Repetition and concatenation
//===----------------------------------------------------------------------===//

LogicalResult ExpandOp::inferResultTypes(const ShapeFacts &facts,
                                         SmallVectorImpl<Type> &types) {
  if (failed(checkRank(*this, "shape", getShape(), {1})))
    return failure();
  MaybeShape target;
  if (Elements elements = elementsOf(facts, getShape())) {
    target.emplace();
    for (std::optional<int64_t> element : *elements) {
      if (element && *element < -1)
        return emitOpError("shape has the negative dim ") << *element;
      // -1 keeps the dim, as 1 does.
      target->push_back(element == -1 ? 1 : element.value_or(kDynamic));
    }
  }
  MaybeShape input = mpopt::getShape(getInput());
  FailureOr<MaybeShape> result = broadcastShapes(input, target);
  if (failed(result))
    return emitOpError("cannot broadcast ")
           << getInput().getType() << " to "
           << getTensorType(target, getElementType(getInput()));
  types.push_back(getTensorType(*result, getElementType(getInput())));
  return success();
}

LogicalResult TileOp::inferResultTypes(const ShapeFacts &facts,
                                       SmallVectorImpl<Type> &types) {
  if (failed(checkRank(*this, "repeats", getRepeats(), {1})))
    return failure();
  MaybeShape input = getShape(getInput()), result;
  Elements repeats = elementsOf(facts, getRepeats());
  if (input && repeats && input->size() != repeats->size())
    return emitOpError("has ")
           << repeats->size() << " repeats for rank " << input->size();
  if (input || repeats)
    result = Shape(input ? input->size() : repeats->size(), kDynamic);
  if (repeats)
    for (auto [index, repeat] : llvm::enumerate(*repeats)) {
      if (repeat && *repeat < 0)
        return emitOpError("has the negative repeat ") << *repeat;
      if (repeat && input)
        (*result)[index] = multiplyDims((*input)[index], *repeat);
    }
  types.push_back(getTensorType(result, getElementType(getInput())));
  return success();
}

LogicalResult ConcatOp::inferResultTypes(const ShapeFacts &,
                                         SmallVectorImpl<Type> &types) {
  if (getInputs().empty())
    return emitOpError("needs an operand");
  Type element = getElementType(getInputs().front());
  MaybeShape result;
  int64_t sum = 0, axis = -1;
  bool known = true;
  for (Value input : getInputs()) {
    element = promoteElementTypes(element, getElementType(input));
    MaybeShape shape = getShape(input);
    known &= shape.has_value();
    if (!shape)
      continue;
    if (!result) {
      FailureOr<int64_t> checked = checkAxis(*this, getAxis(), shape->size());
      if (failed(checked))
        return failure();
      axis = *checked;
      sum = (*shape)[axis];
      result = shape;
      continue;
    }
    if (shape->size() != result->size())
      return emitOpError("operands have ranks ")
             << result->size() << " and " << shape->size();
    sum = addDims(sum, (*shape)[axis]);
    for (auto [index, dim] : llvm::enumerate(*shape)) {
      int64_t &other = (*result)[index];
      if (int64_t(index) == axis || dim == kDynamic)
        continue;
      if (other != kDynamic && other != dim)
        return emitOpError("operands differ in dim ")
               << index << ": " << other << " and " << dim;
      other = dim;
    }
  }
  if (result)
    (*result)[axis] = known ? sum : kDynamic;
  types.push_back(getTensorType(result, element));
  return success();
}
