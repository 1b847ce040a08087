//===- InexactIntegers.cpp - MP303: integers that a float does not hold
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reported where the integers enter or are made (a cast, Range, CumSum, a sum
// or product of them), not again where they are moved or read.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/RangeSupport.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/OpKind.h"
#include "mpopt/Propagate/StorageErrors.h"
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
    return isa<IntegerType>(getElementType(op->getOperand(0))) ||
           isConstant(op->getOperand(0));
  return hasRole(op, Role::Counting);
}

/// True if the op takes an index or a truth value by operand `use`, to which
/// numbers with the same rounding are equal. A comparison with a number up to
/// `exact` is right: no other integer is rounded to that number.
static bool choosesBy(OpOperand &use, double exact) {
  Operation *op = use.getOwner();
  if (isa<mp::CastOp>(op) || getOpKind(op) != OpKind::Decide)
    return false;
  bool compares = op->getNumOperands() == 2 &&
                  getElementType(op->getResult(0)).isInteger(1);
  std::optional<double> number =
      compares ? getSplatConstant(op->getOperand(1 - use.getOperandNumber()))
               : std::nullopt;
  return !number || std::fabs(*number) > exact;
}

/// Collects the ops by which the integers, cast and moved, come to one that
/// chooses by them, which is the first; nothing if none does.
static void findChoice(Value value, double exact,
                       SmallVectorImpl<Operation *> &path, unsigned depth = 8) {
  if (depth == 0)
    return;
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    bool passes = (isa<mp::CastOp>(op) || isViewLike(op)) &&
                  isa<FloatType>(getElementType(op->getResult(0)));
    if (passes)
      findChoice(op->getResult(0), exact, path, depth - 1);
    if (!path.empty() || choosesBy(use, exact))
      return path.push_back(op);
  }
}

void InexactIntegers::judge(Operation *op, const RangeAnalysis &ranges) {
  if (op->getNumResults() != 1 || !makesIntegers(op))
    return;
  Value value = op->getResult(0);
  Type type = getElementType(value);
  const FloatFormat *format = getFloatFormat(type);
  if (!format || !isLowPrecision(type))
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
  // The effect of a wrong choice does not shrink with the distance of the
  // integers.
  SmallVector<Operation *, 4> path;
  findChoice(value, exact, path);
  // The other effects of rounding constants are known.
  bool fixed = isConstant(value);
  if (fixed && (path.empty() || !StorageErrors(ranges).errorOf(value, {}, {})))
    return;
  FindingBuilder finding = report(fixed ? path.front() : op, value);
  finding.certainty(likely ? Certainty::Likely : Certainty::Possible)
      .message("integers up to " + formatNumber(likely ? *expected : bound) +
               (fixed    ? " of the constant are compared in "
                : likely ? " are expected in "
                         : " may be held in ") +
               format->name + ", which holds all of them up to " +
               formatNumber(exact) + " only");
  addRange(finding, value, ranges);
  if (path.empty())
    return fixByKeeping(finding, type, "positions and counts");
  finding.cause(path.front(), "chooses by them, and neighbours are equal");
  finding.unexpected();
  if (!fixed)
    path.push_back(op);
  finding.fix("keep-fp32", "keep the integers and the choice in f32",
              FixAction::keepTogether(path));
}
