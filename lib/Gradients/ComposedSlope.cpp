//===- ComposedSlope.cpp - Slopes of one number that follow
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ComposedSlope.h"

#include "Slope.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Ranges/Value/Expression.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

using namespace mlir;
using namespace mpopt;

using Factor = Expression::Factor;

namespace {
/// What an op multiplies a gradient by; nothing for a copy.
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

bool mpopt::giveComposedSlope(Operation *op, BackwardSpreadContext &ctx) {
  // Functions that models write out are of fewer steps.
  constexpr size_t kMost = 12;
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
