//===- Comparison.cpp - Ranges of comparisons and of logic
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops with boolean results: comparisons, predicates, and, or, not.
//
//===----------------------------------------------------------------------===//

#include "Comparison.h"
#include "lib/Ranges/Ops/Families.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using range::Comparison;
using range::Truth;

Likely mpopt::chance(double probability) {
  double p = std::clamp(probability, 0.0, 1.0);
  return {p, p * (1 - p), p < 1 ? 0.0 : 1.0, p > 0 ? 1.0 : 0.0};
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

std::optional<Comparison> mpopt::getComparison(Operation *op) {
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

/// How probable a = b is of whole numbers, both being normal.
static double probablyEqual(const Likely &a, const Likely &b) {
  if (a.hi < b.lo || a.lo > b.hi)
    return 0;
  double variance = a.variance + b.variance, off = a.mean - b.mean;
  if (variance == 0)
    return off == 0 ? 1 : 0;
  return std::min(1.0, std::exp(-off * off / (2 * variance)) /
                           std::sqrt(2 * M_PI * variance));
}

/// True if whole numbers are compared with several whole numbers, as where one
/// is made hot. One number that is looked for is of a kind of its own, a
/// padding, and more frequent than others.
static bool comparesSeveral(TransferContext &ctx) {
  return llvm::all_of(llvm::seq(2u), [&](unsigned index) {
    const AbstractValue &operand = ctx.operand(index);
    Cell hull = operand.hull();
    return operand.integral && operand.hasLikely() &&
           hull.likelyLo < hull.likelyHi;
  });
}

static double probability(Comparison comparison, const Likely &a,
                          const Likely &b, bool several) {
  switch (comparison) {
  case Comparison::Less:
  case Comparison::LessEqual:
    return probablyLess(a, b);
  case Comparison::Greater:
  case Comparison::GreaterEqual:
    return probablyLess(b, a);
  case Comparison::Equal:
    if (several)
      return probablyEqual(a, b);
    return a.lo == a.hi && b.lo == b.hi && a.lo == b.lo ? 1 : 0.1;
  case Comparison::NotEqual:
    if (several)
      return 1 - probablyEqual(a, b);
    return a.lo == a.hi && b.lo == b.hi && a.lo == b.lo ? 0 : 0.9;
  }
  llvm_unreachable("unknown comparison");
}

/// 64-bit integers past 2^53 are no doubles: two different ones may be equal as
/// ends of a bound, which matters where the answer hangs on one.
static bool isExact(const FloatRange &range) {
  return range.finite.maxAbs() < 0x1p53;
}

/// The share of elements that are equal to the extreme of theirs, one of each
/// group that is reduced; nothing for other comparisons. The gradient of an
/// extreme asks it.
static std::optional<double> shareOfExtreme(mp::EqualOp op) {
  if (!op)
    return std::nullopt;
  for (unsigned index : {0u, 1u}) {
    Operation *extreme = getMaker(op->getOperand(index));
    // Dims of one may have been put back.
    while (extreme && isViewLike(extreme))
      extreme = getMaker(extreme->getOperand(0));
    if (!isa_and_nonnull<mp::ReduceMaxOp, mp::ReduceMinOp>(extreme) ||
        peel(extreme->getOperand(0)) != peel(op->getOperand(1 - index)))
      continue;
    auto all = getNumElements(getShape(extreme->getOperand(0)));
    auto groups = getNumElements(getShape(extreme->getResult(0)));
    if (all && groups && *all > 0)
      return double(*groups) / double(*all);
  }
  return std::nullopt;
}

static void transferCompare(Operation *op, TransferContext &ctx) {
  Comparison comparison = *getComparison(op);
  if (!areReal(op))
    return ctx.unknown();
  bool several = comparesSeveral(ctx);
  std::optional<double> extremes = shareOfExtreme(dyn_cast<mp::EqualOp>(op));
  ctx.result(0, mapGroups(
                    ctx, operandsOf(ctx),
                    [&](ArrayRef<FloatRange> x) {
                      if (x[0].integral && x[1].integral &&
                          !(isExact(x[0]) && isExact(x[1])))
                        return Truth::unknown().toRange();
                      return range::compare(comparison, x[0], x[1]).toRange();
                    },
                    [&](ArrayRef<Likely> x) {
                      return chance(extremes ? *extremes
                                             : probability(comparison, x[0],
                                                           x[1], several));
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
// Logic
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

namespace {
/// x between a and a + h, which depend on each other.
struct Band {
  Value x, edge, width;
};
} // namespace

/// `value` is a limit that `x` is above, or below if `below`; null for other
/// comparisons and for other numbers.
static Value findLimit(Operation *op, Value x, bool below) {
  std::optional<Comparison> comparison = op ? getComparison(op) : std::nullopt;
  if (!comparison)
    return {};
  bool less =
      *comparison == Comparison::Less || *comparison == Comparison::LessEqual;
  bool greater = *comparison == Comparison::Greater ||
                 *comparison == Comparison::GreaterEqual;
  Value lhs = peel(op->getOperand(0)), rhs = peel(op->getOperand(1));
  if (lhs == x && (below ? less : greater))
    return rhs;
  return rhs == x && (below ? greater : less) ? lhs : Value();
}

/// Nothing if the conjunction is none of a <= x and x <= a + h.
static std::optional<Band> findBand(Operation *op) {
  for (unsigned lower : {0u, 1u}) {
    Operation *above = getMaker(op->getOperand(lower)),
              *below = getMaker(op->getOperand(1 - lower));
    if (!above || !below || above->getNumOperands() != 2)
      continue;
    for (Value x : above->getOperands()) {
      Value edge = findLimit(above, peel(x), /*below=*/false);
      Value end = edge ? findLimit(below, peel(x), /*below=*/true) : Value();
      Operation *sum = end ? end.getDefiningOp() : nullptr;
      if (!hasRole(sum, Role::Addition) || sum->getNumOperands() != 2)
        continue;
      for (unsigned index : {0u, 1u})
        if (peel(sum->getOperand(index)) == edge)
          return Band{peel(x), edge, sum->getOperand(1 - index)};
    }
  }
  return std::nullopt;
}

/// The share of x - a, taken as normal, between 0 and the mean of h.
static std::optional<double> shareOfBand(const Band &band,
                                         TransferContext &ctx) {
  const AbstractValue &x = ctx.of(band.x), &edge = ctx.of(band.edge),
                      &width = ctx.of(band.width);
  if (!x.hasLikely() || !edge.hasLikely() || !width.hasLikely())
    return std::nullopt;
  double variance = x.hull().variance + edge.hull().variance;
  double mean = x.hull().mean - edge.hull().mean, end = width.hull().mean;
  if (!(variance > 0))
    return std::nullopt;
  double deviation = std::sqrt(variance);
  return std::max(0.0, normalShareBelow((end - mean) / deviation) -
                           normalShareBelow(-mean / deviation));
}

/// and, or, xor of truths.
static void transferLogical(Operation *op, TransferContext &ctx) {
  if (!areReal(op))
    return ctx.unknown();
  auto truth = [](const FloatRange &x) {
    return range::compare(Comparison::NotEqual, x, FloatRange::point(0));
  };
  bool isAnd = isa<mp::LogicalAndOp>(op), isOr = isa<mp::LogicalOrOp>(op);
  std::optional<Band> band = isAnd ? findBand(op) : std::nullopt;
  std::optional<double> share = band ? shareOfBand(*band, ctx) : std::nullopt;
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
                      if (share)
                        return chance(*share);
                      return chance(isAnd  ? p * q
                                    : isOr ? p + q - p * q
                                           : p + q - 2 * p * q);
                    }));
}

void mpopt::attachComparisonTransfers(MLIRContext *context) {
  attachTransfer<transferCompare, mp::EqualOp, mp::NotEqualOp, mp::LessOp,
                 mp::LessEqualOp, mp::GreaterOp, mp::GreaterEqualOp>(context);
  attachTransfer<transferPredicate, mp::IsNanOp, mp::IsInfOp, mp::IsFiniteOp>(
      context);
  attachTransfer<transferLogicalNot, mp::LogicalNotOp>(context);
  attachTransfer<transferLogical, mp::LogicalAndOp, mp::LogicalOrOp,
                 mp::LogicalXorOp>(context);
}
