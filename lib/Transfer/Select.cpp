//===- Select.cpp - Ranges of comparisons, choices and bits
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A condition refines what it guards: in where(x > 0, x, 1) the chosen x is
// positive. Seen where the branch is the compared value itself.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Transfer/ElementwiseSupport.h"
#include "mpopt/Transfer/Math/Binary.h"
#include "mpopt/Transfer/Math/Integer.h"
#include "mpopt/Transfer/RangeInterface.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using range::Comparison;
using range::Truth;

static bool isReal(Value value) {
  return isa<FloatType, IntegerType>(getElementType(value));
}
static bool areReal(ValueRange values) { return llvm::all_of(values, isReal); }

static SmallVector<AbstractValue, 3> operandsOf(TransferContext &ctx) {
  SmallVector<AbstractValue, 3> values;
  for (Value operand : ctx.op()->getOperands())
    values.push_back(ctx.of(operand));
  return values;
}

/// 1 with this probability.
static Likely chance(double probability) {
  double p = std::clamp(probability, 0.0, 1.0);
  return {p, p * (1 - p), p < 1 ? 0.0 : 1.0, p > 0 ? 1.0 : 0.0};
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

static std::optional<Comparison> getComparison(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Comparison>>(op)
      .Case<mp::EqualOp>([](auto) { return Comparison::Equal; })
      .Case<mp::NotEqualOp>([](auto) { return Comparison::NotEqual; })
      .Case<mp::LessOp>([](auto) { return Comparison::Less; })
      .Case<mp::LessEqualOp>([](auto) { return Comparison::LessEqual; })
      .Case<mp::GreaterOp>([](auto) { return Comparison::Greater; })
      .Case<mp::GreaterEqualOp>([](auto) { return Comparison::GreaterEqual; })
      .Default(std::nullopt);
}

/// How probable a < b is, both being normal.
static double probablyLess(const Likely &a, const Likely &b) {
  if (a.hi < b.lo)
    return 1;
  if (a.lo > b.hi)
    return 0;
  double spread = std::sqrt(a.variance + b.variance);
  return spread > 0 ? std::erfc((a.mean - b.mean) / spread * M_SQRT1_2) / 2
                    : 0.5;
}

static double probability(Comparison comparison, const Likely &a,
                          const Likely &b) {
  switch (comparison) {
  case Comparison::Less:
  case Comparison::LessEqual:
    return probablyLess(a, b);
  case Comparison::Greater:
  case Comparison::GreaterEqual:
    return probablyLess(b, a);
  case Comparison::Equal:
    return a.lo == a.hi && b.lo == b.hi && a.lo == b.lo ? 1 : 0.1;
  case Comparison::NotEqual:
    return a.lo == a.hi && b.lo == b.hi && a.lo == b.lo ? 0 : 0.9;
  }
  llvm_unreachable("unknown comparison");
}

/// 64-bit integers past 2^53 are no doubles: two different ones may be equal as
/// ends of a bound, which matters where the answer hangs on one.
static bool isExact(const FloatRange &range) {
  return range.finite.maxAbs() < 0x1p53;
}

static void transferCompare(Operation *op, TransferContext &ctx) {
  Comparison comparison = *getComparison(op);
  if (!areReal(op->getOperands()))
    return ctx.unknown();
  ctx.result(0, mapGroups(
                    ctx, operandsOf(ctx),
                    [&](ArrayRef<FloatRange> x) {
                      if (x[0].integral && x[1].integral &&
                          !(isExact(x[0]) && isExact(x[1])))
                        return Truth::unknown().toRange();
                      return range::compare(comparison, x[0], x[1]).toRange();
                    },
                    [&](ArrayRef<Likely> x) {
                      return chance(probability(comparison, x[0], x[1]));
                    }));
}

/// is_nan, is_inf, is_finite.
static void transferPredicate(Operation *op, TransferContext &ctx) {
  if (!isReal(op->getOperand(0)))
    return ctx.unknown();
  ctx.result(0, mapGroups(
                    ctx, ctx.operand(0),
                    [&](ArrayRef<FloatRange> x) {
                      if (isa<mp::IsNanOp>(op))
                        return range::isNaN(x[0]).toRange();
                      if (auto inf = dyn_cast<mp::IsInfOp>(op))
                        return range::isInf(x[0], inf.getDetectNegative(),
                                            inf.getDetectPositive())
                            .toRange();
                      return range::isFinite(x[0]).toRange();
                    },
                    [&](ArrayRef<Likely>) {
                      return chance(isa<mp::IsFiniteOp>(op) ? 1 : 0);
                    }));
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

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
  if (!comparison || !areReal(op->getOperands()))
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
/// What a branch cannot be where it is taken.
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
  for (; op && isa<mp::LogicalNotOp, mp::IdentityOp>(op);
       op = op->getOperand(0).getDefiningOp())
    taken ^= isa<mp::LogicalNotOp>(op);
  if (!op || !isa<mp::IsNanOp, mp::IsInfOp, mp::IsFiniteOp>(op) ||
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
      [](ArrayRef<Likely> x) {
        double p = std::clamp(x[0].mean, 0.0, 1.0);
        if (p == 0)
          return x[2];
        return p == 1 ? x[1] : likely::mix(x[1], x[2], p);
      });
  // A mask of unknown density is no reason to know nothing of the result.
  if (!result.hasLikely() && values[1].hasLikely() && values[2].hasLikely()) {
    values[0].source = LikelySource::Propagated;
    for (Cell &cell : values[0].mutableCells())
      setLikely(cell, chance(0.5));
    AbstractValue mixed = mapGroups(
        ctx, ArrayRef(values).take_front(3),
        [](ArrayRef<FloatRange> x) { return x[1]; },
        [](ArrayRef<Likely> x) { return likely::mix(x[1], x[2], 0.5); });
    if (mixed.dims() == result.dims())
      for (auto [cell, with] : llvm::zip(result.mutableCells(), mixed.cells()))
        setLikely(cell, getLikely(with));
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
  if (!areReal(op->getOperands()))
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
        return range::clip(clipOpenEnds(x[0], hasMin, hasMax, format), low,
                           high);
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

//===----------------------------------------------------------------------===//
// Fused ops
//===----------------------------------------------------------------------===//

static double extremeOf(TransferContext &ctx) {
  return expectedExtreme(
      ctx.elementsPerGroup(ctx.op()->getResult(0), ctx.operand(0).groups()),
      /*draws=*/1);
}

static void transferAddcmul(Operation *op, TransferContext &ctx) {
  if (!areReal(op->getOperands()))
    return ctx.unknown();
  ComputeError error = functionError(ctx, op->getOperand(0));
  bool divides = isa<mp::AddcdivOp>(op);
  double factor = divides
                      ? cast<mp::AddcdivOp>(op).getValue().convertToDouble()
                      : cast<mp::AddcmulOp>(op).getValue().convertToDouble();
  double k = extremeOf(ctx);
  ctx.result(
      0, mapGroups(
             ctx, operandsOf(ctx),
             [&](ArrayRef<FloatRange> x) {
               return divides ? range::addcdiv(x[0], x[1], x[2], factor, error)
                              : range::addcmul(x[0], x[1], x[2], factor, error);
             },
             [&](ArrayRef<Likely> x) {
               Likely term = divides ? likely::div(x[1], x[2], k)
                                     : likely::mul(x[1], x[2], k);
               return likely::add(x[0], likely::affine(term, factor, 0));
             }));
}

static void transferLerp(mp::LerpOp op, TransferContext &ctx) {
  if (!areReal(op->getOperands()))
    return ctx.unknown();
  ComputeError error = functionError(ctx, op.getLhs());
  double k = extremeOf(ctx);
  ctx.result(0, mapGroups(
                    ctx, operandsOf(ctx),
                    [&](ArrayRef<FloatRange> x) {
                      return range::lerp(x[0], x[1], x[2], error);
                    },
                    [&](ArrayRef<Likely> x) {
                      return likely::add(
                          x[0], likely::mul(x[2], likely::sub(x[1], x[0]), k));
                    }));
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

static void transferLogicalNot(mp::LogicalNotOp, TransferContext &ctx) {
  ctx.result(0, mapGroups(
                    ctx, ctx.operand(0),
                    [](ArrayRef<FloatRange> x) {
                      return (!range::compare(Comparison::NotEqual, x[0],
                                              FloatRange::point(0)))
                          .toRange();
                    },
                    [](ArrayRef<Likely> x) { return chance(1 - x[0].mean); }));
}

/// and, or, xor of truths.
static void transferLogical(Operation *op, TransferContext &ctx) {
  if (!areReal(op->getOperands()))
    return ctx.unknown();
  auto truth = [](const FloatRange &x) {
    return range::compare(Comparison::NotEqual, x, FloatRange::point(0));
  };
  bool isAnd = isa<mp::LogicalAndOp>(op), isOr = isa<mp::LogicalOrOp>(op);
  ctx.result(0, mapGroups(
                    ctx, operandsOf(ctx),
                    [&](ArrayRef<FloatRange> x) {
                      Truth a = truth(x[0]), b = truth(x[1]);
                      if (isAnd)
                        return Truth{a.mayBeTrue && b.mayBeTrue,
                                     a.mayBeFalse || b.mayBeFalse}
                            .toRange();
                      if (isOr)
                        return Truth{a.mayBeTrue || b.mayBeTrue,
                                     a.mayBeFalse && b.mayBeFalse}
                            .toRange();
                      return Truth{(a.mayBeTrue && b.mayBeFalse) ||
                                       (a.mayBeFalse && b.mayBeTrue),
                                   (a.mayBeTrue && b.mayBeTrue) ||
                                       (a.mayBeFalse && b.mayBeFalse)}
                          .toRange();
                    },
                    [&](ArrayRef<Likely> x) {
                      double p = x[0].mean, q = x[1].mean;
                      return chance(isAnd  ? p * q
                                    : isOr ? p + q - p * q
                                           : p + q - 2 * p * q);
                    }));
}

static IntegerFormat getFormat(Value value) {
  auto type = cast<IntegerType>(getElementType(value));
  return {type.getWidth(), !type.isUnsigned()};
}

/// Bits have no distribution to speak of.
static void transferBits(Operation *op, TransferContext &ctx) {
  if (!llvm::all_of(op->getOperands(), [](Value value) {
        return isa<IntegerType>(getElementType(value));
      }))
    return ctx.unknown();
  IntegerFormat format = getFormat(op->getResult(0));
  AbstractValue value = mapGroups(
      ctx, operandsOf(ctx),
      [&](ArrayRef<FloatRange> x) {
        if (isa<mp::BitwiseNotOp>(op))
          return range::bitwiseNot(x[0], format);
        if (isa<mp::BitwiseAndOp>(op))
          return range::bitwiseAnd(x[0], x[1], format);
        if (isa<mp::BitwiseOrOp>(op))
          return range::bitwiseOr(x[0], x[1], format);
        if (isa<mp::BitwiseXorOp>(op))
          return range::bitwiseXor(x[0], x[1], format);
        if (isa<mp::ShiftLeftOp>(op))
          return range::shiftLeft(x[0], x[1], format);
        return range::shiftRight(x[0], x[1], format);
      },
      [](ArrayRef<Likely> x) { return x[0]; });
  value.source = LikelySource::Unknown;
  ctx.result(0, std::move(value));
}

void mpopt::attachSelectTransfers(MLIRContext *context) {
  attachTransfer<transferCompare, mp::EqualOp, mp::NotEqualOp, mp::LessOp,
                 mp::LessEqualOp, mp::GreaterOp, mp::GreaterEqualOp>(context);
  attachTransfer<transferPredicate, mp::IsNanOp, mp::IsInfOp, mp::IsFiniteOp>(
      context);
  attachTransfer<transferWhere, mp::WhereOp>(context);
  attachTransfer<transferMaskedFill, mp::MaskedFillOp>(context);
  attachTransfer<transferClip, mp::ClipOp>(context);
  attachTransfer<transferAddcmul, mp::AddcmulOp, mp::AddcdivOp>(context);
  attachTransfer<transferLerp, mp::LerpOp>(context);
  attachTransfer<transferLogicalNot, mp::LogicalNotOp>(context);
  attachTransfer<transferLogical, mp::LogicalAndOp, mp::LogicalOrOp,
                 mp::LogicalXorOp>(context);
  attachTransfer<transferBits, mp::BitwiseNotOp, mp::BitwiseAndOp,
                 mp::BitwiseOrOp, mp::BitwiseXorOp, mp::ShiftLeftOp,
                 mp::ShiftRightOp>(context);
}
