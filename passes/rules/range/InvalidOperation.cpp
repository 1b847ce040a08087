//===- InvalidOperation.cpp - MP214: an infinity becomes NaN
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// IEEE 754 calls 0 * Inf, Inf - Inf and the like invalid operations. Judged is
// where NaN begins (no operand may be NaN) and an infinity comes in that was
// there from the start. Infinities that ops make are reported where they are
// made: MP201 and its forms, MP205, MP206.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Hazards/Zeros.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpopt {
#define GEN_PASS_DEF_INVALIDOPERATION
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct InvalidOperation
    : RangeRule<InvalidOperation, mpopt::impl::InvalidOperationBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);

private:
  void judgeConstant(mp::ConstantOp op, const RangeAnalysis &ranges);
};
} // namespace

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

/// The constant or input that an infinity of `value` comes from; null if all of
/// them are made on the way.
static Value findGiven(Value value, const RangeAnalysis &ranges) {
  SmallVector<Value> pending = {value};
  llvm::DenseSet<Value> seen;
  while (!pending.empty()) {
    Value at = pending.pop_back_val();
    if (!seen.insert(at).second || !isFloat(at) || !ranges.of(at).mayBeInf())
      continue;
    Operation *op = at.getDefiningOp();
    if (!op) {
      // The argument of a branch or body is judged where it is passed.
      if (isa<func::FuncOp>(at.getParentBlock()->getParentOp()))
        return at;
      continue;
    }
    // Rounded to infinity, or made of finite numbers.
    if (!ranges.preRounding(at).mayBeInf())
      continue;
    if (isa<mp::ConstantOp>(op))
      return at;
    llvm::append_range(pending, op->getOperands());
  }
  return {};
}

static bool isAlwaysInf(const AbstractValue &value) {
  return value.mayBeInf() && value.hull().empty();
}

/// 0 * Inf: as sure as the 0, which an end of a range counts as.
static Certainty judgeProduct(Value infinite, Value other,
                              const RangeAnalysis &ranges) {
  std::optional<Certainty> zero = mayBeZero(other, ranges);
  if (!zero)
    return Certainty::Possible;
  if (*zero == Certainty::Certain && isAlwaysInf(ranges.of(infinite)))
    return Certainty::Certain;
  Cell hull = ranges.preRounding(other).hull();
  bool atEnd = !hull.empty() && (hull.lo == 0 || hull.hi == 0);
  return *zero >= Certainty::Likely || atEnd ? Certainty::Likely
                                             : Certainty::Possible;
}

static StringRef describe(Operation *op) {
  if (hasRole(op, Role::Product | Role::LongProduct))
    return "0 times an infinity is NaN";
  if (hasRole(op, Role::Addition | Role::Subtraction | Role::Sum))
    return "infinities that cancel are NaN";
  if (hasRole(op, Role::Division))
    return "an infinity divided by an infinity is NaN";
  return "the function is NaN for an infinity";
}

void InvalidOperation::judgeConstant(mp::ConstantOp op,
                                     const RangeAnalysis &ranges) {
  Value value = op.getResult();
  // Weights that are not at hand may be anything.
  if (!isFloat(value) || !ranges.preRounding(value).nan ||
      isUnknown(value, ranges))
    return;
  report(op, value).certain().message("the constant holds NaN");
}

void InvalidOperation::judge(Operation *op, const RangeAnalysis &ranges) {
  if (auto constant = dyn_cast<mp::ConstantOp>(op))
    return judgeConstant(constant, ranges);
  // Branches and bodies are judged inside.
  if (op->getNumRegions() != 0)
    return;
  for (Value result : op->getResults()) {
    if (!isFloat(result) || !ranges.preRounding(result).nan ||
        isUnknown(result, ranges))
      continue;
    Value infinite, given;
    bool begins = true;
    for (Value operand : op->getOperands()) {
      if (!isFloat(operand))
        continue;
      begins &= !ranges.of(operand).nan;
      if (given || !ranges.of(operand).mayBeInf())
        continue;
      given = findGiven(operand, ranges);
      infinite = operand;
    }
    if (!begins || !given)
      continue;
    // Rows that are masked altogether: MP208.
    if (hasRole(op, Role::Softmax) && hasRole(op, Role::Maskable) &&
        !ranges.of(infinite).posInf)
      continue;
    Certainty sure = Certainty::Possible;
    const AbstractValue &computed = ranges.preRounding(result);
    if (computed.hull().empty() && !computed.mayBeInf() && runsAlways(op))
      sure = Certainty::Certain;
    else if (hasRole(op, Role::Multiplication))
      for (Value other : op->getOperands())
        if (other != infinite)
          sure = std::max(sure, judgeProduct(infinite, other, ranges));
    FindingBuilder finding = report(op, result);
    finding.certainty(sure).message(describe(op));
    finding.cause(given, given.getDefiningOp() ? "holds an infinity"
                                               : "may be an infinity");
    for (Value other : op->getOperands())
      if (other != infinite && isFloat(other)) {
        Cell hull = ranges.preRounding(other).hull();
        if (!hull.empty())
          finding.cause(other, "in [" + formatNumber(hull.lo) + ", " +
                                   formatNumber(hull.hi) + "]");
      }
    return;
  }
}
