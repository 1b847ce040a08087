//===- Expression.cpp - Values that depend on one number
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expression.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include "mlir/IR/BuiltinTypes.h"

#include <limits>

using namespace mlir;
using namespace mpopt;

/// Ops on the way to the variable.
static constexpr unsigned kMostDepth = 8;

static bool isArithmetic(Operation *op) {
  return isa<mp::AddOp, mp::SubOp, mp::MulOp, mp::DivOp>(op);
}

static bool isStep(Operation *op) {
  return isArithmetic(op) || isa<mp::CastOp>(op) ||
         (op->getNumOperands() == 1 && getFunction(op));
}

/// The values of which `value` is an elementwise function, none being a number.
/// False if there are several, or too many steps.
static bool findVariable(Value value, const MaybeShape &shape, unsigned depth,
                         Value &variable) {
  if (getSplatConstant(value))
    return true;
  Operation *op = value.getDefiningOp();
  bool step = op && isStep(op) && depth < kMostDepth &&
              isa<FloatType>(getElementType(value)) && getShape(value) == shape;
  if (step) {
    Value inner = variable;
    bool one = llvm::all_of(op->getOperands(), [&](Value operand) {
      return findVariable(operand, shape, depth + 1, inner);
    });
    if (one) {
      variable = inner;
      return true;
    }
  }
  if (variable && variable != value)
    return false;
  variable = value;
  return getShape(value) == shape;
}

std::optional<Expression> Expression::of(Operation *op) {
  if (!isArithmetic(op))
    return std::nullopt;
  Value result = op->getResult(0);
  MaybeShape shape = getShape(result);
  if (!shape || !isa<FloatType>(getElementType(result)))
    return std::nullopt;
  Value left, right;
  if (!findVariable(op->getOperand(0), shape, 0, left) ||
      !findVariable(op->getOperand(1), shape, 0, right) || !left || !right)
    return std::nullopt;
  // One operand may itself be what the other depends on.
  if (left == right)
    return Expression(op, left);
  for (Value operand : op->getOperands()) {
    unsigned index = operand == op->getOperand(0) ? 1 : 0;
    Value found = operand;
    if (findVariable(op->getOperand(index), shape, 0, found) &&
        found == operand)
      return Expression(op, operand);
  }
  return std::nullopt;
}

double Expression::evaluate(Value value, double x) const {
  if (value == its)
    return x;
  if (std::optional<double> number = getSplatConstant(value))
    return *number;
  Operation *op = value.getDefiningOp();
  return op ? evaluate(op, x) : std::numeric_limits<double>::quiet_NaN();
}

double Expression::evaluate(Operation *op, double x) const {
  if (isa<mp::CastOp>(op))
    return evaluate(op->getOperand(0), x);
  if (std::optional<Unary> unary = getFunction(op))
    return mpopt::evaluate(*unary, evaluate(op->getOperand(0), x));
  double lhs = evaluate(op->getOperand(0), x),
         rhs = evaluate(op->getOperand(1), x);
  if (isa<mp::AddOp>(op))
    return lhs + rhs;
  if (isa<mp::SubOp>(op))
    return lhs - rhs;
  return isa<mp::MulOp>(op) ? lhs * rhs : lhs / rhs;
}
