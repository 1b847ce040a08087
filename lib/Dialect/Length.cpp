//===- Length.cpp - Lengths of rows that models write out
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Length.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// The operand of a sum with a number, or of a limit from below; null for other
/// ops. The number is added to `epsilon`.
static Value skipGuard(Operation *op, double &epsilon) {
  if (auto clip = dyn_cast<mp::ClipOp>(op)) {
    auto least = clip.getMin() ? getSplatConstant(clip.getMin()) : std::nullopt;
    if (!least || clip.getMax())
      return {};
    epsilon += std::fabs(*least);
    return clip.getInput();
  }
  if (!hasRole(op, Role::Addition | Role::LimitsBelow))
    return {};
  auto split = splitNumber(op);
  if (!split)
    return {};
  epsilon += std::fabs(split->second);
  return split->first;
}

/// p of a root of order p; 0 for other ops.
static double orderOf(Operation *op) {
  if (isa<mp::SqrtOp>(op))
    return 2;
  auto power = hasRole(op, Role::Power) ? getSplatConstant(op->getOperand(1))
                                        : std::nullopt;
  return power && *power > 0 && *power <= 1 ? 1 / *power : 0;
}

/// The op that takes powers of an order; null if it is another op.
static Operation *matchPower(Operation *op, double order) {
  // Orders are written in few digits.
  constexpr double kSame = 1e-3;
  if (!op || !op->hasOneUse())
    return nullptr;
  auto power = hasRole(op, Role::Power) ? getSplatConstant(op->getOperand(1))
                                        : std::nullopt;
  if (power ? std::fabs(*power - order) < kSame * order
            : order == 2 && getSquared(op))
    return op;
  return nullptr;
}

/// True for a sum or mean of elements or of squares.
static bool isSum(Operation *op) {
  return hasRole(op, Role::SumOfSquares) ||
         (hasRole(op, Role::Reduction) && hasRole(op, Role::Sum) &&
          getMeaning(op)->degree == 1.0);
}

/// The root of order p of a sum or mean of powers of order p.
static std::optional<Length> matchNorm(Operation *root) {
  Length found;
  found.order = orderOf(root);
  if (found.order == 0)
    return std::nullopt;
  found.members = {root};
  Operation *op = getMaker(root->getOperand(0));
  Value inner = op && op->hasOneUse() ? skipGuard(op, found.epsilon) : Value();
  if (inner) {
    found.members.push_back(op);
    op = getMaker(inner);
  }
  if (!op || !isSum(op) || !op->hasOneUse() ||
      !getReducedAxes(op, ShapeFacts()))
    return std::nullopt;
  found.axes = *getReducedAxes(op, ShapeFacts());
  found.averaged = hasRole(op, Role::Mean);
  found.members.push_back(op);
  found.sums.push_back(op->getResult(0));
  if (!hasRole(op, Role::SumOfSquares)) {
    op = matchPower(getMaker(op->getOperand(0)), found.order);
    if (!op)
      return std::nullopt;
    found.members.push_back(op);
    found.sums.push_back(op->getResult(0));
  }
  found.input = op->getOperand(0);
  found.positive = std::fmod(found.order, 2) != 0;
  return found;
}

/// x / (sum(x) + epsilon), or another norm of x below, along one axis.
static std::optional<Length> matchShares(mp::DivOp div) {
  constexpr unsigned kMostGuards = 2;
  Length found;
  found.members = {div};
  Operation *op = getMaker(div.getRhs(), Peel::CastsAndViews);
  for (unsigned guards = 0; op && guards < kMostGuards; ++guards) {
    Value inner = op->hasOneUse() ? skipGuard(op, found.epsilon) : Value();
    if (!inner)
      break;
    found.members.push_back(op);
    op = getMaker(inner, Peel::CastsAndViews);
  }
  if (!isa_and_present<mp::ReduceSumOp, mp::ReduceL1Op, mp::ReduceL2Op>(op) ||
      !op->hasOneUse() || !isSameBehind(op->getOperand(0), div.getLhs()))
    return std::nullopt;
  auto axes = getReducedAxes(op, ShapeFacts());
  MaybeShape from = getShape(div.getLhs()), to = getShape(op->getResult(0));
  if (!axes || axes->size() != 1 || !from || !to || from->size() != to->size())
    return std::nullopt;
  found.members.push_back(op);
  found.sums.push_back(op->getResult(0));
  found.input = div.getLhs();
  found.axes.push_back(axes->front());
  found.order = hasRole(op, Role::InnerSquares) ? 2 : 1;
  found.positive = hasRole(op, Role::Sum);
  found.divided = true;
  return found;
}

std::optional<Length> mpopt::matchLength(Operation *op) {
  auto div = dyn_cast<mp::DivOp>(op);
  return div ? matchShares(div) : matchNorm(op);
}
