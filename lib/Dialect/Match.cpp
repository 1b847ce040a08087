//===- Match.cpp - Patterns that several stages look for ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Match.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Roles.h"
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

static bool areSame(Value lhs, Value rhs, const Strictness &strictness) {
  return strictness.same ? strictness.same(lhs, rhs) : isSameBehind(lhs, rhs);
}

/// True for constants of one shape that hold the same bytes.
static bool haveSameBytes(Value lhs, Value rhs) {
  auto left = getMaker<mp::ConstantOp>(lhs),
       right = getMaker<mp::ConstantOp>(rhs);
  if (!left || !right || lhs.getType() != rhs.getType())
    return false;
  std::optional<ConstantBytes> bytes = getConstantBytes(left),
                               others = getConstantBytes(right);
  return bytes && others && bytes->splat == others->splat &&
         bytes->data == others->data;
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
  return areSame(lhs, rhs, strictness) ? lhs : Value();
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

/// True if both take means of their operand 0 over the same elements with the
/// same weights.
static bool areMeansAlike(Operation *lhs, Operation *rhs,
                          const Strictness &strictness) {
  if (hasRole(lhs, Role::Reduction) && hasRole(rhs, Role::Reduction))
    return getReducedAxes(lhs, ShapeFacts()) ==
           getReducedAxes(rhs, ShapeFacts());
  return lhs->getName() == rhs->getName() &&
         lhs->getNumOperands() == rhs->getNumOperands() &&
         llvm::all_of(llvm::zip(lhs->getOperands().drop_front(),
                                rhs->getOperands().drop_front()),
                      [&](auto pair) {
                        auto [left, right] = pair;
                        return areSame(left, right, strictness) ||
                               haveSameBytes(left, right);
                      });
}

std::optional<CentralMoment>
mpopt::findCentralMoment(Operation *difference, Strictness strictness,
                         llvm::function_ref<Operation *(Value)> getMean) {
  Operation *mean = getMean(difference->getOperand(0));
  if (!mean)
    return std::nullopt;
  auto through = Peel::CastsAndViews;
  auto factorsOf = [&](Value value) -> std::pair<Value, Value> {
    Operation *op = getMaker(value, through);
    if (Value squared = getSquared(op, strictness))
      return {squared, squared};
    return isa_and_nonnull<mp::MulOp>(op)
               ? std::pair(op->getOperand(0), op->getOperand(1))
               : std::pair(Value(), Value());
  };
  auto [x, y] = factorsOf(mean->getOperand(0));
  auto [first, second] = factorsOf(difference->getOperand(1));
  Operation *means[] = {first ? getMean(first) : nullptr,
                        second ? getMean(second) : nullptr};
  if (!x || !means[0] || !means[1] ||
      !areMeansAlike(mean, means[0], strictness) ||
      !areMeansAlike(mean, means[1], strictness))
    return std::nullopt;
  Value lhs = means[0]->getOperand(0), rhs = means[1]->getOperand(0);
  bool inOrder = areSame(x, lhs, strictness) && areSame(y, rhs, strictness);
  if (!inOrder && !(areSame(x, rhs, strictness) && areSame(y, lhs, strictness)))
    return std::nullopt;
  return CentralMoment{mean, lhs, rhs};
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
