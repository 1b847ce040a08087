//===- CentralMoment.cpp - Covariances as differences of means
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/CentralMoment.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Roles.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;

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
