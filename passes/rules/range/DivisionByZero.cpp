//===- DivisionByZero.cpp - MP206: a divisor that may be 0
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer divisions are not judged: they fault instead.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/OverflowSites.h"
#include "mpopt/Hazards/Zeros.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"

namespace mpopt {
#define GEN_PASS_DEF_DIVISIONBYZERO
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct DivisionByZero
    : RangeRule<DivisionByZero, mpopt::impl::DivisionByZeroBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);
};
} // namespace

static Value getDivisor(Operation *op) {
  if (std::optional<unsigned> index = divisorOperand(op))
    return op->getOperand(*index);
  if (hasRole(op, Role::Power)) {
    std::optional<double> exponent = getSplatConstant(op->getOperand(1));
    if (exponent && *exponent < 0)
      return op->getOperand(0);
  }
  return {};
}

/// Clamps a divisor of one sign; a divisor of both signs cannot be kept from 0
/// by a limit, and gets no action.
static FixAction clampAwayFromZero(Operation *op, Value divisor,
                                   const Cell &hull,
                                   const FloatFormat &format) {
  unsigned index = llvm::find(op->getOperands(), divisor).getIndex();
  if (hull.lo >= 0)
    return FixAction::clamp(op, index, format.minNormal, kInfinity);
  if (hull.hi <= 0)
    return FixAction::clamp(op, index, -kInfinity, -format.minNormal);
  return {};
}

void DivisionByZero::judge(Operation *op, const RangeAnalysis &ranges) {
  Value divisor = getDivisor(op);
  if (!divisor || !isa<FloatType>(getElementType(divisor)) ||
      !isa<FloatType>(getElementType(op->getResult(0))))
    return;
  std::optional<Certainty> sure = mayBeZero(divisor, ranges);
  if (!sure)
    return;
  // A divisor that is 0 in some channels of a constant, say: not all of it.
  FindingBuilder finding = report(op, op->getResult(0));
  finding.certainty(*sure).message("the divisor " +
                                   describeZero(divisor, *sure, ranges));
  watchZeros(finding, divisor, "divisor");
  const AbstractValue &computed = ranges.preRounding(divisor);
  Cell hull = computed.hull();
  finding.cause(divisor,
                "divisor in [" + formatNumber(hull.lo) + ", " +
                    formatNumber(hull.hi) + "]" +
                    (computed.hasLikely()
                         ? ", likely within [" + formatNumber(hull.likelyLo) +
                               ", " + formatNumber(hull.likelyHi) + "]"
                         : ""));
  if (isZeroByRounding(divisor, ranges))
    fixByKeeping(finding, getElementType(divisor),
                 "the divisor and the division");
  const FloatFormat &format = *getFloatFormat(getElementType(divisor));
  finding.fix("clamp",
              "clamp the divisor away from 0, to a number that " +
                  Twine(format.name) + " holds (" +
                  formatNumber(format.minNormal) + " or more)",
              clampAwayFromZero(op, divisor, hull, format));
}
