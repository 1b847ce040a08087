//===- Absorption.cpp - MP302: an addend that changes nothing
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not reported are masks, which are there to absorb the score, and epsilons:
// an epsilon beside an ordinary divisor is lost, as it should be.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Repair/Fix.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/MaskUse.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_ABSORPTION
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct Absorption : RangeRule<Absorption, mpopt::impl::AbsorptionBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);
};
} // namespace

/// Root mean square, what a typical element is.
static double getTypical(const AbstractValue &value) {
  Cell hull = value.hull();
  return std::sqrt(hull.mean * hull.mean + hull.variance);
}

static bool isMissed(Operation *sum, Value large) {
  // log(1 + x) is 0 without x.
  if (!runsAlways(sum) || planLog1p(sum))
    return true;
  return llvm::any_of(sum->getResult(0).getUsers(), [&](Operation *user) {
    return hasRole(user, Role::Subtraction) &&
           (user->getOperand(0) == large || user->getOperand(1) == large);
  });
}

void Absorption::judge(Operation *op, const RangeAnalysis &ranges) {
  if (!hasRole(op, Role::Addition | Role::Subtraction) ||
      op->getNumOperands() != 2 ||
      !isLowPrecision(getElementType(op->getResult(0))))
    return;
  const FloatFormat &format = *getFloatFormat(getElementType(op->getResult(0)));
  for (unsigned small : {0u, 1u}) {
    Value addend = op->getOperand(small), other = op->getOperand(1 - small);
    const AbstractValue &lost = ranges.of(addend), &large = ranges.of(other);
    if (!lost.hasLikely() || !large.hasLikely() || isConstant(addend))
      continue;
    double most = likelyMagnitude(lost).value_or(0);
    double typical = getTypical(large);
    // Below half an ulp of a typical value, whose ulp is 2^(1 - digits) of it.
    if (most == 0 || most >= typical * format.unitRoundoff() ||
        typical >= format.overflowFrom)
      continue;
    if (reachesSoftmax(op->getOpOperand(0)))
      continue;
    FindingBuilder finding = report(op, op->getResult(0));
    // The sum is as good as its rounding; what is lost is missed where it is
    // summed over and over, or where the large addend is taken off again.
    finding.severity(isMissed(op, other) ? Severity::Warning : Severity::Note)
        .likely()
        .watch(Decision::Absorption, addend, other, "addend")
        .message("an addend of magnitudes up to " + formatNumber(most) +
                 " changes nothing beside values of " + formatNumber(typical) +
                 ", whose neighbours in " + format.name + " are " +
                 formatNumber(format.ulp(typical)) + " apart")
        .cause(other, "typical magnitude " + formatNumber(typical))
        .cause(addend, "magnitudes up to " + formatNumber(most));
    fixByKeeping(finding, getElementType(op->getResult(0)), "the sum");
    finding.fix("change-op", "take log1p of the addend", planLog1p(op));
  }
}
