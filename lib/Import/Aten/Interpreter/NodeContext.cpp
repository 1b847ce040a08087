//===- NodeContext.cpp - One aten node to mp ops --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of NodeContext that need no graph: dtypes, constants, promotion.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/Aten/Lowering.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

// Numbers of c10::ScalarType, from c10/core/ScalarType.h. Quantised types stand
// for the integers that they store.
mlir::Type NodeContext::elementTypeOf(MLIRContext *context, int64_t dtype) {
  Builder builder(context);
  auto unsignedType = [&](unsigned width) {
    return IntegerType::get(context, width, IntegerType::Unsigned);
  };
  switch (dtype) {
  case 0:
  case 13:
    return unsignedType(8);
  case 1:
  case 12:
    return builder.getI8Type();
  case 2:
    return builder.getI16Type();
  case 3:
  case 14:
    return builder.getI32Type();
  case 4:
    return builder.getI64Type();
  case 5:
    return builder.getF16Type();
  case 6:
    return builder.getF32Type();
  case 7:
    return builder.getF64Type();
  case 8:
    return ComplexType::get(builder.getF16Type());
  case 9:
    return ComplexType::get(builder.getF32Type());
  case 10:
    return ComplexType::get(builder.getF64Type());
  case 11:
    return builder.getI1Type();
  case 15:
    return builder.getBF16Type();
  case 23:
    return Float8E5M2Type::get(context);
  case 24:
    return Float8E4M3FNType::get(context);
  case 25:
    return Float8E5M2FNUZType::get(context);
  case 26:
    return Float8E4M3FNUZType::get(context);
  case 27:
    return unsignedType(16);
  case 28:
    return unsignedType(32);
  case 29:
    return unsignedType(64);
  case 44:
    return Float8E8M0FNUType::get(context);
  default:
    return {};
  }
}

Type NodeContext::findElementType(StringRef input) const {
  std::optional<int64_t> dtype = findInt(input);
  return dtype ? elementTypeOf(context(), *dtype) : Type();
}

Value NodeContext::cast(Value value, Type elementType, bool promotion) {
  if (getElementType(value) == elementType)
    return value;
  return makeTyped<mp::CastOp>(
             {getTensorType(getShape(value), elementType)}, value,
             promotion ? mp::CastOrigin::Promotion : mp::CastOrigin::Model,
             /*saturate=*/false, /*round_mode=*/StringAttr())
      .getResult();
}

static bool isFloating(Type type) { return isa_and_nonnull<FloatType>(type); }
static bool isComplex(Type type) { return isa_and_nonnull<ComplexType>(type); }

/// combine_categories of aten/src/ATen/native/TypeProperties.cpp.
static Type combine(Type higher, Type lower) {
  if (!higher || !lower)
    return higher ? higher : lower;
  if (isComplex(higher))
    return higher;
  if (isFloating(higher))
    return isComplex(lower) ? ComplexType::get(higher) : higher;
  if (higher.isSignlessInteger(1) || isFloating(lower) || isComplex(lower))
    return promoteElementTypes(higher, lower);
  return higher;
}

SmallVector<Value> NodeContext::promote(ArrayRef<StringRef> inputs,
                                        bool toFloat) {
  Type withDims, withoutDims, numbers;
  SmallVector<Value> values;
  bool isOpen = false;
  for (StringRef input : inputs) {
    Value value = tensor(input);
    values.push_back(value);
    if (!value)
      continue;
    Type element = getElementType(value);
    if (isUnknown(element)) {
      isOpen = true;
      continue;
    }
    Type *slot = &withDims;
    if (isScalar(input)) {
      slot = &numbers;
      if (isa<FloatType>(element))
        element = opBuilder.getF32Type();
    } else if (rankOf(value) == 0) {
      slot = &withoutDims;
    }
    *slot = *slot ? promoteElementTypes(*slot, element) : element;
  }
  // One dtype that is not known leaves that of the result open: beside a
  // number, too, which a float would not follow.
  if (isOpen) {
    for (Value &value : values)
      if (value)
        value = cast(value, mp::UnknownType::get(context()));
    return values;
  }
  Type common = combine(combine(withDims, withoutDims), numbers);
  if (toFloat && isa_and_nonnull<IntegerType>(common))
    common = opBuilder.getF32Type();
  if (!common || isUnknown(common))
    return values;
  for (auto [input, value] : llvm::zip(inputs, values)) {
    std::optional<double> known =
        isScalar(input) ? findNumber(input) : std::nullopt;
    if (known && !isComplex(common))
      value = makeScalar(*known, common);
    else if (value)
      value = cast(value, common);
  }
  return values;
}

Value NodeContext::toFloat(Value value) {
  return isa<IntegerType>(getElementType(value))
             ? cast(value, opBuilder.getF32Type())
             : value;
}

std::optional<int64_t> NodeContext::rankOf(Value value) {
  MaybeShape shape = getShape(value);
  if (!shape)
    return std::nullopt;
  return int64_t(shape->size());
}

std::optional<int64_t> NodeContext::axisOf(Value value, int64_t dim) {
  std::optional<int64_t> rank = rankOf(value);
  if (!rank)
    return dim >= 0 ? std::optional(dim) : std::nullopt;
  return normalizeAxis(dim, std::max<int64_t>(*rank, 1));
}
