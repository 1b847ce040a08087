//===- InvalidOperation.cpp - MP214: an infinity becomes NaN
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
  void check(ModuleOp module) override {
    given.clear();
    RangeRule::check(module);
  }
  void judge(Operation *op, const RangeAnalysis &ranges);

private:
  void judgeConstant(mp::ConstantOp op, const RangeAnalysis &ranges);
  void judgeComputed(Operation *op, const RangeAnalysis &ranges);
  Value findGiven(Value operand, const RangeAnalysis &ranges) const;
  void follow(Operation *op, const RangeAnalysis &ranges);

  /// The constant or input that an infinity of a result comes from, for results
  /// that have one and were passed on the walk. Operands come before their
  /// users, so each op is followed once.
  llvm::DenseMap<Value, Value> given;
};
} // namespace

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

/// Where an infinity of `operand` comes from; null if all of them are made on
/// the way.
Value InvalidOperation::findGiven(Value operand,
                                  const RangeAnalysis &ranges) const {
  if (operand.getDefiningOp())
    return given.lookup(operand);
  // The argument of a branch or body is judged where it is passed.
  bool isInput = isa<func::FuncOp>(operand.getParentBlock()->getParentOp());
  return isInput && isFloat(operand) && ranges.of(operand).mayBeInf() ? operand
                                                                      : Value();
}

/// Notes where infinities of the results come from: the last operand that has
/// one that was given.
void InvalidOperation::follow(Operation *op, const RangeAnalysis &ranges) {
  for (Value result : op->getResults()) {
    // Rounded to infinity, or made of finite numbers.
    if (!isFloat(result) || !ranges.of(result).mayBeInf() ||
        !ranges.preRounding(result).mayBeInf())
      continue;
    if (isa<mp::ConstantOp>(op)) {
      given[result] = result;
      continue;
    }
    for (Value operand : llvm::reverse(op->getOperands()))
      if (Value from = findGiven(operand, ranges)) {
        given[result] = from;
        break;
      }
  }
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
    judgeConstant(constant, ranges);
  // Branches and bodies are judged inside.
  else if (op->getNumRegions() == 0)
    judgeComputed(op, ranges);
  follow(op, ranges);
}

void InvalidOperation::judgeComputed(Operation *op,
                                     const RangeAnalysis &ranges) {
  for (Value result : op->getResults()) {
    if (!isFloat(result) || !ranges.preRounding(result).nan ||
        isUnknown(result, ranges))
      continue;
    Value infinite, source;
    bool begins = true;
    for (Value operand : op->getOperands()) {
      if (!isFloat(operand))
        continue;
      begins &= !ranges.of(operand).nan;
      if (source || !ranges.of(operand).mayBeInf())
        continue;
      source = findGiven(operand, ranges);
      infinite = operand;
    }
    if (!begins || !source)
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
    finding.cause(source, source.getDefiningOp() ? "holds an infinity"
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
