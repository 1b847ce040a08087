//===- TypeSupport.cpp - Shapes and dtypes: shared arithmetic
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/TypeSupport.h"

#include "mpopt/Dialect/MPDialect.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpopt;

MaybeShape mpopt::getShape(Type type) {
  if (auto ranked = dyn_cast<RankedTensorType>(type))
    return Shape(ranked.getShape());
  return std::nullopt;
}

Type mpopt::getElementType(Type type) {
  if (auto tensor = dyn_cast<TensorType>(type))
    return tensor.getElementType();
  return mp::UnknownType::get(type.getContext());
}

Type mpopt::getTensorType(const MaybeShape &shape, Type elementType) {
  if (shape)
    return RankedTensorType::get(*shape, elementType);
  return UnrankedTensorType::get(elementType);
}

Type mpopt::getUnknownTensor(MLIRContext *context) {
  return UnrankedTensorType::get(mp::UnknownType::get(context));
}

bool mpopt::isUnknown(Type elementType) {
  return isa<mp::UnknownType>(elementType);
}

// FloatType is an interface, which is looked up: the usual types come first.

bool mpopt::isLowPrecision(Type elementType) {
  if (elementType.isF16())
    return true;
  if (elementType.isF32() || isa<IntegerType>(elementType))
    return false;
  return isa<FloatType>(elementType) &&
         elementType.getIntOrFloatBitWidth() <= 16;
}

const FloatFormat *mpopt::getFloatFormat(Type elementType) {
  if (elementType.isF16())
    return &FloatFormat::f16();
  if (elementType.isF32())
    return &FloatFormat::f32();
  if (isa<IntegerType>(elementType))
    return nullptr;
  auto type = dyn_cast<FloatType>(elementType);
  return type ? FloatFormat::bySemantics(type.getFloatSemantics()) : nullptr;
}

std::optional<int64_t> mpopt::normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

LogicalResult mpopt::verifyAxis(Operation *op, Value input,
                                std::optional<int64_t> axis) {
  MaybeShape shape = getShape(input);
  if (!axis || !shape)
    return success();
  int64_t rank = std::max<int64_t>(shape->size(), 1);
  if (normalizeAxis(*axis, rank))
    return success();
  return op->emitOpError("axis ")
         << *axis << " is out of range for rank " << shape->size();
}

std::optional<int64_t> mpopt::broadcastDim(int64_t lhs, int64_t rhs) {
  if (lhs == rhs || rhs == 1)
    return lhs;
  if (lhs == 1)
    return rhs;
  // A dynamic dim beside a static one above 1 can only be 1 or that size.
  if (lhs == kDynamic)
    return rhs;
  if (rhs == kDynamic)
    return lhs;
  return std::nullopt;
}

FailureOr<MaybeShape> mpopt::broadcastShapes(const MaybeShape &lhs,
                                             const MaybeShape &rhs) {
  if (!lhs || !rhs)
    return MaybeShape();
  Shape longer = lhs->size() >= rhs->size() ? *lhs : *rhs;
  const Shape &shorter = lhs->size() >= rhs->size() ? *rhs : *lhs;
  size_t shift = longer.size() - shorter.size();
  for (auto [index, dim] : llvm::enumerate(shorter)) {
    std::optional<int64_t> result = broadcastDim(longer[shift + index], dim);
    if (!result)
      return failure();
    longer[shift + index] = *result;
  }
  return MaybeShape(std::move(longer));
}

std::optional<int64_t> mpopt::getNumElements(const MaybeShape &shape) {
  if (!shape)
    return std::nullopt;
  int64_t count = 1;
  for (int64_t dim : *shape)
    if (dim < 0 || llvm::MulOverflow(count, dim, count))
      return std::nullopt;
  return count;
}

/// Where an element type stands in the order bool < integer < float < complex.
static int getKind(Type type) {
  if (isa<ComplexType>(type))
    return 3;
  if (isa<FloatType>(type))
    return 2;
  return type.isInteger(1) ? 0 : 1;
}

Type mpopt::promoteElementTypes(Type lhs, Type rhs) {
  if (lhs == rhs || isUnknown(rhs))
    return lhs;
  if (isUnknown(lhs))
    return rhs;
  if (getKind(lhs) != getKind(rhs))
    return getKind(lhs) > getKind(rhs) ? lhs : rhs;
  if (!lhs.isIntOrFloat() || !rhs.isIntOrFloat())
    return lhs;
  unsigned left = lhs.getIntOrFloatBitWidth(),
           right = rhs.getIntOrFloatBitWidth();
  if (left != right)
    return left > right ? lhs : rhs;
  // Equally wide but different: f16 and bf16 meet in f32, the 8-bit floats in
  // f16, ui8 and i8 stay with the first (no framework mixes them).
  if (isa<FloatType>(lhs))
    return left == 16 ? Type(Float32Type::get(lhs.getContext()))
                      : Type(Float16Type::get(lhs.getContext()));
  return lhs;
}

LogicalResult mpopt::inferBroadcast(Operation *op, ValueRange operands,
                                    SmallVectorImpl<Type> &types,
                                    Type elementType) {
  MaybeShape shape = Shape();
  Type common = mp::UnknownType::get(op->getContext());
  for (Value operand : operands) {
    FailureOr<MaybeShape> joined = broadcastShapes(shape, getShape(operand));
    if (failed(joined))
      return op->emitOpError("operands do not broadcast: ")
             << operands.getTypes();
    shape = *joined;
    common = promoteElementTypes(common, getElementType(operand));
  }
  types.push_back(getTensorType(shape, elementType ? elementType : common));
  return success();
}

/// refineType where at least one type is not a tensor.
static std::optional<Type> refineContainer(Type inferred, Type declared) {
  if (auto sequence = dyn_cast<mp::SequenceType>(inferred))
    if (auto other = dyn_cast<mp::SequenceType>(declared)) {
      std::optional<Type> element =
          refineType(sequence.getElementType(), other.getElementType());
      return element ? mp::SequenceType::get(inferred.getContext(), *element)
                     : std::optional<Type>();
    }
  if (auto optional = dyn_cast<mp::OptionalType>(inferred))
    if (auto other = dyn_cast<mp::OptionalType>(declared)) {
      std::optional<Type> element =
          refineType(optional.getElementType(), other.getElementType());
      return element ? mp::OptionalType::get(inferred.getContext(), *element)
                     : std::optional<Type>();
    }
  return isa<TensorType>(inferred) ? declared : inferred;
}

std::optional<Type> mpopt::refineType(Type inferred, Type declared) {
  if (inferred == declared)
    return inferred;
  if (!isa<TensorType>(inferred) || !isa<TensorType>(declared))
    return refineContainer(inferred, declared);
  MaybeShape shape = getShape(inferred), other = getShape(declared);
  if (shape && other) {
    if (shape->size() != other->size())
      return std::nullopt;
    for (auto [dim, known] : llvm::zip(*shape, *other)) {
      if (dim == kDynamic)
        dim = known;
      else if (known != kDynamic && known != dim)
        return std::nullopt;
    }
  } else if (other) {
    shape = other;
  }
  Type element = getElementType(inferred);
  return getTensorType(shape,
                       isUnknown(element) ? getElementType(declared) : element);
}
