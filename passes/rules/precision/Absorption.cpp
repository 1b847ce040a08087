//===- Absorption.cpp - MP302: an addend that changes nothing
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not reported are masks, which are there to absorb the score, and epsilons:
// an epsilon beside an ordinary divisor is lost, as it should be. In a
// reduction the terms are those of positions that the estimate tells apart.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/ConstantUses.h"
#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Propagate/InnerSums.h"
#include "mpopt/Repair/Fix.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/MaskUse.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/StorageError.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <algorithm>
#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_ABSORPTION
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct Absorption : RangeRule<Absorption, mpopt::impl::AbsorptionBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);

private:
  void judgeSum(Operation *op, const RangeAnalysis &ranges);
  bool judgeRounded(OpOperand &addend, Value other,
                    const RangeAnalysis &ranges);
  void judgeReduction(Operation *op, const RangeAnalysis &ranges);
};
} // namespace

/// Root mean square, what a typical element is.
static double getTypical(const AbstractValue &value) {
  Cell hull = value.hull();
  return std::sqrt(hull.mean * hull.mean + hull.variance);
}

static bool isMissed(Operation *sum, Value large) {
  // log(1 + x) is 0 without x.
  if (!runsAlways(sum) || planLog1p(sum))
    return true;
  return llvm::any_of(sum->getResult(0).getUsers(), [&](Operation *user) {
    return hasRole(user, Role::Subtraction) &&
           (user->getOperand(0) == large || user->getOperand(1) == large);
  });
}

/// The root mean square of what rounding the result changes, and the sums in
/// front of it where the kernel adds in a narrow format.
static double getRounding(Operation *op, const RangeAnalysis &ranges) {
  Value result = op->getResult(0);
  const AbstractValue &sum = ranges.preRounding(result);
  Cell hull = sum.hull();
  double square = storageErrorOf(hull.mean, hull.variance,
                                 *getFloatFormat(getElementType(result)),
                                 sum.integral, /*overflow=*/false)
                      .square;
  if (std::optional<InnerSum> inner = findInnerSum(op, ranges))
    square += inner->ofResult.square * (hull.mean * hull.mean + hull.variance);
  return std::sqrt(square);
}

/// An epsilon, which is there for the case that the other addend is 0.
static bool isEpsilon(OpOperand &addend) {
  return isConstant(addend.get()) && findGuard(addend).op;
}

void Absorption::judge(Operation *op, const RangeAnalysis &ranges) {
  if (op->getNumResults() != 1 ||
      !isLowPrecision(getElementType(op->getResult(0))))
    return;
  if (hasRole(op, Role::Reduction) && hasRole(op, Role::Sum))
    return judgeReduction(op, ranges);
  if (hasRole(op, Role::Addition | Role::Subtraction) &&
      op->getNumOperands() == 2)
    judgeSum(op, ranges);
}

void Absorption::judgeSum(Operation *op, const RangeAnalysis &ranges) {
  const FloatFormat &format = *getFloatFormat(getElementType(op->getResult(0)));
  for (unsigned small : {0u, 1u}) {
    Value addend = op->getOperand(small), other = op->getOperand(1 - small);
    const AbstractValue &lost = ranges.of(addend), &large = ranges.of(other);
    if (!lost.hasLikely() || !large.hasLikely())
      continue;
    double most = likelyMagnitude(lost).value_or(0);
    double typical = getTypical(large);
    if (most == 0 || typical >= format.overflowFrom ||
        reachesSoftmax(op->getOpOperand(0)) ||
        isEpsilon(op->getOpOperand(small)))
      continue;
    // Below half an ulp of a typical value, whose ulp is 2^(1 - digits) of it.
    if (most >= typical * format.unitRoundoff()) {
      if (judgeRounded(op->getOpOperand(small), other, ranges))
        return;
      continue;
    }
    FindingBuilder finding = report(op, op->getResult(0));
    // The sum is as good as its rounding; what is lost is missed where it is
    // summed over and over, or where the large addend is taken off again.
    finding.severity(isMissed(op, other) ? Severity::Warning : Severity::Note)
        .likely()
        .watch(Decision::Absorption, addend, other, "addend")
        .message("an addend of magnitudes up to " + formatNumber(most) +
                 " changes nothing beside values of " + formatNumber(typical) +
                 ", whose neighbours in " + format.name + " are " +
                 formatNumber(format.ulp(typical)) + " apart")
        .cause(other, "typical magnitude " + formatNumber(typical))
        .cause(addend, "magnitudes up to " + formatNumber(most));
    fixByKeeping(finding, getElementType(op->getResult(0)), "the sum");
    finding.fix("change-op", "take log1p of the addend", planLog1p(op));
  }
}

/// True where a statistic or its square is taken off what it is of: a small
/// mean does not matter.
static bool isCentering(Operation *op, Value addend) {
  Operation *maker = addend.getDefiningOp();
  while (maker && maker->getNumOperands() > 0 &&
         !hasRole(maker, Role::Reduction) &&
         llvm::all_equal(maker->getOperands()))
    maker = maker->getOperand(0).getDefiningOp();
  return hasRole(op, Role::Subtraction) && maker &&
         hasRole(maker, Role::Reduction);
}

/// Reports an addend of which rounding the sum loses a share that matters.
bool Absorption::judgeRounded(OpOperand &addend, Value other,
                              const RangeAnalysis &ranges) {
  Operation *op = addend.getOwner();
  Value result = op->getResult(0);
  const FloatFormat &format = *getFloatFormat(getElementType(result));
  double adds = getTypical(ranges.of(addend.get()));
  double typical = getTypical(ranges.of(other));
  // Another rule reports the flush of subnormal numbers.
  if (!ranges.preRounding(result).hasLikely() || !(adds > 0) ||
      adds >= typical || typical < format.minNormal ||
      isCentering(op, addend.get()))
    return false;
  double rounding = getRounding(op, ranges);
  if (rounding < threshold("absorbed-share") * adds)
    return false;
  FindingBuilder finding = report(op, result);
  finding.severity(Severity::Note)
      .likely()
      .message("an addend of typical magnitude " + formatNumber(adds) +
               " meets values of " + formatNumber(typical) + ", and " +
               format.name.str() + " rounds the sum by " +
               formatNumber(rounding) + ": " +
               formatNumber(std::round(100 * rounding / adds)) +
               " % of the addend")
      .cause(other, "typical magnitude " + formatNumber(typical))
      .cause(addend.get(), "typical magnitude " + formatNumber(adds));
  fixByKeeping(finding, getElementType(result), "the sum");
  return true;
}

/// The part of the smallest quarter of the positions along the reduced axes in
/// one sum, a root mean square; nothing if they are not told apart. A quarter,
/// as of channels (MP305): single dead ones are usual.
static std::optional<double> getQuarter(Operation *op, const AbstractValue &x,
                                        const ShapeFacts &shapes) {
  std::optional<SmallVector<int64_t>> axes = getReducedAxes(op, shapes);
  MaybeShape shape = getShape(op->getOperand(0));
  if (!axes || !shape || shape->size() != x.rank())
    return std::nullopt;
  double count = 1;
  for (int64_t axis : *axes)
    count *= double((*shape)[axis]);
  AbstractValue along = x.keeping(*axes);
  SmallVector<Cell> live;
  for (const Cell &cell : along.cells())
    if (!cell.empty() && (cell.mean != 0 || cell.variance > 0))
      live.push_back(cell);
  if (!(count > 0) || live.size() < 2)
    return std::nullopt;
  auto sizeOf = [](const Cell &cell) {
    return cell.mean * cell.mean + cell.variance;
  };
  llvm::sort(live, [&](const Cell &a, const Cell &b) {
    return sizeOf(a) < sizeOf(b);
  });
  double each = count / double(along.groups()), mean = 0, variance = 0;
  for (const Cell &cell : ArrayRef(live).take_front((live.size() + 3) / 4)) {
    mean += each * cell.mean;
    variance += each * cell.variance;
  }
  double sum = std::sqrt(mean * mean + variance);
  return hasRole(op, Role::Mean) ? sum / count : sum;
}

void Absorption::judgeReduction(Operation *op, const RangeAnalysis &ranges) {
  const AbstractValue &x = ranges.of(op->getOperand(0));
  Value result = op->getResult(0);
  // Only the size of a norm's statistics matters.
  if (!x.hasLikely() || !ranges.preRounding(result).hasLikely() ||
      hasRole(getMeaning(getKind(op), op->getContext()),
              Role::Normalization | Role::Softmax))
    return;
  std::optional<double> small = getQuarter(op, x, ranges.context().shapes());
  double rounding = getRounding(op, ranges);
  if (!small || !(rounding >= threshold("absorbed-share") * *small))
    return;
  const FloatFormat &format = *getFloatFormat(getElementType(result));
  double sum = getTypical(ranges.preRounding(result));
  FindingBuilder finding = report(op, result);
  finding.severity(Severity::Note)
      .likely()
      .message("a quarter of the terms add " + formatNumber(*small) +
               " to sums of " + formatNumber(sum) + ", which " +
               format.name.str() + " rounds by " + formatNumber(rounding) +
               ": " +
               (rounding >= *small
                    ? std::string("more than these terms are")
                    : formatNumber(std::round(100 * rounding / *small)) +
                          " % of these terms"))
      .cause(op->getOperand(0), "has terms of different sizes");
  addRange(finding, result, ranges);
  fixByKeeping(finding, getElementType(result), "the sum");
}
