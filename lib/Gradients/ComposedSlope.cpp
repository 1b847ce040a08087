//===- ComposedSlope.cpp - Slopes of one number that follow
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ComposedSlope.h"

#include "Slope.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Ranges/Value/Expression.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpopt;

using Factor = Expression::Factor;

namespace {
/// The factor by which an op multiplies a gradient; nothing for a copy.
struct Multiplied {
  Value grad;
  std::optional<Factor> factor;
};
} // namespace

/// Nothing if the op does anything else with a gradient.
static std::optional<Multiplied> findFactor(Operation *op,
                                            BackwardSpreadContext &ctx) {
  using Kind = Factor::Kind;
  if (op->getNumResults() != 1 || op->getNumOperands() == 0)
    return std::nullopt;
  Value first = op->getOperand(0);
  auto isFactor = [&](Value grad, Value other) {
    return ctx.isGradient(grad) && !ctx.isGradient(other) &&
           getShape(grad) == getShape(op->getResult(0));
  };
  if (isa<mp::CastOp, mp::IdentityOp>(op) && ctx.isGradient(first))
    return Multiplied{first, std::nullopt};
  if (isa<mp::NegOp>(op) && ctx.isGradient(first))
    return Multiplied{first, Factor{}};
  if (auto where = dyn_cast<mp::WhereOp>(op)) {
    Value lhs = where.getLhs(), rhs = where.getRhs();
    if (isFactor(lhs, rhs) && getSplatConstant(rhs) == 0.0)
      return Multiplied{lhs, Factor{Kind::If, where.getCondition()}};
    if (isFactor(rhs, lhs) && getSplatConstant(lhs) == 0.0)
      return Multiplied{rhs, Factor{Kind::Unless, where.getCondition()}};
    return std::nullopt;
  }
  if (op->getNumOperands() != 2)
    return std::nullopt;
  Value second = op->getOperand(1);
  if (isa<mp::MulOp>(op) && isFactor(second, first))
    return Multiplied{second, Factor{Kind::Times, first}};
  if (!isFactor(first, second))
    return std::nullopt;
  if (isa<mp::MulOp>(op))
    return Multiplied{first, Factor{Kind::Times, second}};
  if (isa<mp::DivOp>(op))
    return Multiplied{first, Factor{Kind::Over, second}};
  std::optional<Unary> passed = getFunctionOfGradient(op);
  if (!passed)
    return std::nullopt;
  // The op reads x, or f(x).
  Operation *maker = second.getDefiningOp();
  std::optional<Unary> made = maker ? getFunction(maker) : std::nullopt;
  bool isResult = made && made->function == passed->function;
  return Multiplied{
      first,
      Factor{Kind::Slope, isResult ? maker->getOperand(0) : second, *passed}};
}

bool mpopt::passesSlope(Operation *op, BackwardSpreadContext &ctx) {
  return findFactor(op, ctx).has_value();
}

namespace {
/// The product of the factors that a gradient has passed.
class PassedSlope {
public:
  void pass(const Factor &factor) { factors.push_back(factor); }
  /// False if the factors depend on several values.
  bool finish(const MaybeShape &shape);

  /// The value of which it is a function; null for a number.
  Value variable() const { return product ? product->variable() : Value(); }
  double evaluate(double x) const {
    return product ? product->evaluate(x) : number;
  }
  /// The expected product of factors that are independent of each other; 0 if
  /// one is of unknown sign. `isNumber`: they are numbers, where conditions
  /// hold.
  double expect(BackwardSpreadContext &ctx, bool &isNumber) const;

private:
  SmallVector<Factor, 4> factors;
  std::optional<Expression> product;
  double number = 1;
};
} // namespace

bool PassedSlope::finish(const MaybeShape &shape) {
  product = Expression::ofProduct(factors, shape);
  if (product)
    return true;
  for (const Factor &factor : factors) {
    std::optional<double> of =
        factor.of ? getSplatConstant(factor.of) : std::optional(-1.0);
    if (!of || (factor.of && factor.kind != Factor::Kind::Times &&
                factor.kind != Factor::Kind::Over))
      return false;
    number *= factor.kind == Factor::Kind::Over ? 1 / *of : *of;
  }
  return true;
}

static double expectFactor(const Factor &factor, BackwardSpreadContext &ctx) {
  using Kind = Factor::Kind;
  if (!factor.of)
    return -1;
  const AbstractValue &of = ctx.of(factor.of);
  if (!of.hasLikely())
    return 0;
  Cell x = of.hull();
  switch (factor.kind) {
  case Kind::If:
  case Kind::Unless: {
    double share = std::clamp(x.mean, 0.0, 1.0);
    return factor.kind == Kind::If ? share : 1 - share;
  }
  case Kind::Over:
    return x.likelyLo > 0 || x.likelyHi < 0 ? 1 / x.mean : 0;
  case Kind::Slope:
    return momentsOf(x.mean, x.variance,
                     [&](double at) { return derivative(factor.unary, at); })
        .mean;
  default:
    return factor.kind == Kind::Minus ? -1 : x.mean;
  }
}

double PassedSlope::expect(BackwardSpreadContext &ctx, bool &isNumber) const {
  double expected = 1;
  for (const Factor &factor : factors) {
    expected *= expectFactor(factor, ctx);
    isNumber &= !factor.of || factor.kind == Factor::Kind::If ||
                factor.kind == Factor::Kind::Unless ||
                getSplatConstant(factor.of).has_value();
  }
  return expected;
}

// Functions that models write out are of fewer steps.
static constexpr size_t kMost = 12;

/// The gradients of which `value` is a multiple, itself first, and by what.
static SmallVector<std::pair<Value, PassedSlope>, 4>
findPassed(Value value, BackwardSpreadContext &ctx) {
  SmallVector<std::pair<Value, PassedSlope>, 4> passed = {{value, {}}};
  for (size_t count = 0; count < kMost; ++count) {
    auto &[at, slope] = passed.back();
    Operation *op = at.getDefiningOp();
    std::optional<Multiplied> multiplied =
        op ? findFactor(op, ctx) : std::nullopt;
    if (!multiplied)
      break;
    PassedSlope longer = slope;
    if (multiplied->factor)
      longer.pass(*multiplied->factor);
    passed.push_back({multiplied->grad, std::move(longer)});
  }
  return passed;
}

/// The value of which both slopes are functions; null if they depend on several
/// values, or on none.
static Value findShared(PassedSlope &one, PassedSlope &two,
                        const MaybeShape &shape) {
  if (!one.finish(shape) || !two.finish(shape))
    return {};
  Value x = one.variable() ? one.variable() : two.variable();
  return x && (!two.variable() || two.variable() == x) ? x : Value();
}

/// One gradient that comes by two products of numbers and of values of a sign:
/// by both ends of a box in front of its width, by x in both places of
/// x / (x + c). What they are correlated by is the product of their means.
/// Slopes of one sign that are no numbers stay independent, as below.
static bool giveCorrelatedSum(mp::AddOp op, BackwardSpreadContext &ctx) {
  auto left = findPassed(op.getLhs(), ctx),
       right = findPassed(op.getRhs(), ctx);
  double correlation = 0;
  for (auto &[grad, slope] : left) {
    auto same = llvm::find_if(
        right, [&, at = grad](auto &its) { return its.first == at; });
    if (same == right.end())
      continue;
    bool isNumber = true;
    double product =
        slope.expect(ctx, isNumber) * same->second.expect(ctx, isNumber);
    double squares =
        ctx.moments(op.getLhs()).square * ctx.moments(op.getRhs()).square;
    if (squares > 0 && (isNumber || product < 0))
      correlation = std::clamp(
          product * ctx.moments(grad).square / std::sqrt(squares), -1.0, 1.0);
    break;
  }
  if (correlation == 0)
    return false;
  SmallVector<AbstractValue, 2> values = {ctx.of(op.getLhs()),
                                          ctx.of(op.getRhs())};
  AbstractValue::Dims dims = broadcastGroups(values, ctx.groupLimit());
  std::vector<Cell> cells(countGroups(dims));
  double draws = ctx.elementsPerGroup(op.getResult(), cells.size());
  forEachGroup(dims, values, [&](size_t group, ArrayRef<size_t> at) {
    Cell one = values[0].cell(at[0]), two = values[1].cell(at[1]);
    double mean = one.mean + two.mean;
    double variance = std::max(
        0.0, one.variance + two.variance +
                 2 * correlation * std::sqrt(one.variance * two.variance));
    double square = mean * mean + variance;
    cells[group] = SpreadContext::normalCell({mean, 0, square}, draws);
  });
  AbstractValue sum(dims, cells);
  sum.source = LikelySource::Propagated;
  ctx.give(0, std::move(sum), ctx.spread(op.getLhs()));
  return true;
}

/// One gradient that comes by two functions of one number: by f(x) - x it is
/// multiplied by f'(x) - 1. The gradient that is farthest back, as what it
/// passes on the way depends on x, too. Slopes of one sign, whose squares add
/// up to half of the square at least, stay independent: a residual block has
/// them, and in a stack elements leave the steep part of one block behind it.
static bool giveSumOfSlopes(mp::AddOp op, BackwardSpreadContext &ctx) {
  if (!ctx.isGradient(op.getLhs()) || !ctx.isGradient(op.getRhs()))
    return false;
  auto left = findPassed(op.getLhs(), ctx),
       right = findPassed(op.getRhs(), ctx);
  for (auto &[grad, slope] : llvm::reverse(left))
    for (auto &[other, its] : right) {
      PassedSlope one = slope, two = its;
      Value x = grad == other ? findShared(one, two, getShape(op.getResult()))
                              : Value();
      if (!x || !ctx.of(x).hasLikely())
        continue;
      Cell hull = ctx.of(x).hull();
      Moments product = momentsOf(hull.mean, hull.variance, [&](double at) {
        return one.evaluate(at) * two.evaluate(at);
      });
      if (!(product.mean < 0))
        return false;
      giveSlope(ctx, grad, x,
                [&](double at) { return one.evaluate(at) + two.evaluate(at); });
      return true;
    }
  return giveCorrelatedSum(op, ctx);
}

/// A gradient that is divided by v, or multiplied by u / v, and then multiplied
/// by v, as that of x / exp(s) on its way to s: it is multiplied by u, or not
/// at all. The factors alone are far from independent: where s deviates by d
/// their mean squares multiply to exp(10 d^2), and that of x / exp(s) is
/// exp(2 d^2).
static bool giveCancelled(Operation *op, BackwardSpreadContext &ctx) {
  using Kind = Factor::Kind;
  std::optional<Multiplied> step = findFactor(op, ctx);
  if (!step || !step->factor || step->factor->kind != Kind::Times)
    return false;
  Value cancelled = step->factor->of;
  double number = 1;
  for (size_t count = 0; count < kMost; ++count) {
    Operation *maker = step->grad.getDefiningOp();
    step = maker ? findFactor(maker, ctx) : std::nullopt;
    if (!step)
      return false;
    if (!step->factor)
      continue;
    const Factor &factor = *step->factor;
    bool divides = factor.kind == Kind::Over;
    if (factor.kind == Kind::Minus) {
      number = -number;
      continue;
    }
    if (!divides && factor.kind != Kind::Times)
      return false;
    if (std::optional<double> splat = getSplatConstant(factor.of)) {
      number *= divides ? 1 / *splat : *splat;
      continue;
    }
    auto quotient = factor.of.getDefiningOp<mp::DivOp>();
    bool isQuotient = !divides && quotient && quotient.getRhs() == cancelled &&
                      getShape(quotient.getLhs()) == getShape(op->getResult(0));
    if (!isQuotient && !(divides && factor.of == cancelled))
      return false;
    Value left = isQuotient ? quotient.getLhs() : cancelled;
    if (!ctx.of(left).hasLikely())
      return false;
    giveSlope(ctx, step->grad, left,
              [&](double x) { return isQuotient ? number * x : number; });
    return true;
  }
  return false;
}

bool mpopt::giveComposedSlope(Operation *op, BackwardSpreadContext &ctx) {
  if (auto sum = dyn_cast<mp::AddOp>(op))
    return giveSumOfSlopes(sum, ctx);
  if (giveCancelled(op, ctx))
    return true;
  MaybeShape shape = getShape(op->getResult(0));
  SmallVector<Factor, 4> factors;
  std::optional<Expression> product;
  Value grad;
  // Those that are numbers say nothing.
  unsigned bends = 0;
  for (Operation *at = op; at && factors.size() < kMost;) {
    std::optional<Multiplied> multiplied = findFactor(at, ctx);
    if (!multiplied)
      break;
    if (std::optional<Factor> factor = multiplied->factor) {
      factors.push_back(*factor);
      bends += factor->of && !getSplatConstant(factor->of);
      // One alone is the business of its op's spread function.
      if (bends > 1) {
        std::optional<Expression> longer =
            Expression::ofProduct(factors, shape);
        if (!longer)
          break;
        product = std::move(longer);
        grad = multiplied->grad;
      }
    }
    at = multiplied->grad.getDefiningOp();
  }
  if (!product || !ctx.of(product->variable()).hasLikely())
    return false;
  giveSlope(ctx, grad, product->variable(),
            [&](double x) { return product->evaluate(x); });
  return true;
}
