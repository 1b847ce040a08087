//===- TypeJoin.cpp - Types of values that meet ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/TypeJoin.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/TypeSupport.h"

using namespace mlir;
using namespace mpopt;

/// Float types meet in the wider one, as a precision policy works op by op.
/// Only the run tells if it is a float or an integer.
static Type joinElements(Type lhs, Type rhs) {
  if (lhs == rhs || isUnknown(lhs) || isUnknown(rhs) ||
      (isa<FloatType>(lhs) && isa<FloatType>(rhs)))
    return promoteElementTypes(lhs, rhs);
  return mp::UnknownType::get(lhs.getContext());
}

Type mpopt::joinTypes(Type lhs, Type rhs) {
  if (lhs == rhs)
    return lhs;
  Type unknown = getUnknownTensor(lhs.getContext());
  if (lhs == unknown && !isa<TensorType>(rhs))
    return rhs;
  if (rhs == unknown && !isa<TensorType>(lhs))
    return lhs;
  if (isa<TensorType>(lhs) && isa<TensorType>(rhs)) {
    MaybeShape shape = getShape(lhs), other = getShape(rhs);
    if (!shape || !other || shape->size() != other->size()) {
      shape.reset();
    } else {
      for (auto [dim, otherDim] : llvm::zip(*shape, *other))
        if (dim != otherDim)
          dim = kDynamic;
    }
    return getTensorType(
        shape, joinElements(getElementType(lhs), getElementType(rhs)));
  }
  if (auto sequence = dyn_cast<mp::SequenceType>(lhs))
    if (auto other = dyn_cast<mp::SequenceType>(rhs))
      return mp::SequenceType::get(
          lhs.getContext(),
          joinTypes(sequence.getElementType(), other.getElementType()));
  if (auto optional = dyn_cast<mp::OptionalType>(lhs))
    if (auto other = dyn_cast<mp::OptionalType>(rhs))
      return mp::OptionalType::get(
          lhs.getContext(),
          joinTypes(optional.getElementType(), other.getElementType()));
  // A value meets one that may be missing.
  for (auto [maybe, value] : {std::pair(lhs, rhs), std::pair(rhs, lhs)})
    if (auto optional = dyn_cast<mp::OptionalType>(maybe))
      return mp::OptionalType::get(lhs.getContext(),
                                   joinTypes(optional.getElementType(), value));
  return unknown;
}

Type mpopt::forgetShape(Type type) {
  if (auto tensor = dyn_cast<TensorType>(type))
    return getTensorType(std::nullopt, tensor.getElementType());
  if (auto sequence = dyn_cast<mp::SequenceType>(type))
    return mp::SequenceType::get(type.getContext(),
                                 forgetShape(sequence.getElementType()));
  if (auto optional = dyn_cast<mp::OptionalType>(type))
    return mp::OptionalType::get(type.getContext(),
                                 forgetShape(optional.getElementType()));
  return type;
}
