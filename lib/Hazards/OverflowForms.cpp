//===- OverflowForms.cpp - What kind of overflow it is
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/OverflowSites.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/MaskUse.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Masking.h"

using namespace mlir;
using namespace mpopt;

bool mpopt::isExponential(Operation *op) {
  if (hasRole(op, Role::Exponential))
    return true;
  // A power of a number, b^x; powers of x with a fixed exponent are products.
  return hasRole(op, Role::Power) && !isConstant(op->getOperand(1));
}

/// True if the value is summed, through casts and views.
static bool isSummed(Value value, unsigned depth = 4) {
  for (Operation *user : value.getUsers()) {
    if (hasRole(user, Role::Sum))
      return true;
    if (depth && (isa<mp::CastOp>(user) || isViewLike(user)) &&
        isSummed(user->getResult(0), depth - 1))
      return true;
  }
  return false;
}

static bool isSquareSum(Operation *op) {
  if (hasRole(op, Role::SumOfSquares))
    return true;
  if (hasRole(op, Role::Sum))
    return bool(getSquared(getMaker(op->getOperand(0), Peel::CastsAndViews)));
  return bool(getSquared(op)) && isSummed(op->getResult(0));
}

//===----------------------------------------------------------------------===//
// Attention scores
//===----------------------------------------------------------------------===//

/// True if the op makes operand `index` smaller by a fixed factor.
static bool shrinks(OpOperand &use) {
  Operation *op = use.getOwner();
  if (!hasRole(op, Role::Multiplication | Role::Division))
    return false;
  bool divides = hasRole(op, Role::Division);
  if (divides && use.getOperandNumber() != 0)
    return false;
  std::optional<double> factor =
      getSplatConstant(op->getOperand(1 - use.getOperandNumber()));
  return factor && (divides ? std::fabs(*factor) > 1 : std::fabs(*factor) < 1);
}

/// A product of two activations on its way to a softmax.
static bool isScore(Value value) {
  Operation *op = value.getDefiningOp();
  return hasRole(op, Role::Contraction) && !hasRole(op, Role::Weighted) &&
         op->getNumOperands() == 2 && !isConstant(op->getOperand(0)) &&
         !isConstant(op->getOperand(1)) && reachesSoftmax(value);
}

Operation *mpopt::findScale(Value scores) {
  Operation *scale = nullptr;
  reachesSoftmax(scores, [&](OpOperand &use) {
    if (shrinks(use))
      scale = use.getOwner();
  });
  return scale;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

void mpopt::findMasks(Value value, double least,
                      llvm::SetVector<Operation *> &masks, unsigned depth) {
  Operation *op = getMaker(value, Peel::CastsAndViews);
  if (!op || depth == 0)
    return;
  if (isa<mp::ConstantOp>(op)) {
    std::optional<double> number = getSplatConstant(op->getResult(0));
    if (!number || -*number >= least)
      masks.insert(op);
    return;
  }
  if (hasRole(op, Role::Addition | Role::Subtraction | Role::Multiplication |
                      Role::Negation | Role::Select | Role::Limit))
    for (Value inner : op->getOperands())
      if (isa<FloatType>(getElementType(inner)))
        findMasks(inner, least, masks, depth - 1);
}

bool mpopt::holdsMask(Value value, double least, unsigned depth) {
  Operation *op = getMaker(value, Peel::CastsAndViews);
  if (!op || depth == 0)
    return false;
  if (std::optional<double> number = getSplatConstant(value))
    return std::isfinite(*number) && -*number >= least;
  return hasRole(op, Role::Multiplication | Role::Subtraction | Role::Select |
                         Role::Negation) &&
         llvm::any_of(op->getOperands(), [&](Value inner) {
           return isa<FloatType>(getElementType(inner)) &&
                  holdsMask(inner, least, depth - 1);
         });
}

/// True if the op overflows because of a mask.
static bool isMasked(Value value, const RangeAnalysis &ranges) {
  Operation *op = value.getDefiningOp();
  if (!hasRole(op, Role::Addition | Role::Subtraction | Role::Multiplication |
                       Role::Select))
    return false;
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  for (OpOperand &use : op->getOpOperands()) {
    Value operand = use.get();
    // A flag times a huge negative number, however far the softmax is.
    if (hasRole(op, Role::Multiplication)) {
      Cell flag = ranges.of(op->getOperand(1 - use.getOperandNumber())).hull();
      std::optional<double> number = getSplatConstant(operand);
      if (number && -*number >= format.overflowFrom && flag.lo >= 0 &&
          flag.hi <= 1)
        return true;
    }
    if (!isa<FloatType>(getElementType(operand)))
      continue;
    // A number half as large as the dtype allows is no weight.
    if (holdsMask(operand, largestMask(format)) && reachesSoftmax(use))
      return true;
  }
  return false;
}

OverflowForm mpopt::classifyOverflow(Value value, const RangeAnalysis &ranges) {
  Operation *op = value.getDefiningOp();
  if (isExponential(op))
    return OverflowForm::Exponential;
  if (isa<mp::CastOp>(op))
    return isa<FloatType>(getElementType(op->getOperand(0)))
               ? OverflowForm::Narrowing
               : OverflowForm::General;
  if (isMasked(value, ranges))
    return OverflowForm::Mask;
  if (isSquareSum(op))
    return OverflowForm::SquareSum;
  return isScore(value) ? OverflowForm::Attention : OverflowForm::General;
}
