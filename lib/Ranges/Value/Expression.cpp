//===- Expression.cpp - Values that depend on one number
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/Expression.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Numerics/EstimateMath.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <functional>

using namespace mlir;
using namespace mpopt;

/// Ops on the way to the variable.
static constexpr unsigned kMostDepth = 8;

/// The numbers that a pair quantises whose codes nothing else makes; null for
/// other ops.
static Value getQuantized(Operation *op) {
  if (auto fake = dyn_cast<mp::FakeQuantizeOp>(op))
    return fake.getInput();
  auto numbers = dyn_cast<mp::DequantizeOp>(op);
  auto codes = numbers ? numbers.getInput().getDefiningOp<mp::QuantizeOp>()
                       : mp::QuantizeOp();
  return codes && codes.getScale() == numbers.getScale() &&
                 codes.getZeroPoint() == numbers.getZeroPoint()
             ? codes.getInput()
             : Value();
}

/// The numbers within which a pair clips, where one scale is known.
static std::optional<Interval> endsOf(Operation *op) {
  auto ends = [](auto quantize) -> std::optional<Interval> {
    auto format = storageFormatOf(quantize);
    std::optional<double> scale = getSplatConstant(quantize.getScale());
    std::optional<double> zero = quantize.getZeroPoint()
                                     ? getSplatConstant(quantize.getZeroPoint())
                                     : std::optional(0.0);
    if (!format || !scale || !zero || !(*scale > 0))
      return std::nullopt;
    return format->scaled(*scale, *zero).ends();
  };
  if (auto fake = dyn_cast<mp::FakeQuantizeOp>(op))
    return ends(fake);
  return ends(op->getOperand(0).getDefiningOp<mp::QuantizeOp>());
}

/// The step that an op of one result and several operands is.
std::optional<Expression::Kind> Expression::kindOf(Operation *op) {
  using Result = std::optional<Kind>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<mp::AddOp>([](auto) { return Kind::Add; })
      .Case<mp::SubOp>([](auto) { return Kind::Sub; })
      .Case<mp::MulOp>([](auto) { return Kind::Mul; })
      .Case<mp::DivOp>([](auto) { return Kind::Div; })
      .Case<mp::PowOp>([](auto) { return Kind::Pow; })
      .Case<mp::MaxOp>([](auto) { return Kind::Max; })
      .Case<mp::MinOp>([](auto) { return Kind::Min; })
      .Case<mp::GreaterOp>([](auto) { return Kind::Greater; })
      .Case<mp::GreaterEqualOp>([](auto) { return Kind::GreaterEqual; })
      .Case<mp::LessOp>([](auto) { return Kind::Less; })
      .Case<mp::LessEqualOp>([](auto) { return Kind::LessEqual; })
      .Case<mp::WhereOp>([](auto) { return Kind::Where; })
      .Default(std::nullopt);
}

bool Expression::isStep(Operation *op) {
  std::optional<Kind> kind = kindOf(op);
  if (kind)
    return *kind == Kind::Where ? op->getNumOperands() == 3
                                : op->getNumOperands() == 2;
  return isa<mp::CastOp, mp::ClipOp>(op) || getQuantized(op) ||
         (op->getNumOperands() == 1 && getFunction(op));
}

/// The values of which the step is a function. A pair is no step of its own:
/// quantisers put one between any two ops.
static std::pair<SmallVector<Value, 3>, unsigned> getArguments(Operation *op) {
  if (Value numbers = getQuantized(op))
    return {{numbers}, 0};
  return {SmallVector<Value, 3>(op->getOperands()), 1};
}

/// The values of which `value` is an elementwise function, none being a number.
/// False if there are several, or too many steps.
bool Expression::findVariable(Value value, const MaybeShape &shape,
                              unsigned depth, Value &variable) {
  if (getSplatConstant(value))
    return true;
  Operation *op = value.getDefiningOp();
  bool step = op && isStep(op) && depth < kMostDepth &&
              op->getNumResults() == 1 && getShape(value) == shape &&
              (isa<FloatType>(getElementType(value)) || kindOf(op));
  if (step) {
    Value inner = variable;
    auto [arguments, steps] = getArguments(op);
    bool one = llvm::all_of(arguments, [&, steps = steps](Value argument) {
      return findVariable(argument, shape, depth + steps, inner);
    });
    if (!one && !variable)
      inner = findDominator(arguments, shape);
    if (one || (!variable && inner)) {
      variable = inner;
      return true;
    }
  }
  if (variable && variable != value)
    return false;
  variable = value;
  return getShape(value) == shape;
}

bool Expression::dependsOnlyOn(Value variable, Value value,
                               const MaybeShape &shape) {
  Value found = variable;
  return findVariable(value, shape, 0, found) && found == variable;
}

Expression Expression::ofStep(Operation *op, Value variable) {
  Expression expression(variable);
  Step last = expression.makeStep(op);
  expression.steps.push_back(last);
  return expression;
}

std::optional<Expression> Expression::of(Operation *op) {
  if (op->getNumOperands() < 2 || !kindOf(op) || !isStep(op))
    return std::nullopt;
  Value result = op->getResult(0);
  MaybeShape shape = getShape(result);
  if (!shape || !isa<FloatType>(getElementType(result)))
    return std::nullopt;
  SmallVector<Value, 4> depending, variables;
  for (Value operand : op->getOperands()) {
    Value variable;
    if (!findVariable(operand, shape, 0, variable))
      return std::nullopt;
    if (variable) {
      depending.push_back(operand);
      variables.push_back(variable);
    }
  }
  // A choice between a value and a number is a truncation, which has a closed
  // form.
  bool chooses = isa<mp::WhereOp>(op);
  if (variables.size() < (chooses ? 3 : 2))
    return std::nullopt;
  Value common = llvm::all_equal(variables) ? variables.front()
                                            : findDominator(depending, shape);
  return common ? std::optional(ofStep(op, common)) : std::nullopt;
}

/// The one of the values of which the others are functions, too; null if there
/// is none. Paths of different lengths may end at different variables.
Value Expression::findDominator(ArrayRef<Value> values,
                                const MaybeShape &shape) {
  for (Value candidate : values)
    if (!getSplatConstant(candidate) && llvm::all_of(values, [&](Value value) {
          return dependsOnlyOn(candidate, value, shape);
        }))
      return candidate;
  return {};
}

std::optional<Expression> Expression::ofProduct(ArrayRef<Factor> factors,
                                                const MaybeShape &shape) {
  Value variable;
  SmallVector<Value, 4> values;
  for (const Factor &factor : factors)
    if (factor.of && !getSplatConstant(factor.of))
      values.push_back(factor.of);
  bool isOne = llvm::all_of(values, [&](Value value) {
    return findVariable(value, shape, 0, variable);
  });
  if (!isOne)
    variable = findDominator(values, shape);
  if (!variable)
    return std::nullopt;
  Expression expression(variable);
  unsigned product = expression.addNumber(1);
  for (const Factor &factor : factors) {
    Step step{factor.kind == Factor::Kind::Over ? Kind::Div : Kind::Mul};
    step.operands[0] = product;
    step.operands[1] = expression.addFactor(factor);
    product = expression.steps.size();
    expression.steps.push_back(step);
  }
  return expression;
}

/// The factor itself, of which a quotient takes the reciprocal.
unsigned Expression::addFactor(const Factor &factor) {
  if (factor.kind == Factor::Kind::Minus)
    return addNumber(-1);
  unsigned value = add(factor.of);
  Step step{Kind::Slope};
  step.operands[0] = value;
  switch (factor.kind) {
  case Factor::Kind::Minus:
  case Factor::Kind::Times:
  case Factor::Kind::Over:
    return value;
  case Factor::Kind::Slope:
    step.unary = factor.unary;
    break;
  case Factor::Kind::If:
  case Factor::Kind::Unless:
    step.kind = Kind::Where;
    step.operands[1] = addNumber(factor.kind == Factor::Kind::If);
    step.operands[2] = addNumber(factor.kind == Factor::Kind::Unless);
    break;
  }
  steps.push_back(step);
  return steps.size() - 1;
}

std::optional<Expression> Expression::ofValue(Value value, Value variable) {
  MaybeShape shape = getShape(variable ? variable : value);
  bool isFound = shape && (variable ? dependsOnlyOn(variable, value, shape)
                                    : findVariable(value, shape, 0, variable) &&
                                          variable && variable != value);
  if (!isFound)
    return std::nullopt;
  Expression expression(variable);
  expression.add(value);
  return expression;
}

std::optional<Expression> Expression::ofOperand(Operation *op, Value operand) {
  MaybeShape shape = getShape(operand);
  if (op->getNumResults() != 1 || !shape ||
      !isa<FloatType>(getElementType(op->getResult(0))))
    return std::nullopt;
  auto dependsOnIt = [&](Value value) {
    return dependsOnlyOn(operand, value, shape);
  };
  auto where = dyn_cast<mp::WhereOp>(op);
  bool copies =
      (op->getOperand(0) == operand &&
       (isa<mp::IdentityOp>(op) || hasRole(op, Role::Rearranges))) ||
      (where && !dependsOnIt(where.getCondition()) &&
       ((where.getLhs() == operand && getSplatConstant(where.getRhs())) ||
        (where.getRhs() == operand && getSplatConstant(where.getLhs()))));
  if (copies) {
    Expression expression(operand);
    expression.add(operand);
    return expression;
  }
  if (!isStep(op) || getShape(op->getResult(0)) != shape || getQuantized(op) ||
      !llvm::all_of(op->getOperands(), dependsOnIt))
    return std::nullopt;
  return ofStep(op, operand);
}

Expression Expression::reciprocal(Value x) {
  Expression expression(x);
  Step step{Kind::Div};
  step.operands[0] = expression.addNumber(1);
  step.operands[1] = expression.add(x);
  expression.steps.push_back(step);
  return expression;
}

Expression::Step Expression::makeStep(Operation *op) {
  Step step{Kind::Function};
  // A step of its own, as the cast rounds: max(x, x) is x.
  if (auto cast = dyn_cast<mp::CastOp>(op)) {
    // Past the largest code the result stays where it is.
    roundsToCodes |= cast.getSaturate();
    step.kind = Kind::Max;
    step.operands[0] = step.operands[1] = add(op->getOperand(0));
    return step;
  }
  if (Value numbers = getQuantized(op)) {
    roundsToCodes = true;
    unsigned inner = add(numbers);
    std::optional<Interval> ends = endsOf(op);
    if (!ends)
      return steps[inner];
    step.kind = Kind::Clip;
    step.operands[0] = inner;
    step.operands[1] = addNumber(ends->lo);
    step.operands[2] = addNumber(ends->hi);
    return step;
  }
  if (auto clip = dyn_cast<mp::ClipOp>(op)) {
    step.kind = Kind::Clip;
    step.operands[0] = add(clip.getInput());
    step.operands[1] =
        clip.getMin() ? add(clip.getMin()) : addNumber(-kInfinity);
    step.operands[2] =
        clip.getMax() ? add(clip.getMax()) : addNumber(kInfinity);
    return step;
  }
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    step.operands[index] = add(op->getOperand(index));
  if (std::optional<Kind> kind = kindOf(op))
    step.kind = *kind;
  else
    step.unary = *getFunction(op);
  return step;
}

unsigned Expression::addNumber(double number) {
  Step step{Kind::Number};
  step.number = number;
  steps.push_back(step);
  return steps.size() - 1;
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
  step.format = getFloatFormat(getElementType(value));
  known[value] = steps.size();
  steps.push_back(step);
  return steps.size() - 1;
}

/// Loops over rows are vector code.
void Expression::combine(Kind kind, const double *lhs, const double *rhs,
                         double *out, size_t count) {
  auto each = [&](auto function) {
    for (size_t i = 0; i < count; ++i)
      out[i] = function(lhs[i], rhs[i]);
  };
  switch (kind) {
  case Kind::Add:
    return each([](double x, double y) { return x + y; });
  case Kind::Sub:
    return each([](double x, double y) { return x - y; });
  case Kind::Mul:
    return each([](double x, double y) { return x * y; });
  case Kind::Div:
    return each([](double x, double y) { return x / y; });
  case Kind::Pow:
    return each(raise);
  case Kind::Max:
    return each([](double x, double y) { return std::max(x, y); });
  case Kind::Min:
    return each([](double x, double y) { return std::min(x, y); });
  case Kind::Greater:
    return each(std::greater<double>());
  case Kind::GreaterEqual:
    return each(std::greater_equal<double>());
  case Kind::Less:
    return each(std::less<double>());
  case Kind::LessEqual:
    return each(std::less_equal<double>());
  default:
    llvm_unreachable("no combination of two numbers");
  }
}

void Expression::evaluate(llvm::ArrayRef<double> points,
                          llvm::MutableArrayRef<double> results,
                          bool asStored) const {
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
    case Kind::Slope:
      each([&](double x, double) { return derivative(step.unary, x); });
      break;
    case Kind::Where: {
      const double *test = row(0), *x = row(1), *other = row(2);
      for (size_t i = 0; i < count; ++i)
        out[i] = test[i] != 0 ? x[i] : other[i];
      break;
    }
    case Kind::Clip: {
      const double *x = row(0), *least = row(1), *most = row(2);
      for (size_t i = 0; i < count; ++i)
        out[i] = std::min(std::max(x[i], least[i]), most[i]);
      break;
    }
    default:
      combine(step.kind, row(0), row(1), out, count);
    }
    if (asStored && step.format)
      for (size_t i = 0; i < count; ++i)
        out[i] = step.format->round(out[i]);
  }
  llvm::copy(llvm::ArrayRef(rows).take_back(count), results.begin());
}

double Expression::stepNear(double x, double deviation) {
  // Near the cube root of a double's unit roundoff, where the errors of a
  // central difference and of its digits are alike.
  constexpr double kNear = 1e-5;
  return kNear * (x == 0 ? deviation : std::fabs(x));
}

double Expression::slope(double x, double deviation) const {
  double step = stepNear(x, deviation);
  return step > 0 ? (evaluate(x + step) - evaluate(x - step)) / (2 * step) : 0;
}

double Expression::evaluate(double x) const {
  double result;
  evaluate(x, result);
  return result;
}
