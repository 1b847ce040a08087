//===- Match.cpp - Patterns that several stages look for ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Match.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/StorageFormat.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// The source of a value
//===----------------------------------------------------------------------===//

static const FloatFormat *formatOf(Value value) {
  return getFloatFormat(getElementType(value));
}

/// True if every value of the cast's source is a value of its result.
static bool isLossless(mp::CastOp cast) {
  const FloatFormat *from = formatOf(cast.getInput());
  const FloatFormat *to = formatOf(cast.getResult());
  return from && to &&
         (from == to || (StorageFormat(*to).holds(*from) &&
                         (to->hasInf || !from->hasInf) && to->hasZero));
}

/// True if the cast is between floats and rounds to nearest.
static bool isFloatCast(mp::CastOp cast) {
  return formatOf(cast.getInput()) && formatOf(cast.getResult()) &&
         !cast.getSaturate() && !cast.getRoundMode();
}

static bool isPeeled(mp::CastOp cast, Peel through) {
  return contains(through, Peel::AllCasts) ||
         (contains(through, Peel::FloatCasts) && isFloatCast(cast)) ||
         (contains(through, Peel::LosslessCasts) && isLossless(cast)) ||
         (contains(through, Peel::InsertedCasts) && isInserted(cast)) ||
         (contains(through, Peel::PromotionCasts) &&
          cast.getOrigin() == mp::CastOrigin::Promotion);
}

Value mpopt::peel(Value value, Peel through,
                  llvm::function_ref<void(mp::CastOp)> onCast) {
  for (unsigned passed = 0; passed < kMostPeeled; ++passed) {
    Operation *op = value.getDefiningOp();
    if (!op)
      break;
    if (auto cast = dyn_cast<mp::CastOp>(op)) {
      if (!isPeeled(cast, through))
        break;
      if (onCast)
        onCast(cast);
    } else if (isa<mp::IdentityOp>(op)) {
      if (!contains(through, Peel::Identities | Peel::Views))
        break;
    } else if (!contains(through, Peel::Views) || !isViewLike(op)) {
      break;
    }
    value = op->getOperand(0);
  }
  return value;
}

Operation *mpopt::getMaker(Value value, Peel through) {
  return peel(value, through).getDefiningOp();
}

bool mpopt::isSameBehind(Value lhs, Value rhs, Peel through) {
  return peel(lhs, through) == peel(rhs, through);
}

bool mpopt::isConstant(Value value) {
  return isa_and_present<mp::ConstantOp>(getMaker(value, Peel::CastsAndViews));
}

bool mpopt::isInserted(Operation *op) {
  auto cast = dyn_cast_or_null<mp::CastOp>(op);
  return cast && cast.getOrigin() != mp::CastOrigin::Model;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static bool isNumber(Value value, double expected,
                     const Strictness &strictness) {
  return (strictness.number ? strictness.number(value)
                            : getSplatConstant(value)) == expected;
}

Value mpopt::getSquared(Operation *op, Strictness strictness) {
  if (!op)
    return {};
  if (isa<mp::SquareOp>(op))
    return op->getOperand(0);
  if (isa<mp::PowOp>(op))
    return isNumber(op->getOperand(1), 2, strictness) ? op->getOperand(0)
                                                      : Value();
  if (!isa<mp::MulOp>(op))
    return {};
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  bool same =
      strictness.same ? strictness.same(lhs, rhs) : isSameBehind(lhs, rhs);
  return same ? lhs : Value();
}

Value mpopt::getInverted(Operation *op, Strictness strictness) {
  if (!op)
    return {};
  if (isa<mp::ReciprocalOp>(op))
    return op->getOperand(0);
  if (isa<mp::PowOp>(op) && isNumber(op->getOperand(1), -1, strictness))
    return op->getOperand(0);
  if (isa<mp::DivOp>(op) && isNumber(op->getOperand(0), 1, strictness))
    return op->getOperand(1);
  return {};
}

std::optional<std::pair<Value, double>> mpopt::splitNumber(Operation *op) {
  for (unsigned index : {1u, 0u})
    if (std::optional<double> number = getSplatConstant(op->getOperand(index)))
      return std::make_pair(op->getOperand(1 - index), *number);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

std::optional<SmallVector<int64_t, 4>>
mpopt::getReducedAxes(Operation *reduction, const ShapeFacts &shapes) {
  MaybeShape shape = getShape(reduction->getOperand(0));
  if (!shape)
    return std::nullopt;
  int64_t rank = shape->size();
  SmallVector<int64_t, 4> axes;
  if (reduction->getNumOperands() > 1) {
    std::optional<SmallVector<int64_t>> known =
        shapes.constants(reduction->getOperand(1));
    if (!known)
      return std::nullopt;
    axes.assign(known->begin(), known->end());
  } else if (auto attribute =
                 reduction->getAttrOfType<DenseI64ArrayAttr>("axes")) {
    axes.assign(attribute.asArrayRef().begin(), attribute.asArrayRef().end());
  }
  if (axes.empty())
    axes = llvm::to_vector<4>(llvm::seq<int64_t>(0, rank));
  for (int64_t &axis : axes) {
    std::optional<int64_t> fromFront = normalizeAxis(axis, rank);
    if (!fromFront)
      return std::nullopt;
    axis = *fromFront;
  }
  llvm::sort(axes);
  axes.erase(llvm::unique(axes), axes.end());
  return axes;
}
