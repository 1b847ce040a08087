//===- Underflow.cpp - MP204: most of a result becomes zero
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Casts between floats are MP213's. A result whose operand is reported already
// follows from it.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/FlushedShare.h"
#include "mpopt/Hazards/OverflowSites.h"
#include "mpopt/Repair/Scaling.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_UNDERFLOW
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct Underflow : mpopt::impl::UnderflowBase<Underflow> {
  void check(ModuleOp) override {
    ranges = &getAnalysis<RangeAnalysis>();
    roots.clear();
    shares = &getAnalysis<FlushedShares>();
    double least = threshold("underflow-share");
    forEachOp([&](Operation *op) {
      if (isa<RangeOpInterface>(op) && !isa<mp::CastOp, mp::ConstantOp>(op))
        for (Value result : op->getResults())
          judge(op, result, least);
    });
  }

private:
  void judge(Operation *op, Value value, double least);
  std::string besideLarge(Value value) const;
  Value findLostOperand(Operation *op, Value value) const;

  const RangeAnalysis *ranges = nullptr;
  FlushedShares *shares = nullptr;
  /// Reported values, and what each follows from (itself: a root).
  llvm::DenseMap<Value, Value> roots;
};
} // namespace

/// The value in `roots`, or the constant that is non-zero in the file and 0 as
/// stored (MP203's), because of which `value` is 0.
Value Underflow::findLostOperand(Operation *op, Value value) const {
  if (ranges->magnitudes(value).bound != 0 || !runsAlways(op) ||
      !hasRole(op, Role::MovesElements | Role::Concatenation | Role::Product))
    return {};
  for (Value operand : op->getOperands()) {
    if (!isa<FloatType>(getElementType(operand)) ||
        boundMagnitude(ranges->of(operand)) != 0)
      continue;
    if (Value known = roots.lookup(operand))
      return known;
    if (isConstant(operand) && ranges->magnitudes(operand).bound != 0)
      return operand;
  }
  return {};
}

/// Small values beside large ones, as in a softmax: what is lost is less than
/// what rounding takes from the large ones. Where a logarithm or a division
/// follows, that has rules of its own.
std::string Underflow::besideLarge(Value value) const {
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  double large = std::ldexp(format.minNormal, 4);
  double most = ranges->magnitudes(value).likely.value_or(0);
  return most >= large ? ", beside values up to " + formatNumber(most) : "";
}

void Underflow::judge(Operation *op, Value value, double least) {
  if (!isLowPrecision(getElementType(value)))
    return;
  if (Value lost = findLostOperand(op, value)) {
    roots[value] = lost;
    FindingBuilder finding = report(op, value);
    finding.certain()
        .message("all values are 0, since a factor was rounded to 0 in " +
                 getDtypeName(getElementType(value)))
        .follows(lost);
    addRange(finding, value, *ranges);
    return;
  }
  std::optional<double> share = shares->of(value);
  if (!share || *share < least)
    return;
  Value root = value;
  for (Value operand : op->getOperands()) {
    Value known = roots.lookup(operand);
    // A constant that flushes is MP203's.
    if (!known && isConstant(operand) &&
        isa<FloatType>(getElementType(operand)) &&
        shares->of(operand).value_or(0) >= least)
      known = operand;
    if (known) {
      root = known;
      break;
    }
  }
  roots[value] = root;
  FindingBuilder finding = report(op, value);
  finding.certainty(certaintyOfFlush(value, *ranges))
      .partOfError(partOfFlush(*share, value, *ranges))
      .message(describeFlush(*share, value) + besideLarge(value));
  if (!besideLarge(value).empty())
    finding.severity(Severity::Note);
  addRange(finding, value, *ranges);
  if (root != value)
    finding.follows(root);
  fixByKeeping(finding, getElementType(value), "the op and its readers");
  if (root == value)
    fixFlushByScaling(finding, value, *ranges, [&](Value later) {
      return shares->of(later).value_or(0) < least;
    });
}
