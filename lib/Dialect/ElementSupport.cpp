//===- ElementSupport.cpp - Arithmetic on known elements
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/ElementSupport.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Support/WeightStore.h"

#include "llvm/ADT/APSInt.h"

using namespace mlir;
using namespace mpopt;

std::optional<int64_t> mpopt::fitElement(int64_t value, Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType)) {
    unsigned width = integer.getWidth();
    if (width >= 64)
      return value;
    uint64_t bits = uint64_t(value) << (64 - width);
    return integer.isUnsigned() || width == 1 ? int64_t(bits >> (64 - width))
                                              : int64_t(bits) >> (64 - width);
  }
  auto type = dyn_cast<FloatType>(elementType);
  // The 8-bit formats compute no shapes.
  if (!type || type.getWidth() < 16)
    return std::nullopt;
  int64_t exact = int64_t(1) << std::min(type.getFPMantissaWidth(), 62u);
  if (value < -exact || value > exact)
    return std::nullopt;
  return value;
}

/// Where element `index` of a tensor of shape `to` reads one of shape `from`.
static int64_t getBroadcastIndex(int64_t index, const Shape &to,
                                 const Shape &from) {
  int64_t offset = 0, stride = 1;
  for (size_t back = 1; back <= from.size(); ++back) {
    int64_t dim = to[to.size() - back], own = from[from.size() - back];
    if (own != 1)
      offset += index % dim * stride;
    stride *= own;
    index /= dim;
  }
  return offset;
}

Elements mpopt::combineElements(
    ValueRange operands, Type elementType, const ShapeFacts &facts,
    llvm::function_ref<std::optional<int64_t>(ArrayRef<std::optional<int64_t>>)>
        function,
    bool needsAll) {
  // Before constants are decoded for nothing.
  auto mayKnow = [&](Value operand) {
    return operand.getDefiningOp<mp::ConstantOp>() || facts.elements(operand);
  };
  if (needsAll ? !llvm::all_of(operands, mayKnow)
               : llvm::none_of(operands, mayKnow))
    return std::nullopt;
  SmallVector<Elements> inputs;
  SmallVector<Shape> shapes;
  MaybeShape result = Shape();
  for (Value operand : operands) {
    MaybeShape shape = getShape(operand);
    FailureOr<MaybeShape> joined = broadcastShapes(result, shape);
    if (!shape || failed(joined))
      return std::nullopt;
    result = *joined;
    shapes.push_back(*shape);
  }
  std::optional<int64_t> count = getNumElements(result);
  if (!count || *count > ShapeFacts::kMaxElements)
    return std::nullopt;
  for (Value operand : operands)
    inputs.push_back(facts.elements(operand));
  auto has = [](const Elements &input) { return bool(input); };
  if (needsAll ? !llvm::all_of(inputs, has) : llvm::none_of(inputs, has))
    return std::nullopt;

  Elements elements(std::in_place);
  SmallVector<std::optional<int64_t>> tuple(inputs.size());
  for (int64_t index = 0; index < *count; ++index) {
    for (auto [slot, input, shape] : llvm::zip(tuple, inputs, shapes))
      slot = input ? (*input)[getBroadcastIndex(index, *result, shape)]
                   : std::nullopt;
    std::optional<int64_t> value = function(tuple);
    elements->push_back(value ? fitElement(*value, elementType) : value);
  }
  return elements;
}

Elements mpopt::zipElements(
    Operation *op, const ShapeFacts &facts,
    llvm::function_ref<std::optional<int64_t>(int64_t, int64_t)> function) {
  return combineElements(op->getOperands(), getElementType(op->getResult(0)),
                         facts, [&](ArrayRef<std::optional<int64_t>> pair) {
                           return pair[0] && pair[1]
                                      ? function(*pair[0], *pair[1])
                                      : std::nullopt;
                         });
}

/// Integers of little-endian bytes.
static Elements decode(ArrayRef<char> bytes, IntegerType type, int64_t count) {
  unsigned width = type.isInteger(1) ? 1 : type.getWidth() / 8;
  if (width == 0 || int64_t(bytes.size() / width) < count)
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

/// Floats that are whole numbers: exporters scale dims in float (Cast, Mul,
/// Div, Floor, Cast). Only of dense attributes; no shape is computed from a
/// weight.
static Elements readFloats(DenseFPElementsAttr dense) {
  Elements result(std::in_place);
  for (const APFloat &value : dense.getValues<APFloat>()) {
    APSInt integer(64, /*isUnsigned=*/false);
    bool exact = false;
    value.convertToInteger(integer, APFloat::rmTowardZero, &exact);
    result->push_back(exact ? std::optional<int64_t>(integer.getSExtValue())
                            : std::nullopt);
  }
  return result;
}

static Elements readConstant(mp::ConstantOp constant) {
  auto type = cast<RankedTensorType>(constant.getType());
  if (type.getNumElements() > ShapeFacts::kMaxElements)
    return std::nullopt;
  if (auto dense = dyn_cast<DenseFPElementsAttr>(constant.getValue()))
    return readFloats(dense);
  auto element = dyn_cast<IntegerType>(type.getElementType());
  if (!element)
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

/// Elements none of which is known say no more than the type: they are not
/// kept, since most tensors of a model are data.
static bool isUseful(const Elements &elements) {
  return elements &&
         (elements->empty() ||
          llvm::any_of(*elements, [](const std::optional<int64_t> &element) {
            return element.has_value();
          }));
}

Elements ShapeFacts::elements(Value value) const {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  auto constant = value.getDefiningOp<mp::ConstantOp>();
  Elements elements = constant ? readConstant(constant) : std::nullopt;
  return isUseful(elements) ? elements : std::nullopt;
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
  if (isUseful(elements) && elements->size() <= size_t(kMaxElements))
    known[value] = std::move(elements);
  else
    known.erase(value);
}
