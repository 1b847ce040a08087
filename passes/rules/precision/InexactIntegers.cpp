//===- InexactIntegers.cpp - MP303: integers that a float does not hold
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reported where the integers enter or are made (a cast, Range, CumSum, a sum
// or product of them), not again where they are moved or read.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/RangeSupport.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_INEXACTINTEGERS
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct InexactIntegers
    : RangeRule<InexactIntegers, mpopt::impl::InexactIntegersBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);
};
} // namespace

/// True if integers become floats in this op, rather than being passed on.
static bool makesIntegers(Operation *op) {
  if (isa<mp::CastOp>(op))
    return isa<IntegerType>(getElementType(op->getOperand(0)));
  return hasRole(op, Role::Counting);
}

void InexactIntegers::judge(Operation *op, const RangeAnalysis &ranges) {
  if (op->getNumResults() != 1 || !makesIntegers(op))
    return;
  Value value = op->getResult(0);
  Type type = getElementType(value);
  const FloatFormat *format = getFloatFormat(type);
  if (!format || !isLowPrecision(type) || isConstant(value))
    return;
  double exact = std::ldexp(1.0, int(format->digits));
  double bound = ranges.magnitudes(value).bound;
  // A type's whole range is no count; beyond the largest value it is an
  // overflow.
  if (!ranges.preRounding(value).integral || bound <= exact)
    return;
  std::optional<double> expected = ranges.magnitudes(value).likely;
  bool likely = expected && *expected > exact;
  if (expected && *expected >= format->overflowFrom)
    return;
  FindingBuilder finding = report(op, value);
  finding.certainty(likely ? Certainty::Likely : Certainty::Possible)
      .message("integers up to " + formatNumber(likely ? *expected : bound) +
               (likely ? " are expected in " : " may be held in ") +
               format->name + ", which holds all of them up to " +
               formatNumber(exact) + " only");
  addRange(finding, value, ranges);
  fixByKeeping(finding, type, "positions and counts");
}
