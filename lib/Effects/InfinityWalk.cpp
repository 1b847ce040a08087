//===- InfinityWalk.cpp - The way of Inf and NaN
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds are cut to what is expected: a divisor that may be 0 by its bound
// alone makes no NaN here. An op gives what its transfer function flags with
// the infinities of its operands and does not without them. Infinities that a
// model holds itself are those of FP32, too, and are not followed. What begins
// in a body of control flow, or is read there, is taken to come out of it.
//
//===----------------------------------------------------------------------===//

#include "InfinityWalk.h"

#include "Branches.h"
#include "Masks.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Report/RuleTable.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mpopt;

InfinityWalk::InfinityWalk(ModuleOp module, const OverflowSites &sites,
                           ArrayRef<FindingList::Entry> findings)
    : ForwardingContext(sites.ranges().context()), sites(sites),
      ranges(sites.ranges()) {
  for (const FindingList::Entry &entry : findings) {
    const RuleInfo *rule = findRule(entry.finding.rule);
    if (rule && rule->nonFinite &&
        entry.finding.certainty >= Certainty::Likely &&
        entry.finding.severity == Severity::Error)
      made[entry.op] = {true, false, false};
  }
  for (auto function : module.getOps<FunctionOpInterface>()) {
    if (function.isExternal())
      continue;
    for (BlockArgument argument : function.getArguments())
      begin(argument, storedAs(argument));
    for (Operation &op : function.getFunctionBody().front())
      visit(&op);
    break;
  }
}

const llvm::SparseBitVector<> &InfinityWalk::originsOf(Value value) const {
  static const llvm::SparseBitVector<> kNone;
  auto found = states.find(value);
  return found == states.end() ? kNone : found->second.origins;
}

//===----------------------------------------------------------------------===//
// Where Inf and NaN begin
//===----------------------------------------------------------------------===//

/// True if elements past the edge are expected on that side.
bool InfinityWalk::isExpected(Value value, bool positive) const {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  if (!format)
    return false;
  const AbstractValue &computed = ranges.preRounding(value);
  bool likely = computed.hasLikely();
  for (const Cell &cell : computed.cells()) {
    double hi = likely ? cell.likelyHi : cell.hi;
    double lo = likely ? cell.likelyLo : cell.lo;
    if (positive ? hi >= format->overflowFrom ||
                       (cell.lo <= cell.hi && cell.lo >= format->overflowFrom)
                 : lo <= -format->overflowFrom ||
                       (cell.lo <= cell.hi && cell.hi <= -format->overflowFrom))
      return true;
  }
  return false;
}

/// The infinities that storing a value makes of finite elements.
InfinityWalk::Flags InfinityWalk::storedAs(Value value) const {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  if (!format || !isLowPrecision(getElementType(value)))
    return {};
  Flags flags;
  if (isConstant(value)) {
    // A fact of the file.
    flags.posInf = isExpected(value, true);
    flags.negInf = isExpected(value, false);
  } else if (const OverflowSite *site = sites.find(value);
             site && site->certainty >= Certainty::Likely) {
    flags.posInf = isExpected(value, true);
    flags.negInf = isExpected(value, false);
    // A mask, of which nothing is expected.
    if (!flags.any())
      (site->form == OverflowForm::Mask ? flags.negInf : flags.posInf) = true;
  }
  if (!format->hasInf && flags.any())
    flags = {format->hasNaN, false, false};
  return flags;
}

/// The share of the elements that are expected past the edge, at least one.
static double shareExpected(Value value, const RangeAnalysis &ranges,
                            const TransferContext &base) {
  const AbstractValue &computed = ranges.preRounding(value);
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  double count = std::max(base.elementsPerGroup(value, 1), 1.0), share = 0;
  for (const Cell &cell : computed.cells()) {
    double deviation = std::sqrt(std::max(cell.variance, 1e-300));
    share +=
        0.5 *
        (std::erfc((format.overflowFrom - cell.mean) / deviation * M_SQRT1_2) +
         std::erfc((format.overflowFrom + cell.mean) / deviation * M_SQRT1_2));
  }
  return std::max(share / double(computed.groups()), 1 / count);
}

/// The share of the elements of a result that read one of an operand's.
double InfinityWalk::shareFrom(Value operand, Value result) const {
  auto state = states.find(operand);
  if (state == states.end())
    return 0;
  double share = std::min(state->second.share, 1.0);
  double read = base.elementsPerGroup(operand, 1),
         made = base.elementsPerGroup(result, 1);
  return read > made && share < 1
             ? -std::expm1(read / made * std::log1p(-share))
             : share;
}

void InfinityWalk::begin(Value value, Flags flags) {
  if (!flags.any())
    return;
  State &state = states[value];
  state.flags.nan |= flags.nan;
  state.flags.posInf |= flags.posInf;
  state.flags.negInf |= flags.negInf;
  state.origins.set(begins.size());
  state.share = std::max(state.share, shareExpected(value, ranges, base));
  begins.push_back(value);
}

//===----------------------------------------------------------------------===//
// The way
//===----------------------------------------------------------------------===//

/// True if an infinite element of the operand is as if it were not there: -Inf
/// among other scores.
bool InfinityWalk::takesNoPart(Operation *op, unsigned operand) const {
  Value value = op->getOperand(operand);
  if (hasRole(op, Role::Attention))
    return operand > 2;
  if (!hasRole(op, Role::Maskable) || op->getOperand(0) != value)
    return false;
  // A row without another score is NaN.
  if (std::optional<MaskedScores> scores = findMaskedScores(value, ranges))
    return scores->expectedRows < 0.5;
  // They may have become infinite in a narrower dtype than they are read in.
  double edge = kInfinity;
  for (unsigned origin : originsOf(value))
    if (const FloatFormat *format =
            getFloatFormat(getElementType(begins[origin])))
      edge = std::min(edge, format->overflowFrom);
  Cell hull = ranges.preRounding(value).hull();
  double most = ranges.preRounding(value).hasLikely() ? hull.likelyHi : hull.hi;
  return most > -edge;
}

const AbstractValue &InfinityWalk::of(Value value) {
  auto [entry, isNew] = seen.try_emplace(value, ranges.of(value));
  AbstractValue &its = entry->second;
  if (!isNew)
    return its;
  its.setNonFinite(false, false, false);
  auto state = states.find(value);
  if (state != states.end() && showsInfinities) {
    const Flags &flags = state->second.flags;
    bool dropped = false;
    for (auto [index, operand] : llvm::enumerate(current->getOperands()))
      dropped |= operand == value && takesNoPart(current, index);
    its.setNonFinite(flags.nan, flags.posInf, flags.negInf && !dropped);
  }
  if (its.hasLikely())
    for (CellRef cell : its.mutableCells())
      // Estimates are not rounded: those of one number lie beside it.
      if (double lo = std::max(cell.lo, cell.likelyLo),
          hi = std::min(cell.hi, cell.likelyHi);
          lo <= hi) {
        cell.lo = lo;
        cell.hi = hi;
      }
  return its;
}

void InfinityWalk::setValue(Value value, AbstractValue pre) {
  given[value] = {pre.nan, pre.posInf, pre.negInf};
}

/// A branch has what the bodies that may run yield.
void InfinityWalk::choose(mp::IfOp branch) {
  for (Region *body : findLiveBodies(branch, ranges)) {
    for (Operation &op : body->front())
      visit(&op);
    for (auto [result, yielded] :
         llvm::zip(branch.getResults(),
                   body->front().getTerminator()->getOperands())) {
      lost[result] = std::max(lost.lookup(result), lost.lookup(yielded));
      auto found = states.find(yielded);
      if (found == states.end())
        continue;
      State from = found->second;
      State &state = states[result];
      state.flags.nan |= from.flags.nan;
      state.flags.posInf |= from.flags.posInf;
      state.flags.negInf |= from.flags.negInf;
      state.origins |= from.origins;
      state.share = std::max(state.share, from.share);
    }
  }
}

void InfinityWalk::visit(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>() || op->getNumResults() == 0)
    return;
  if (auto branch = dyn_cast<mp::IfOp>(op))
    return choose(branch);
  SetVector<Value> read;
  for (OpOperand &use : op->getOpOperands())
    if (isReadInside(use))
      read.insert(use.get());
  getUsedValuesDefinedAbove(op->getRegions(), read);
  llvm::SparseBitVector<> origins;
  for (Value value : read)
    origins |= originsOf(value);
  for (Value result : op->getResults())
    begin(result, storedAs(result));
  if (auto found = made.find(op); found != made.end())
    begin(op->getResult(0), found->second);
  // Infinities that begin inside of a body.
  op->walk([&](Operation *inner) {
    if (inner == op)
      return;
    for (Value value : inner->getResults())
      if (Flags flags = storedAs(value); flags.any())
        for (Value result : op->getResults())
          if (isa<FloatType>(getElementType(result)))
            begin(result, flags);
  });
  if (origins.empty())
    return;
  auto pass = [&](Value result, Flags flags) {
    if (!flags.any() || !isa<FloatType>(getElementType(result)))
      return;
    State &state = states[result];
    state.flags.nan |= flags.nan;
    state.flags.posInf |= flags.posInf;
    state.flags.negInf |= flags.negInf;
    state.origins |= origins;
    for (Value operand : op->getOperands())
      state.share = std::max(state.share, shareFrom(operand, result));
  };
  // A variance that is Inf makes its channel the bias.
  if (Value variance = op->getOperands().back();
      hasRole(op, Role::BatchNorm) && !originsOf(variance).empty() &&
      llvm::none_of(op->getOperands().drop_back(), [&](Value operand) {
        return !originsOf(operand).empty();
      })) {
    lost[op->getResult(0)] = states[variance].share;
    return;
  }
  auto transfer = dyn_cast<RangeOpInterface>(op);
  if (!transfer || op->getNumRegions() != 0) {
    for (Value result : op->getResults())
      pass(result, {true, false, false});
    return;
  }
  Operation *outer = std::exchange(current, op);
  auto flagsWith = [&](bool infinities) {
    showsInfinities = infinities;
    seen.clear();
    given.clear();
    transfer.transfer(*this);
    seen.clear();
    return std::exchange(given, llvm::DenseMap<Value, Flags>());
  };
  llvm::DenseMap<Value, Flags> with = flagsWith(true), without;
  // Weights are read with their infinities both times.
  // So are estimates that have no end.
  bool holds = llvm::any_of(op->getOperands(), [&](Value operand) {
    if (originsOf(operand).empty())
      return false;
    const AbstractValue &its = ranges.preRounding(operand);
    return isConstant(operand) || !its.hasLikely() ||
           !std::isfinite(its.hull().likelyHi - its.hull().likelyLo);
  });
  if (!holds && llvm::any_of(with, [](const auto &flagged) {
        return flagged.second.any();
      }))
    without = flagsWith(false);
  current = outer;
  bool chooses =
      hasRole(op, Role::Picks | Role::Select | Role::Limit | Role::Gathers);
  // No chosen element is past the edge where the estimate, which
  // had them in front of the op, no longer has.
  auto leavesOut = [&](Value result, bool positive) {
    return chooses && ranges.preRounding(result).hasLikely() &&
           getFloatFormat(getElementType(result)) &&
           !isExpected(result, positive) &&
           llvm::any_of(op->getOperands(), [&](Value operand) {
             return !originsOf(operand).empty() &&
                    isExpected(operand, positive);
           });
  };
  for (Value result : op->getResults()) {
    Flags flags = with.lookup(result), plain = without.lookup(result);
    flags.nan &= !plain.nan;
    flags.posInf &= !plain.posInf;
    flags.negInf &= !plain.negInf;
    flags.posInf &= !leavesOut(result, true);
    flags.negInf &= !leavesOut(result, false);
    pass(result, flags);
    // A quotient is 0 where it divides by Inf: what FP32 has there is lost.
    std::optional<unsigned> divisor = divisorOperand(op);
    if (!flags.any() &&
        (divisor || hasRole(op, Role::Reciprocal | Role::Power)))
      lost[result] =
          std::max(lost.lookup(result),
                   shareFrom(op->getOperand(divisor.value_or(0)), result));
  }
}
