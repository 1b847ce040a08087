//===- ElementSupport.cpp - Arithmetic on known elements
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/ElementSupport.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Support/WeightStore.h"

#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace mpopt;

Elements mpopt::mapElements(Elements input,
                            llvm::function_ref<int64_t(int64_t)> function) {
  if (input)
    for (std::optional<int64_t> &element : *input)
      if (element)
        element = function(*element);
  return input;
}

Elements
mpopt::zipElements(Operation *op, const ShapeFacts &facts,
                   llvm::function_ref<std::optional<int64_t>(int64_t, int64_t)>
                       function) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  Elements left = facts.elements(lhs), right = facts.elements(rhs);
  MaybeShape leftShape = getShape(lhs), rightShape = getShape(rhs);
  if (!left || !right || !leftShape || !rightShape)
    return std::nullopt;
  FailureOr<MaybeShape> shape = broadcastShapes(leftShape, rightShape);
  if (failed(shape))
    return std::nullopt;
  std::optional<int64_t> count = getNumElements(*shape);
  if (!count || *count > ShapeFacts::kMaxElements)
    return std::nullopt;

  // Where result element `index` reads an operand of shape `from`.
  auto source = [&](int64_t index, const Shape &from) {
    int64_t offset = 0, stride = 1;
    for (size_t back = 1; back <= (*shape)->size(); ++back) {
      int64_t dim = (**shape)[(*shape)->size() - back];
      if (back <= from.size() && from[from.size() - back] != 1)
        offset += index % dim * stride;
      if (back <= from.size())
        stride *= from[from.size() - back];
      index /= dim;
    }
    return offset;
  };
  Elements result(std::in_place);
  for (int64_t index = 0; index < *count; ++index) {
    std::optional<int64_t> a = (*left)[source(index, *leftShape)];
    std::optional<int64_t> b = (*right)[source(index, *rightShape)];
    result->push_back(a && b ? function(*a, *b) : std::nullopt);
  }
  return result;
}

/// Integers of little-endian bytes.
static Elements decode(ArrayRef<char> bytes, IntegerType type, int64_t count) {
  unsigned width = type.isInteger(1) ? 1 : type.getWidth() / 8;
  if (width == 0 || int64_t(bytes.size()) < count * int64_t(width))
    return std::nullopt;
  Elements result(std::in_place);
  for (int64_t index = 0; index < count; ++index) {
    uint64_t bits = 0;
    for (unsigned byte = 0; byte < width; ++byte)
      bits |= uint64_t(uint8_t(bytes[index * width + byte])) << (8 * byte);
    unsigned shift = 64 - 8 * width;
    result->push_back(type.isUnsigned() || type.isInteger(1)
                          ? int64_t(bits)
                          : int64_t(bits << shift) >> shift);
  }
  return result;
}

static Elements readConstant(mp::ConstantOp constant) {
  auto type = cast<RankedTensorType>(constant.getType());
  auto element = dyn_cast<IntegerType>(type.getElementType());
  if (!element || type.getNumElements() > ShapeFacts::kMaxElements)
    return std::nullopt;
  if (auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue())) {
    Elements result(std::in_place);
    for (const APInt &value : dense.getValues<APInt>())
      result->push_back(element.isUnsigned() || element.isInteger(1)
                            ? int64_t(value.getZExtValue())
                            : value.getSExtValue());
    return result;
  }
  auto weight = dyn_cast<mp::WeightAttr>(constant.getValue());
  if (!weight)
    return std::nullopt;
  auto *dialect = cast<mp::MPDialect>(constant->getDialect());
  llvm::Expected<ArrayRef<char>> bytes = dialect->getWeights().bytes(
      weight.getFile().getValue(), weight.getOffset(), weight.getLength());
  if (!bytes) {
    llvm::consumeError(bytes.takeError()); // reported by who needs the weights
    return std::nullopt;
  }
  return decode(*bytes, element, type.getNumElements());
}

Elements ShapeFacts::elements(Value value) const {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  if (auto constant = value.getDefiningOp<mp::ConstantOp>())
    return readConstant(constant);
  return std::nullopt;
}

std::optional<SmallVector<int64_t>> ShapeFacts::constants(Value value) const {
  Elements partial = elements(value);
  if (!partial)
    return std::nullopt;
  SmallVector<int64_t> result;
  for (std::optional<int64_t> element : *partial) {
    if (!element)
      return std::nullopt;
    result.push_back(*element);
  }
  return result;
}

void ShapeFacts::set(Value value, Elements elements) {
  if (elements && elements->size() <= size_t(kMaxElements))
    known[value] = std::move(elements);
  else
    known.erase(value);
}
