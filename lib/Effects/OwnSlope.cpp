//===- OwnSlope.cpp - Errors as large as the slope is small
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OwnSlope.h"

#include "mpopt/Propagate/MeanSquare.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

/// Ops that are looked through.
static constexpr unsigned kMostSteps = 8;
/// Groups of a tensor that are told apart.
static constexpr size_t kMostGroups = 64;

static double countElements(Value value) {
  MaybeShape shape = getShape(value);
  if (!shape)
    return NAN;
  double count = 1;
  for (int64_t dim : *shape)
    count *= double(dim);
  return count;
}

/// The condition as a function of x; null unless it compares x with a number.
static std::function<bool(double)> testOf(Value condition, Value x) {
  Operation *op = condition.getDefiningOp();
  if (!op || op->getNumOperands() != 2)
    return nullptr;
  bool first = op->getOperand(0) == x;
  std::optional<double> number = getSplatConstant(op->getOperand(first));
  if (!number || op->getOperand(!first) != x)
    return nullptr;
  auto with = [number = *number, first](auto holds) {
    return [=](double at) {
      return first ? holds(at, number) : holds(number, at);
    };
  };
  if (isa<mp::GreaterOp>(op))
    return with(std::greater<double>());
  if (isa<mp::GreaterEqualOp>(op))
    return with(std::greater_equal<double>());
  if (isa<mp::LessOp>(op))
    return with(std::less<double>());
  if (isa<mp::LessEqualOp>(op))
    return with(std::less_equal<double>());
  return nullptr;
}

/// x where it is chosen, and a number elsewhere. Of a condition that does not
/// depend on x it is taken to be chosen everywhere.
static std::function<double(double)> choiceOf(mp::WhereOp op, Value x) {
  bool first = op.getLhs() == x;
  std::optional<double> number =
      getSplatConstant(first ? op.getRhs() : op.getLhs());
  if (!number || (first ? op.getLhs() : op.getRhs()) != x)
    return nullptr;
  std::function<bool(double)> test = testOf(op.getCondition(), x);
  return [=, number = *number](double at) {
    return !test || test(at) == first ? at : number;
  };
}

/// The result as a function of `operand`; nothing if it is none.
std::optional<OwnSlope::Step> OwnSlope::stepOf(Operation *op, Value operand) {
  if (op->getNumResults() != 1 ||
      !isa<FloatType>(getElementType(op->getResult(0))) ||
      countElements(op->getResult(0)) != countElements(operand))
    return std::nullopt;
  if (getSquared(op) == operand)
    return [](double x) { return x * x; };
  if (op->getOperand(0) == operand &&
      (isa<mp::CastOp, mp::IdentityOp>(op) || hasRole(op, Role::Rearranges)))
    return [](double x) { return x; };
  if (op->getNumOperands() == 1) {
    std::optional<Unary> unary = getFunction(op);
    if (!unary)
      return std::nullopt;
    return [unary = *unary](double x) { return evaluate(unary, x); };
  }
  if (auto where = dyn_cast<mp::WhereOp>(op)) {
    Step choice = choiceOf(where, operand);
    return choice ? std::optional<Step>(choice) : std::nullopt;
  }
  if (auto clip = dyn_cast<mp::ClipOp>(op)) {
    double ends[] = {-kInfinity, kInfinity};
    Value limits[] = {clip.getMin(), clip.getMax()};
    for (auto [limit, end] : llvm::zip(limits, ends))
      if (limit) {
        std::optional<double> number = getSplatConstant(limit);
        if (!number)
          return std::nullopt;
        end = *number;
      }
    if (clip.getInput() != operand)
      return std::nullopt;
    return [lo = ends[0], hi = ends[1]](double x) {
      return std::min(std::max(x, lo), hi);
    };
  }
  std::optional<std::pair<Value, double>> split = splitNumber(op);
  if (op->getNumOperands() != 2 || !split || split->first != operand)
    return std::nullopt;
  bool first = op->getOperand(0) == operand;
  auto with = [number = split->second, first](auto function) -> Step {
    if (first)
      return [=](double x) { return function(x, number); };
    return [=](double x) { return function(number, x); };
  };
  if (isa<mp::AddOp>(op))
    return with([](double a, double b) { return a + b; });
  if (isa<mp::SubOp>(op))
    return with([](double a, double b) { return a - b; });
  if (isa<mp::MulOp>(op))
    return with([](double a, double b) { return a * b; });
  if (isa<mp::DivOp>(op))
    return with([](double a, double b) { return a / b; });
  if (isa<mp::MaxOp>(op))
    return with([](double a, double b) { return std::max(a, b); });
  if (isa<mp::MinOp>(op))
    return with([](double a, double b) { return std::min(a, b); });
  if (isa<mp::PowOp>(op) && first)
    return with([](double a, double b) { return std::pow(a, b); });
  return std::nullopt;
}

/// True for functions of one number that have the same slope everywhere.
static bool isLinear(Operation *op) {
  return isa<mp::CastOp, mp::IdentityOp>(op) ||
         (!getSquared(op) &&
          hasRole(op, Role::Rearranges | Role::Negation | Role::Addition |
                          Role::Subtraction | Role::Multiplication)) ||
         (hasRole(op, Role::Division) && getSplatConstant(op->getOperand(1)));
}

/// The mean of the products of two tensors' squares, of which the groups that
/// both have belong together.
static double joinSquares(const AbstractValue &lhs, const AbstractValue &rhs) {
  if (lhs.dims() != rhs.dims())
    return meanSquare(lhs) * meanSquare(rhs);
  double both = 0;
  for (size_t group = 0; group < lhs.groups(); ++group)
    both += meanSquare(lhs.cell(group)) * meanSquare(rhs.cell(group));
  return both / double(lhs.groups());
}

OwnSlope::OwnSlope(Value value,
                   llvm::function_ref<const AbstractValue *(Value)> gradientOf)
    : value(value) {
  const AbstractValue *own = gradientOf(value);
  if (!own || !own->hasLikely())
    return;
  before = own;
  Value at = value;
  for (unsigned step = 0; step < kMostSteps; ++step) {
    // Its only reader that the output depends on.
    Operation *reader = nullptr;
    for (Operation *user : at.getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        return;
      bool matters = llvm::any_of(user->getResults(), [&](Value result) {
        return gradientOf(result) != nullptr;
      });
      if (user == reader || !matters)
        continue;
      if (reader)
        return;
      reader = user;
    }
    if (!reader)
      return;
    std::optional<Step> its = stepOf(reader, at);
    if (!its)
      return;
    const AbstractValue *gradient = gradientOf(reader->getResult(0));
    if (!gradient || !gradient->hasLikely())
      return;
    at = reader->getResult(0);
    steps.push_back(std::move(*its));
    bends |= !isLinear(reader);
    behind = gradient;
  }
}

/// Points of a normal number, with their weights: dense enough to find where a
/// function of it is steep, and fewer where there are many groups.
static std::vector<OwnSlope::Point> makePoints(size_t groups) {
  constexpr size_t kAll = 1600, kLeast = 64, kMost = 400;
  constexpr double kReach = 5;
  size_t count = std::clamp(kAll / std::max<size_t>(groups, 1), kLeast, kMost);
  std::vector<OwnSlope::Point> points;
  for (size_t i = 0; i < count; ++i) {
    double z = kReach * ((2 * double(i) + 1) / double(count) - 1);
    points.emplace_back(z, std::exp(-z * z / 2));
  }
  return points;
}

double OwnSlope::meanSquare(const Cell &x, const StorageFormat &format,
                            ArrayRef<Point> points) const {
  auto function = [&](double at) {
    for (const Step &step : steps)
      at = step(at);
    return at;
  };
  // Near the cube root of a double's unit roundoff, where the errors of a
  // central difference and of its digits are alike.
  constexpr double kNear = 1e-5;
  double deviation = std::sqrt(std::max(x.variance, 0.0));
  double sum = 0, weights = 0;
  for (auto [z, weight] : points) {
    double at = x.mean + z * deviation;
    // Those that a limit holds up have its rounding, and pass no errors on.
    if (x.likelyLo < x.likelyHi && (at < x.likelyLo || at > x.likelyHi))
      continue;
    double step = kNear * (at == 0 ? deviation : std::fabs(at));
    double slope =
        step > 0 ? (function(at + step) - function(at - step)) / (2 * step) : 0;
    if (!std::isfinite(slope))
      continue;
    sum += weight * slope * slope * format.roundingSquare(at);
    weights += weight;
  }
  return weights > 0 ? sum / weights : 0;
}

double OwnSlope::factor(const RangeAnalysis &ranges,
                        const AbstractValue &error) const {
  const AbstractValue &x = ranges.preRounding(value);
  const FloatFormat *format = getFloatFormat(getElementType(value));
  if (!bends || !format || !x.hasLikely() || x.integral)
    return 1;
  for (const Cell &cell : error.cells())
    // A number that is lost whole is not rounded.
    if (cell.mean * cell.mean > 0.1 * cell.variance)
      return 1;
  // If there are many groups the whole tensor says how much squares differ.
  bool whole = x.groups() > kMostGroups;
  auto grouped = [&](const AbstractValue &of) {
    return whole ? of.merged() : of;
  };
  AbstractValue exact = grouped(x);
  std::vector<Point> points = makePoints(exact.groups());
  for (CellRef cell : exact.mutableCells()) {
    if (std::max(std::fabs(cell.likelyLo), std::fabs(cell.likelyHi)) >=
        format->overflowFrom)
      return 1;
    cell.variance = meanSquare(cell, *format, points);
    cell.mean = 0;
  }
  double factor = joinSquares(grouped(*behind), exact) /
                  joinSquares(grouped(*before), grouped(error));
  return std::isfinite(factor) ? factor : 1;
}
