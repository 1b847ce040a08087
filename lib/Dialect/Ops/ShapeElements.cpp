//===- ShapeElements.cpp - Elements of shape arithmetic -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small tensors of whole numbers as they pass through the ops of the Shape
// family. Slices and splits are followed along vectors only: no exporter writes
// shapes as matrices and cuts them.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/InferenceSupport.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

static bool isVector(Value value) {
  MaybeShape shape = getShape(value);
  return shape && shape->size() == 1;
}

Elements ReshapeOp::inferElements(const ShapeFacts &facts) {
  return facts.elements(getInput());
}
Elements FlattenOp::inferElements(const ShapeFacts &facts) {
  return facts.elements(getInput());
}
Elements SqueezeOp::inferElements(const ShapeFacts &facts) {
  return facts.elements(getInput());
}
Elements UnsqueezeOp::inferElements(const ShapeFacts &facts) {
  return facts.elements(getInput());
}

Elements ExpandOp::inferElements(const ShapeFacts &facts) {
  Elements input = facts.elements(getInput());
  std::optional<int64_t> count = getNumElements(mpopt::getShape(getResult()));
  if (!input || !count || *count > ShapeFacts::kMaxElements)
    return std::nullopt;
  if (int64_t(input->size()) == *count)
    return input;
  if (input->size() != 1)
    return std::nullopt;
  return Elements(std::in_place, *count, input->front());
}

Elements TileOp::inferElements(const ShapeFacts &facts) {
  Elements input = facts.elements(getInput());
  auto repeats = facts.constants(getRepeats());
  if (!input || !repeats || repeats->size() != 1 || repeats->front() < 0 ||
      !isVector(getInput()))
    return std::nullopt;
  int64_t count = multiplyDims(input->size(), repeats->front());
  if (count == kDynamic || count > ShapeFacts::kMaxElements)
    return std::nullopt;
  Elements result(std::in_place);
  while (int64_t(result->size()) < count)
    result->append(*input);
  return result;
}

Elements ConcatOp::inferElements(const ShapeFacts &facts) {
  Elements result(std::in_place);
  for (Value input : getInputs()) {
    if (!isVector(input))
      return std::nullopt;
    Elements part = elementsOf(facts, input);
    if (!part ||
        result->size() + part->size() > size_t(ShapeFacts::kMaxElements))
      return std::nullopt;
    result->append(*part);
  }
  return result;
}

Elements SplitOp::inferElements(const ShapeFacts &facts) {
  return inferElementsOf(0, facts);
}

Elements SplitOp::inferElementsOf(unsigned index, const ShapeFacts &facts) {
  Elements input = facts.elements(getInput());
  if (!input || !isVector(getInput()))
    return std::nullopt;
  size_t offset = 0;
  for (unsigned part = 0; part <= index; ++part) {
    std::optional<int64_t> size = getNumElements(getShape(getResult(part)));
    if (!size || *size > int64_t(input->size() - offset))
      return std::nullopt;
    if (part == index)
      return Elements(std::in_place, input->begin() + offset,
                      input->begin() + offset + *size);
    offset += *size;
  }
  return std::nullopt;
}

/// One axis of a tensor whose sizes are known.
Elements SliceOp::inferElements(const ShapeFacts &facts) {
  Elements input = facts.elements(getInput());
  auto starts = constantParameter(getStarts(), getDynamicStarts(), facts);
  auto ends = constantParameter(getEnds(), getDynamicEnds(), facts);
  auto steps = constantParameter(getSteps(), getDynamicSteps(), facts);
  auto axes = constantParameter(getAxes(), getDynamicAxes(), facts);
  bool hasSteps = getSteps() || getDynamicSteps();
  bool hasAxes = getAxes() || getDynamicAxes();
  MaybeShape from = getShape(getInput()), to = getShape(getResult());
  if (!input || !from || !to || from->empty() || !getNumElements(from) ||
      !starts || !ends || starts->size() != 1 || ends->size() != 1 ||
      (hasSteps && (!steps || steps->size() != 1)) ||
      (hasAxes && (!axes || axes->size() != 1)))
    return std::nullopt;
  std::optional<int64_t> axis =
      hasAxes ? normalizeAxis(axes->front(), from->size()) : 0;
  // The length is what inferResultTypes has worked out.
  if (!axis || to->size() != from->size() || (*to)[*axis] == kDynamic)
    return std::nullopt;
  int64_t count = (*to)[*axis], size = (*from)[*axis], start = starts->front();
  int64_t step = hasSteps ? steps->front() : 1;
  if (step == 0)
    return std::nullopt;
  if (start < 0)
    start += size;
  start = std::clamp<int64_t>(start, 0, step > 0 ? size : size - 1);
  int64_t inner = 1;
  for (int64_t dim : ArrayRef(*from).drop_front(*axis + 1))
    inner *= dim;
  int64_t block = inner * size;
  Elements result(std::in_place);
  for (int64_t first = 0; block > 0 && first < int64_t(input->size());
       first += block)
    for (int64_t index = 0; index < count; ++index) {
      int64_t place;
      if (llvm::MulOverflow(index, step, place) || place < -start ||
          place >= size - start)
        return std::nullopt;
      auto row = input->begin() + first + (start + place) * inner;
      result->append(row, row + inner);
    }
  return result;
}

Elements TransposeOp::inferElements(const ShapeFacts &facts) {
  Elements input = facts.elements(getInput());
  MaybeShape from = getShape(getInput()), to = getShape(getResult());
  if (!input || !getNumElements(from) || !to || to->size() != from->size())
    return std::nullopt;
  size_t rank = from->size();
  SmallVector<int64_t> strides(rank, 1), steps(rank);
  for (size_t axis = rank; axis-- > 1;)
    strides[axis - 1] = strides[axis] * (*from)[axis];
  for (size_t axis = 0; axis < rank; ++axis) {
    std::optional<int64_t> source =
        getPerm() ? normalizeAxis((*getPerm())[axis], rank)
                  : int64_t(rank - 1 - axis);
    if (!source)
      return std::nullopt;
    steps[axis] = strides[*source];
  }
  Elements result(std::in_place);
  for (size_t index = 0; index < input->size(); ++index) {
    size_t rest = index, place = 0;
    for (size_t axis = rank; axis-- > 0;) {
      place += rest % size_t((*to)[axis]) * size_t(steps[axis]);
      rest /= size_t((*to)[axis]);
    }
    result->push_back((*input)[place]);
  }
  return result;
}

Elements ShapeOp::inferElements(const ShapeFacts &) {
  MaybeShape shape = getShape(getInput());
  if (!shape)
    return std::nullopt;
  auto [start, end] = getBounds(shape->size());
  Elements result(std::in_place);
  for (int64_t index = start; index < end; ++index)
    result->push_back((*shape)[index] == kDynamic
                          ? std::nullopt
                          : std::optional<int64_t>((*shape)[index]));
  return result;
}

Elements SizeOp::inferElements(const ShapeFacts &) {
  return Elements(std::in_place, 1, getNumElements(getShape(getInput())));
}

Elements FillOp::inferElements(const ShapeFacts &) {
  auto dense = dyn_cast<DenseIntElementsAttr>(getValue());
  std::optional<int64_t> count = getNumElements(mpopt::getShape(getResult()));
  if (!dense || dense.getNumElements() != 1 || !count ||
      *count > ShapeFacts::kMaxElements)
    return std::nullopt;
  auto type = cast<IntegerType>(dense.getElementType());
  APInt value = *dense.value_begin<APInt>();
  return Elements(std::in_place, *count,
                  type.isUnsigned() || type.isInteger(1)
                      ? int64_t(value.getZExtValue())
                      : value.getSExtValue());
}

Elements RangeOp::inferElements(const ShapeFacts &facts) {
  auto start = facts.constants(getStart()), delta = facts.constants(getDelta());
  std::optional<int64_t> count = getNumElements(getShape(getResult()));
  if (!start || !delta || start->size() != 1 || delta->size() != 1 || !count ||
      *count > ShapeFacts::kMaxElements)
    return std::nullopt;
  Elements result(std::in_place);
  for (int64_t index = 0; index < *count; ++index)
    result->push_back(int64_t(uint64_t(start->front()) +
                              uint64_t(index) * uint64_t(delta->front())));
  return result;
}
