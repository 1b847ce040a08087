//===- Select.cpp - Ranges of choices
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A condition refines what it guards: in where(x > 0, x, 1) the chosen x is
// positive. Seen where the branch is the compared value itself.
//
//===----------------------------------------------------------------------===//

#include "Comparison.h"
#include "lib/Ranges/Ops/Families.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using range::Comparison;
using range::Truth;

static Comparison negate(Comparison comparison) {
  switch (comparison) {
  case Comparison::Equal:
    return Comparison::NotEqual;
  case Comparison::NotEqual:
    return Comparison::Equal;
  case Comparison::Less:
    return Comparison::GreaterEqual;
  case Comparison::LessEqual:
    return Comparison::Greater;
  case Comparison::Greater:
    return Comparison::LessEqual;
  case Comparison::GreaterEqual:
    return Comparison::Less;
  }
  llvm_unreachable("unknown comparison");
}

static Comparison swapSides(Comparison comparison) {
  switch (comparison) {
  case Comparison::Less:
    return Comparison::Greater;
  case Comparison::LessEqual:
    return Comparison::GreaterEqual;
  case Comparison::Greater:
    return Comparison::Less;
  case Comparison::GreaterEqual:
    return Comparison::LessEqual;
  default:
    return comparison;
  }
}

namespace {
/// `branch comparison bound` holds where the branch is taken. The NaN that
/// makes every comparison but != false is in the branch of the negation.
struct Guard {
  Comparison comparison;
  Value bound;
  bool negated;
};
} // namespace

/// Every comparison with `branch` that holds where it is taken: of a
/// conjunction all of them, and of a disjunction that is false.
static void findGuards(Value condition, bool taken, Value branch,
                       TransferContext &ctx, SmallVectorImpl<Guard> &guards,
                       unsigned depth = 4) {
  while (Operation *op = condition.getDefiningOp()) {
    if (isa<mp::LogicalNotOp>(op))
      taken = !taken;
    else if (!isa<mp::IdentityOp>(op))
      break;
    condition = op->getOperand(0);
  }
  Operation *op = condition.getDefiningOp();
  if (op && depth &&
      (taken ? isa<mp::LogicalAndOp>(op) : isa<mp::LogicalOrOp>(op))) {
    for (Value operand : op->getOperands())
      findGuards(operand, taken, branch, ctx, guards, depth - 1);
    return;
  }
  std::optional<Comparison> comparison = op ? getComparison(op) : std::nullopt;
  if (!comparison || !areReal(op))
    return;
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  // Without broadcasting: else an element is guarded by several comparisons,
  // which is sound, but the branch's own shape must be the condition's.
  Comparison holds = *comparison;
  if (ctx.isSameValue(rhs, branch) && !ctx.isSameValue(lhs, branch)) {
    std::swap(lhs, rhs);
    holds = swapSides(holds);
  }
  if (ctx.isSameValue(lhs, branch))
    guards.push_back(Guard{taken ? holds : negate(holds), rhs, !taken});
}

namespace {
/// The non-finite values that a branch cannot have where it is selected.
struct Excluded {
  bool nan = false, posInf = false, negInf = false;

  FloatRange operator()(FloatRange x) const {
    x.nan &= !nan;
    x.posInf &= !posInf;
    x.negInf &= !negInf;
    return x;
  }
};
} // namespace

/// `where(is_nan(x), 0, x)` and the like.
static Excluded findExcluded(Value condition, bool taken, Value branch,
                             TransferContext &ctx) {
  Operation *op = condition.getDefiningOp();
  for (; isa_and_present<mp::LogicalNotOp, mp::IdentityOp>(op);
       op = op->getOperand(0).getDefiningOp())
    taken ^= isa<mp::LogicalNotOp>(op);
  if (!isa_and_present<mp::IsNanOp, mp::IsInfOp, mp::IsFiniteOp>(op) ||
      !ctx.isSameValue(op->getOperand(0), branch))
    return {};
  if (isa<mp::IsFiniteOp>(op))
    return {taken, taken, taken};
  if (isa<mp::IsNanOp>(op))
    return {!taken, false, false};
  auto inf = cast<mp::IsInfOp>(op);
  return {taken, !taken && inf.getDetectPositive(),
          !taken && inf.getDetectNegative()};
}

/// A branch with the values for which it is taken.
static FloatRange refineBranch(const FloatRange &x, const Guard &guard,
                               const FloatRange &bound) {
  FloatRange refined = range::refine(x, guard.comparison, bound);
  // not (x < NaN) and not (NaN < b) say nothing of x.
  if (guard.negated) {
    refined.nan |= x.nan;
    if (bound.nan)
      return x;
  }
  return refined;
}

/// The estimate of a branch where comparisons with numbers take it.
static Likely expectTaken(const Likely &x, ArrayRef<Guard> guards,
                          ArrayRef<Likely> bounds) {
  Interval range = Interval::whole();
  for (auto [guard, bound] : llvm::zip_equal(guards, bounds)) {
    if (bound.lo != bound.hi)
      continue;
    switch (guard.comparison) {
    case Comparison::Less:
    case Comparison::LessEqual:
      range.hi = std::min(range.hi, bound.hi);
      break;
    case Comparison::Greater:
    case Comparison::GreaterEqual:
      range.lo = std::max(range.lo, bound.lo);
      break;
    case Comparison::Equal:
    case Comparison::NotEqual:
      break;
    }
  }
  return likely::truncate(x, range);
}

/// `lhs` where the condition holds, `rhs` elsewhere.
static void transferChoice(Value condition, Value lhs, Value rhs,
                           TransferContext &ctx) {
  if (!isReal(lhs) || !isReal(rhs))
    return ctx.unknown();
  SmallVector<AbstractValue, 5> values = {ctx.of(condition), ctx.of(lhs),
                                          ctx.of(rhs)};
  SmallVector<Guard, 2> left, right;
  findGuards(condition, true, lhs, ctx, left);
  findGuards(condition, false, rhs, ctx, right);
  Excluded notLeft = findExcluded(condition, true, lhs, ctx),
           notRight = findExcluded(condition, false, rhs, ctx);
  size_t leftAt = values.size(), rightAt = leftAt + left.size();
  for (const auto &guards : {left, right})
    for (const Guard &guard : guards)
      values.push_back(ctx.of(guard.bound));
  AbstractValue result = mapGroups(
      ctx, values,
      [&](ArrayRef<FloatRange> x) {
        Truth truth =
            range::compare(Comparison::NotEqual, x[0], FloatRange::point(0));
        FloatRange a = notLeft(x[1]), b = notRight(x[2]);
        for (auto [guard, bound] :
             llvm::zip(left, x.slice(leftAt, left.size())))
          a = refineBranch(a, guard, bound);
        for (auto [guard, bound] :
             llvm::zip(right, x.slice(rightAt, right.size())))
          b = refineBranch(b, guard, bound);
        return range::where(truth, a, b);
      },
      [&](ArrayRef<Likely> x) {
        double p = std::clamp(x[0].mean, 0.0, 1.0);
        Likely a = expectTaken(x[1], left, x.slice(leftAt, left.size())),
               b = expectTaken(x[2], right, x.slice(rightAt, right.size()));
        if (p == 0)
          return b;
        return p == 1 ? a : likely::mix(a, b, p);
      });
  // A mask of unknown density is no reason to know nothing of the result.
  if (!result.hasLikely() && values[1].hasLikely() && values[2].hasLikely()) {
    values[0].source = LikelySource::Propagated;
    for (CellRef cell : values[0].mutableCells())
      cells::setLikely(cell, chance(0.5));
    AbstractValue mixed = mapGroups(
        ctx, ArrayRef(values).take_front(3),
        [](ArrayRef<FloatRange> x) { return x[1]; },
        [](ArrayRef<Likely> x) { return likely::mix(x[1], x[2], 0.5); });
    if (mixed.dims() == result.dims())
      for (auto [cell, with] : llvm::zip(result.mutableCells(), mixed.cells()))
        cells::setLikely(cell, cells::getLikely(with));
    if (mixed.dims() == result.dims())
      result.source = LikelySource::Propagated;
  }
  ctx.result(0, std::move(result));
}

static void transferWhere(mp::WhereOp op, TransferContext &ctx) {
  transferChoice(op.getCondition(), op.getLhs(), op.getRhs(), ctx);
}

static void transferMaskedFill(mp::MaskedFillOp op, TransferContext &ctx) {
  transferChoice(op.getMask(), op.getValue(), op.getInput(), ctx);
}

/// An end that is not given is nothing (Inf stays) or the kernel's largest
/// number (Inf becomes that), as ONNX Runtime has it.
static FloatRange clipOpenEnds(FloatRange x, bool hasMin, bool hasMax,
                               const FloatFormat &format) {
  if (!hasMax && x.posInf)
    x = join(x, FloatRange::point(format.maxFinite));
  if (!hasMin && x.negInf)
    x = join(x, FloatRange::point(-format.maxFinite));
  return x;
}

static void transferClip(mp::ClipOp op, TransferContext &ctx) {
  if (!areReal(op))
    return ctx.unknown();
  bool hasMin = bool(op.getMin()), hasMax = bool(op.getMax());
  const FloatFormat &format = ctx.functionFormat(op.getInput());
  AbstractValue value = mapGroups(
      ctx, operandsOf(ctx),
      [&](ArrayRef<FloatRange> x) {
        std::optional<FloatRange> low, high;
        if (hasMin)
          low = x[1];
        if (hasMax)
          high = x[hasMin ? 2 : 1];
        // A limit may be Inf itself.
        FloatRange y = range::clip(x[0], low, high);
        return join(y, clipOpenEnds(y, hasMin, hasMax, format));
      },
      [&](ArrayRef<Likely> x) {
        double low = hasMin ? x[1].mean : -INFINITY;
        double high = hasMax ? x[hasMin ? 2 : 1].mean : INFINITY;
        return likely::apply(
            [&](double at) { return std::min(std::max(at, low), high); }, x[0]);
      });
  // Towards zero, if zero is inside the bounds.
  const AbstractValue &input = ctx.operand(0);
  auto holdsZero = [&](Value bound, bool below) {
    if (!bound)
      return true;
    Cell hull = ctx.of(bound).hull();
    return below ? hull.hi <= 0 : hull.lo >= 0;
  };
  if (input.norm && !input.mayBeNonFinite() && holdsZero(op.getMin(), true) &&
      holdsZero(op.getMax(), false) &&
      getShape(op.getInput()) == getShape(op.getResult()))
    value.norm = input.norm;
  ctx.result(0, std::move(value));
}

void mpopt::attachSelectTransfers(MLIRContext *context) {
  attachTransfer<transferWhere, mp::WhereOp>(context);
  attachTransfer<transferMaskedFill, mp::MaskedFillOp>(context);
  attachTransfer<transferClip, mp::ClipOp>(context);
}
