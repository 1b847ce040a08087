//===- Casts.cpp - Casts that a precision brings
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Casts.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

Type mpopt::withElementType(Type type, Type elementType) {
  if (auto tensor = dyn_cast<TensorType>(type))
    return tensor.clone(elementType);
  if (auto sequence = dyn_cast<SequenceType>(type))
    return SequenceType::get(
        type.getContext(),
        withElementType(sequence.getElementType(), elementType));
  if (auto optional = dyn_cast<OptionalType>(type))
    return OptionalType::get(
        type.getContext(),
        withElementType(optional.getElementType(), elementType));
  return type;
}

Value CastInserter::get(Value value, Type elementType, CastOrigin origin) {
  if (getElementType(value) == elementType)
    return value;
  Key key(value, elementType, static_cast<unsigned>(origin));
  CastOp &cast = casts[key];
  if (cast)
    return cast.getResult();
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  cast = CastOp::create(
      builder, value.getLoc(), withElementType(value.getType(), elementType),
      value, origin, /*saturate=*/false, /*round_mode=*/StringAttr());
  keys[cast] = key;
  return cast.getResult();
}

void CastInserter::castOperand(OpOperand &operand, Type elementType,
                               CastOrigin origin) {
  operand.set(get(operand.get(), elementType, origin));
}

void CastInserter::forget(CastOp cast) {
  casts.erase(keys.lookup(cast));
  keys.erase(cast);
}

void CastInserter::undo(Operation *root) {
  SmallVector<CastOp> inserted;
  root->walk([&](CastOp cast) {
    if (owns(cast))
      inserted.push_back(cast);
  });
  for (CastOp cast : inserted) {
    forget(cast);
    cast.replaceAllUsesWith(cast.getInput());
    cast.erase();
  }
}

void CastInserter::eraseUnused() {
  // A cast of a cast comes later: last first.
  SmallVector<CastOp> inserted;
  for (auto &[operation, key] : keys)
    inserted.push_back(cast<CastOp>(operation));
  bool changed = true;
  while (changed) {
    changed = false;
    llvm::erase_if(inserted, [&](CastOp cast) {
      if (!cast.use_empty())
        return false;
      forget(cast);
      cast.erase();
      return changed = true;
    });
  }
}
