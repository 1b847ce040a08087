//===- Expression.cpp - Values that depend on one number
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/Expression.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/EstimateMath.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include "mlir/IR/BuiltinTypes.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Ops on the way to the variable.
static constexpr unsigned kMostDepth = 8;

static bool isArithmetic(Operation *op) {
  return isa<mp::AddOp, mp::SubOp, mp::MulOp, mp::DivOp, mp::PowOp>(op);
}

static bool isStep(Operation *op) {
  return isArithmetic(op) || isa<mp::CastOp, mp::ClipOp>(op) ||
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
  auto makeOf = [&](Value variable) {
    Expression expression(variable);
    Step last = expression.makeStep(op);
    expression.steps.push_back(last);
    return expression;
  };
  // One operand may itself be what the other depends on.
  if (left == right)
    return makeOf(left);
  for (Value operand : op->getOperands()) {
    unsigned index = operand == op->getOperand(0) ? 1 : 0;
    Value found = operand;
    if (findVariable(op->getOperand(index), shape, 0, found) &&
        found == operand)
      return makeOf(operand);
  }
  return std::nullopt;
}

std::optional<Expression> Expression::ofValue(Value value) {
  MaybeShape shape = getShape(value);
  Value variable;
  if (!shape || !findVariable(value, shape, 0, variable) || !variable ||
      variable == value)
    return std::nullopt;
  Expression expression(variable);
  expression.add(value);
  return expression;
}

Expression::Step Expression::makeStep(Operation *op) {
  if (isa<mp::CastOp>(op))
    return steps[add(op->getOperand(0))];
  Step step{Kind::Function};
  if (auto clip = dyn_cast<mp::ClipOp>(op)) {
    step.kind = Kind::Clip;
    Step none{Kind::Number};
    none.number = kInfinity;
    step.operands[0] = add(clip.getInput());
    for (auto [index, limit] :
         {std::pair(1u, clip.getMin()), std::pair(2u, clip.getMax())}) {
      if (limit) {
        step.operands[index] = add(limit);
        continue;
      }
      step.operands[index] = steps.size();
      steps.push_back(none);
      steps.back().number *= index == 1 ? -1 : 1;
    }
    return step;
  }
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    step.operands[index] = add(op->getOperand(index));
  if (std::optional<Unary> unary = getFunction(op)) {
    step.unary = *unary;
    return step;
  }
  step.kind = isa<mp::AddOp>(op)   ? Kind::Add
              : isa<mp::SubOp>(op) ? Kind::Sub
              : isa<mp::MulOp>(op) ? Kind::Mul
              : isa<mp::DivOp>(op) ? Kind::Div
                                   : Kind::Pow;
  return step;
}

unsigned Expression::add(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Step step{Kind::Variable};
  if (value == its) {
  } else if (std::optional<double> number = getSplatConstant(value)) {
    step.kind = Kind::Number;
    step.number = *number;
  } else {
    step = makeStep(value.getDefiningOp());
  }
  known[value] = steps.size();
  steps.push_back(step);
  return steps.size() - 1;
}

void Expression::evaluate(llvm::ArrayRef<double> points,
                          llvm::MutableArrayRef<double> results) const {
  // A row of numbers for each step, one after another: loops over rows are
  // vector code.
  size_t count = points.size();
  llvm::SmallVector<double, 512> rows;
  rows.resize_for_overwrite(steps.size() * count);
  for (auto [index, step] : llvm::enumerate(steps)) {
    double *out = rows.data() + index * count;
    auto row = [&](unsigned operand) {
      return rows.data() + step.operands[operand] * count;
    };
    auto each = [&](auto function) {
      const double *a = row(0), *b = row(1);
      for (size_t i = 0; i < count; ++i)
        out[i] = function(a[i], b[i]);
    };
    switch (step.kind) {
    case Kind::Variable:
      llvm::copy(points, out);
      break;
    case Kind::Number:
      std::fill_n(out, count, step.number);
      break;
    case Kind::Function:
      each([&](double x, double) { return mpopt::evaluate(step.unary, x); });
      break;
    case Kind::Add:
      each([](double x, double y) { return x + y; });
      break;
    case Kind::Sub:
      each([](double x, double y) { return x - y; });
      break;
    case Kind::Mul:
      each([](double x, double y) { return x * y; });
      break;
    case Kind::Div:
      each([](double x, double y) { return x / y; });
      break;
    case Kind::Pow:
      each(raise);
      break;
    case Kind::Clip: {
      const double *x = row(0), *least = row(1), *most = row(2);
      for (size_t i = 0; i < count; ++i)
        out[i] = std::min(std::max(x[i], least[i]), most[i]);
      break;
    }
    }
  }
  llvm::copy(llvm::ArrayRef(rows).take_back(count), results.begin());
}

double Expression::evaluate(double x) const {
  double result;
  evaluate(x, result);
  return result;
}
