//===- Operands.cpp - Operands, constants and arguments of ops
//-------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Operands.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

std::optional<SmallVector<Value>> aten::promoteAll(NodeContext &context,
                                                   ArrayRef<StringRef> inputs,
                                                   bool toFloat) {
  SmallVector<Value> values = context.promote(inputs, toFloat);
  if (llvm::is_contained(values, Value()))
    return std::nullopt;
  return values;
}

/// True if the number is neither lost nor infinite in this dtype.
static bool survives(double number, FloatType element) {
  APFloat value(number);
  bool loses = false;
  value.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &loses);
  if (number == 0 || !APFloat(number).isFinite())
    return true;
  return value.isNormal();
}

Type aten::widenForNumbers(NodeContext &context, ArrayRef<StringRef> inputs,
                           MutableArrayRef<Value> operands) {
  auto element = dyn_cast<FloatType>(getElementType(operands.front()));
  if (!element || !isLowPrecision(element))
    return {};
  bool fits = llvm::all_of(inputs, [&](StringRef input) {
    std::optional<double> number =
        context.isScalar(input) ? context.findNumber(input) : std::nullopt;
    return !number || survives(*number, element);
  });
  if (fits)
    return {};
  Type wide = context.builder().getF32Type();
  for (auto [input, operand] : llvm::zip(inputs, operands)) {
    std::optional<double> number =
        context.isScalar(input) ? context.findNumber(input) : std::nullopt;
    operand = number ? context.makeScalar(*number, wide)
                     : context.cast(operand, wide);
  }
  return element;
}

Value aten::narrowBack(NodeContext &context, Value value, Type element) {
  if (!element || isIntegral(value))
    return value;
  return context.cast(value, element);
}

Value aten::constantLike(NodeContext &context, double value, Value like) {
  Type element = getElementType(like);
  if (!isa<FloatType, IntegerType>(element))
    return {};
  return context.makeScalar(value, element);
}

Value aten::numberLike(NodeContext &context, StringRef name, Value like) {
  if (std::optional<double> known = context.findNumber(name))
    return constantLike(context, *known, like);
  Type element = getElementType(like);
  Value value = context.tensor(name);
  if (!value || isUnknown(element))
    return {};
  return context.cast(value, element);
}

Value aten::toDtype(NodeContext &context, Value value, StringRef dtype) {
  if (!context.has(dtype))
    return value;
  Type element = context.findElementType(dtype);
  return element ? context.cast(value, element) : Value();
}

std::optional<SmallVector<int64_t>>
aten::spatialInts(const NodeContext &context, StringRef input, size_t count,
                  int64_t otherwise) {
  SmallVector<int64_t> all(count, otherwise);
  if (!context.has(input))
    return all;
  std::optional<SmallVector<int64_t>> given = context.findInts(input);
  if (!given)
    return std::nullopt;
  if (given->empty())
    return all;
  if (given->size() == 1)
    return SmallVector<int64_t>(count, given->front());
  if (given->size() != count)
    return std::nullopt;
  return given;
}

void aten::dropDefault(SmallVectorImpl<int64_t> &list, int64_t value) {
  if (llvm::all_of(list, [&](int64_t entry) { return entry == value; }))
    list.clear();
}

StringRef aten::reductionName(const NodeContext &context) {
  switch (context.getInt("reduction", context.has("reduction") ? -1 : 1)) {
  case 0:
    return "none";
  case 1:
    return "mean";
  case 2:
    return "sum";
  default:
    return "";
  }
}
