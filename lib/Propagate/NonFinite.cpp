//===- NonFinite.cpp - Propagation of Inf and NaN
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds are cut to what is expected: a divisor that may be 0 by its bound
// alone makes no NaN here. An op gives what its transfer function flags with
// the infinities of its operands and does not without them. Infinities that a
// model holds itself are those of FP32, too, and are not followed.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Propagate/NonFinite.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Propagate/Masks.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/ForwardingContext.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mpopt;

void NonFiniteFlags::join(NonFiniteFlags other) {
  nan |= other.nan;
  posInf |= other.posInf;
  negInf |= other.negInf;
}

bool mpopt::isPastEdge(Value value, bool positive,
                       const RangeAnalysis &ranges) {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  if (!format)
    return false;
  const AbstractValue &computed = ranges.preRounding(value);
  bool likely = computed.hasLikely();
  double edge = format->overflowFrom;
  return llvm::any_of(computed.cells(), [&](const Cell &cell) {
    double hi = likely ? cell.likelyHi : cell.hi;
    double lo = likely ? cell.likelyLo : cell.lo;
    bool isBound = cell.lo <= cell.hi;
    return positive ? hi >= edge || (isBound && cell.lo >= edge)
                    : lo <= -edge || (isBound && cell.hi <= -edge);
  });
}

const llvm::SparseBitVector<> &NonFinite::originsOf(Value value) const {
  static const llvm::SparseBitVector<> kNone;
  auto found = states.find(value);
  return found == states.end() ? kNone : found->second.origins;
}

//===----------------------------------------------------------------------===//
// Shares of elements
//===----------------------------------------------------------------------===//

/// The share of the elements that are expected past the edge, at least one.
static double shareExpected(Value value, const RangeAnalysis &ranges) {
  const AbstractValue &computed = ranges.preRounding(value);
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  double count = std::max(ranges.context().elementsPerGroup(value, 1), 1.0);
  double share = 0;
  for (const Cell &cell : computed.cells()) {
    double deviation = std::sqrt(std::max(cell.variance, 1e-300));
    share += normalShareBelow((cell.mean - format.overflowFrom) / deviation) +
             normalShareBelow(-(cell.mean + format.overflowFrom) / deviation);
  }
  return std::max(share / double(computed.groups()), 1 / count);
}

/// The share of the elements of a result that read one of an operand's.
double NonFinite::shareFrom(Value operand, Value result) const {
  auto state = states.find(operand);
  if (state == states.end())
    return 0;
  double share = std::min(state->second.share, 1.0);
  double read = ranges.context().elementsPerGroup(operand, 1),
         made = ranges.context().elementsPerGroup(result, 1);
  return read > made && share < 1
             ? -std::expm1(read / made * std::log1p(-share))
             : share;
}

//===----------------------------------------------------------------------===//
// The domain
//===----------------------------------------------------------------------===//

void NonFinite::begin(Value value) {
  NonFiniteFlags flags = beginsAt(value);
  if (!flags.any())
    return;
  auto [index, isNew] = indices.try_emplace(value, begins.size());
  if (isNew)
    begins.push_back(value);
  State &state = states[value];
  state.flags.join(flags);
  state.origins.set(index->second);
  state.share = std::max(state.share, shareExpected(value, ranges));
  state.least = std::min(state.least,
                         getFloatFormat(getElementType(value))->overflowFrom);
}

void NonFinite::lose(Value value, Lost elements) {
  Lost &known = lost[value];
  known.most =
      known.share > 0 ? std::max(known.most, elements.most) : elements.most;
  known.share = std::max(known.share, elements.share);
}

bool NonFinite::flow(Value from, Value to) {
  if (Lost elements = lost.lookup(from); elements.share > 0)
    lose(to, elements);
  auto found = states.find(from);
  if (found == states.end() || !isa<FloatType>(getElementType(to)))
    return false;
  State source = found->second;
  State &state = states[to];
  bool changed = (state.origins |= source.origins);
  state.flags.join(source.flags);
  state.share = std::max(state.share, source.share);
  state.least = std::min(state.least, source.least);
  return changed;
}

/// An Inf or NaN that begins in a body, or is read there, comes out of it.
void NonFinite::skip(Operation *op) {
  llvm::SetVector<Value> sources(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), sources);
  op->walk([&](Operation *inner) {
    for (Value value : inner->getResults()) {
      begin(value);
      sources.insert(value);
    }
  });
  for (Value source : sources)
    for (Value result : op->getResults())
      if (flow(source, result))
        states[result].flags.nan = true;
}

/// True if an infinite element of the operand is as if it were not there: -Inf
/// among other scores.
bool NonFinite::takesNoPart(Operation *op, unsigned operand) const {
  Value value = op->getOperand(operand);
  if (hasRole(op, Role::Attention))
    return operand > 2;
  if (!hasRole(op, Role::Maskable) || op->getOperand(0) != value)
    return false;
  // A row without another score is NaN.
  if (std::optional<MaskedScores> scores = findMaskedScores(value, ranges))
    return scores->expectedRows < 0.5;
  if (hidesOwnRow(value))
    return false;
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

/// Evaluates an op's transfer function with what is expected of its operands in
/// place of bounds.
class NonFinite::Context : public ForwardingContext<> {
public:
  /// Of operands some of whose elements are infinite: the others, all, or what
  /// the infinite ones are in FP32.
  enum class Reads { Finite, All, Infinite };
  Context(const NonFinite &domain, Operation *op, Reads reads)
      : ForwardingContext(domain.ranges.context()), domain(domain),
        reads(reads) {
    current = op;
  }

  /// The flags of the results.
  Given evaluate() {
    cast<RangeOpInterface>(current).transfer(*this);
    return std::move(given);
  }
  llvm::DenseMap<Value, Interval> bounds; // of results

  const AbstractValue &of(Value value) override;
  const AbstractValue &preRounding(Value value) override { return of(value); }
  bool needsBounds() const override { return false; }
  /// Bounds are those of what is expected, not nearly those of a wider box.
  SharedSums sharedSums() override { return {base.sharedSums().memo, false}; }
  void setArgument(BlockArgument, AbstractValue) override {}
  void walk(Region &) override {}

protected:
  void setValue(Value value, AbstractValue pre) override {
    given[value] = {pre.nan, pre.posInf, pre.negInf};
    Cell hull = pre.hull();
    bounds[value] = {hull.lo, hull.hi};
  }

private:
  const NonFinite &domain;
  Reads reads;
  std::unordered_map<Value, AbstractValue, Hash> seen;
  Given given;
};

const AbstractValue &NonFinite::Context::of(Value value) {
  auto [entry, isNew] = seen.try_emplace(value, domain.ranges.of(value));
  AbstractValue &its = entry->second;
  if (!isNew)
    return its;
  its.setNonFinite(false, false, false);
  auto state = domain.states.find(value);
  if (state != domain.states.end() && reads == Reads::All) {
    const NonFiniteFlags &flags = state->second.flags;
    bool dropped = false;
    for (auto [index, operand] : llvm::enumerate(current->getOperands()))
      dropped |= operand == value && domain.takesNoPart(current, index);
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
  if (state == domain.states.end() || reads != Reads::Infinite)
    return its;
  const auto &[flags, origins, share, least] = state->second;
  bool isPositive = !flags.nan && !flags.negInf;
  bool isNegative = !flags.nan && !flags.posInf;
  for (CellRef cell : its.mutableCells()) {
    cell.lo = isPositive ? std::max(cell.lo, least) : cell.lo;
    cell.hi = isNegative ? std::min(cell.hi, -least) : cell.hi;
  }
  return its;
}

/// Magnitudes that elements of a result have in FP32 where elements of operands
/// become infinite.
Interval NonFinite::sizeOfInfinite(Operation *op, Value result) const {
  // A sum of infinite elements and finite ones tells nothing of the others.
  constexpr Role kElementwise = Role::Arithmetic | Role::Negation |
                                Role::Power | Role::Reciprocal | Role::Root;
  if (!hasRole(op, kElementwise))
    return {0, kInfinity};
  Context context(*this, op, Context::Reads::Infinite);
  context.evaluate();
  Interval its = context.bounds.lookup(result);
  if (its.lo > its.hi)
    return {0, kInfinity};
  return {std::max({0.0, its.lo, -its.hi}),
          std::max(std::fabs(its.lo), std::fabs(its.hi))};
}

/// No chosen element is past the edge where the estimate, which had them in
/// front of the op, no longer has.
bool NonFinite::leavesOut(Operation *op, Value result, bool positive) const {
  return ranges.preRounding(result).hasLikely() &&
         getFloatFormat(getElementType(result)) &&
         !isPastEdge(result, positive, ranges) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return !originsOf(operand).empty() &&
                  isPastEdge(operand, positive, ranges);
         });
}

/// The flags that the op has by infinities of its operands.
NonFinite::Given NonFinite::evaluateNew(Operation *op) {
  Given with = Context(*this, op, Context::Reads::All).evaluate();
  // Weights are read with their infinities both times, and so are estimates
  // that have no end.
  bool holds = llvm::any_of(op->getOperands(), [&](Value operand) {
    if (originsOf(operand).empty())
      return false;
    const AbstractValue &its = ranges.preRounding(operand);
    return isConstant(operand) || !its.hasLikely() ||
           !std::isfinite(its.hull().likelyHi - its.hull().likelyLo);
  });
  auto isFlagged = [](const auto &entry) { return entry.second.any(); };
  if (holds || llvm::none_of(with, isFlagged))
    return with;
  for (auto [value, plain] :
       Context(*this, op, Context::Reads::Finite).evaluate()) {
    NonFiniteFlags &flags = with[value];
    flags.nan &= !plain.nan;
    flags.posInf &= !plain.posInf;
    flags.negInf &= !plain.negInf;
  }
  return with;
}

void NonFinite::pass(Operation *op, Value result, NonFiniteFlags flags) {
  if (!flags.any() || !isa<FloatType>(getElementType(result)))
    return;
  State &state = states[result];
  state.flags.join(flags);
  state.least =
      std::min(state.least,
               isa<RangeOpInterface>(op) ? sizeOfInfinite(op, result).lo : 0.0);
  for (Value operand : op->getOperands()) {
    state.origins |= originsOf(operand);
    state.share = std::max(state.share, shareFrom(operand, result));
  }
}

/// True if nothing but the kept variance is Inf, so that each element becomes
/// the bias.
bool NonFinite::isNormalizedByInf(Operation *op) const {
  return hasRole(op, Role::BatchNorm) &&
         !originsOf(op->getOperands().back()).empty() &&
         llvm::none_of(op->getOperands().drop_back(), [&](Value operand) {
           return !originsOf(operand).empty();
         });
}

void NonFinite::transfer(Operation *op, OpKind kind) {
  llvm::for_each(op->getResults(), [&](Value result) { begin(result); });
  if (llvm::all_of(op->getOperands(),
                   [&](Value operand) { return originsOf(operand).empty(); }))
    return;
  if (isNormalizedByInf(op)) {
    lose(op->getResult(0), {states[op->getOperands().back()].share});
    return;
  }
  if (!isa<RangeOpInterface>(op)) {
    for (Value result : op->getResults())
      pass(op, result, {true, false, false});
    return;
  }
  Given flagged = evaluateNew(op);
  bool chooses = kind == OpKind::Select || kind == OpKind::Gather;
  std::optional<unsigned> divisor = divisorOperand(op);
  for (Value result : op->getResults()) {
    NonFiniteFlags flags = flagged.lookup(result);
    flags.posInf &= !(chooses && leavesOut(op, result, true));
    flags.negInf &= !(chooses && leavesOut(op, result, false));
    pass(op, result, flags);
    // A quotient is 0 where it divides by Inf: what FP32 has there is lost.
    if (!flags.any() &&
        (divisor || hasRole(op, Role::Reciprocal | Role::Power)))
      lose(result, {shareFrom(op->getOperand(divisor.value_or(0)), result),
                    sizeOfInfinite(op, result).hi});
  }
}
