//===- RangeVerdict.cpp - What ranges say of an op in 16 bits
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact enough: a stored argument is off by half a unit (u = 2^-digits), and a
// function passes that on times its condition number, |x f'(x) / f(x)|; where
// the result may be zero, the absolute error counts instead.
//
// Harmless is a proof under the printed assumptions, but for the cancellation
// in a LayerNorm, which goes by the estimate.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/RangeVerdict.h"

#include "mpopt/Hazards/FlushedShare.h"
#include "mpopt/Propagate/AddedTerms.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// The error of a member of which nothing is known, in units of roundoff.
static constexpr double kUnknown = kInfinity;

//===----------------------------------------------------------------------===//
// Danger
//===----------------------------------------------------------------------===//

/// The first member that is expected to leave the dtype.
static RangeVerdict findDanger(ArrayRef<Operation *> members,
                               const OverflowSites &sites) {
  const RangeAnalysis &ranges = sites.ranges();
  for (Operation *op : members)
    for (Value result : op->getResults()) {
      const OverflowSite *site = sites.find(result);
      if (site && site->certainty != Certainty::Possible)
        return {RangeVerdict::Confirmed, describeOverflow(*site, ranges),
                result, site->root ? site->root : result};
    }
  return {};
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Expected |mean| over the standard deviation of what a mean is taken off
/// from: how many of its digits cancel. 0 if nothing is centred.
static double getCancellation(ArrayRef<Operation *> members,
                              const RangeAnalysis &ranges) {
  double most = 0;
  for (Operation *op : members) {
    if (!hasRole(op, Role::Subtraction | Role::Centring))
      continue;
    const AbstractValue &input = ranges.of(op->getOperand(0));
    if (!input.hasLikely())
      return kUnknown;
    Cell hull = input.hull();
    most = std::max(most, std::fabs(hull.mean) / std::sqrt(hull.variance));
  }
  return std::isnan(most) ? kUnknown : most;
}

static double getReach(Operation *op, const RangeAnalysis &ranges) {
  double most = 0;
  for (Value operand : op->getOperands())
    if (isa<FloatType>(getElementType(operand)) && !isConstant(operand))
      most = std::max(most, boundMagnitude(ranges.of(operand)));
  return most;
}

/// Units by which sums of the members are off, if their target adds in 16 bits.
static double getSumUnits(ArrayRef<Operation *> members,
                          const RangeAnalysis &ranges) {
  double most = 0;
  for (Operation *op : members)
    for (auto terms : {getInnerTerms(op, ranges.target()),
                       getWrittenTerms(op, ranges.target())})
      if (terms && isNarrow(*terms->format))
        most = std::max(most, double(terms->count) / 2);
  return most;
}

/// How many units a result is off, at most.
static double getUnits(StringRef kind, ArrayRef<Operation *> members,
                       const RangeAnalysis &ranges) {
  Operation *op = members.back();
  const OpMeaning *meaning = getMeaning(kind, op->getContext());
  double reach = 0;
  for (Operation *member : members)
    if (getMeaning(member) == meaning ||
        hasRole(member,
                Role::Exponential | Role::Subtraction | Role::Saturating))
      reach = std::max(reach, getReach(member, ranges));
  if (hasRole(meaning, Role::ExponentialSum))
    return 1 + 2 * reach + getSumUnits(members, ranges);
  if (hasRole(meaning, Role::Exponential | Role::InnerExponential))
    return 1 + reach;
  if (hasRole(meaning,
              Role::Logarithm | Role::Reciprocal | Role::Root | Role::Square))
    return 2;
  if (hasRole(meaning, Role::Sum | Role::MagnitudeSum | Role::Addition))
    return 2 + getSumUnits(members, ranges);
  if (hasRole(meaning, Role::Power)) {
    double exponent = boundMagnitude(ranges.of(op->getOperand(1)));
    if (isConstant(op->getOperand(1)))
      return 1 + exponent;
    const AbstractValue &base = ranges.of(op->getOperand(0));
    Cell hull = base.hull();
    if (!(hull.lo > 0))
      return kUnknown;
    double log =
        std::max(std::fabs(std::log(hull.lo)), std::fabs(std::log(hull.hi)));
    return 1 + exponent * (1 + log);
  }
  if (hasRole(meaning, Role::Arc))
    return reach < 1 ? 1 + reach / std::sqrt(1 - reach * reach) : kUnknown;
  if (hasRole(meaning, Role::Periodic) && hasRole(meaning, Role::Steep)) {
    double slope = reach < 1.57 ? std::tan(reach) : kUnknown;
    return 1 + reach * (1 + slope * slope);
  }
  if (hasRole(meaning, Role::RowNorm))
    return 4 + getCancellation(members, ranges) + getSumUnits(members, ranges);
  return kUnknown;
}

//===----------------------------------------------------------------------===//
// The verdict
//===----------------------------------------------------------------------===//

static std::string describeRange(const Cell &hull) {
  return "[" + formatNumber(hull.lo) + ", " + formatNumber(hull.hi) + "]";
}

/// True if zero instead of a tiny number breaks a reader: a logarithm, or an op
/// that divides by it.
static bool breaksAtZero(Value value, unsigned depth = 4) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (hasRole(user, Role::PoleAtZero | Role::Power) ||
        use.getOperandNumber() == divisorOperand(user))
      return true;
    return depth && (isa<mp::CastOp>(user) || isViewLike(user)) &&
           breaksAtZero(user->getResult(0), depth - 1);
  });
}

/// Finite, and not lost where that matters, in every member.
static bool isSafe(ArrayRef<Operation *> members, const RangeAnalysis &ranges) {
  for (Operation *op : members)
    for (Value result : op->getResults()) {
      const FloatFormat *format = getFloatFormat(getElementType(result));
      if (!format)
        continue;
      if (ranges.of(result).mayBeNonFinite() ||
          ranges.of(result).hull().empty())
        return false;
      if (!hasRole(op, Role::NeverZero) || !breaksAtZero(result))
        continue;
      // The bound: what a softplus or softmax makes of it is never zero.
      for (const Cell &cell : ranges.preRounding(result).cells())
        if (cell.lo <= format->flushAt && cell.hi >= -format->flushAt)
          return false;
    }
  return true;
}

/// True if each element of the result is one of the operand's.
static bool copiesElements(Operation *op) {
  if (auto resize = dyn_cast<mp::ResizeOp>(op))
    return resize.getMode() == "nearest";
  return hasRole(op, Role::MovesElements);
}

RangeVerdict mpopt::judgeByRanges(StringRef kind, ArrayRef<Operation *> members,
                                  Operation *result, double tolerance,
                                  const OverflowSites &sites,
                                  FlushedShares &shares) {
  const RangeAnalysis &ranges = sites.ranges();
  if (llvm::all_of(members, copiesElements))
    return {RangeVerdict::Harmless,
            "harmless: it copies elements and rounds none of them"};
  RangeVerdict danger = findDanger(members, sites);
  if (danger.kind == RangeVerdict::Confirmed)
    return danger;
  Value value = result->getResult(0);
  const FloatFormat *format = getFloatFormat(getElementType(value));
  if (!format)
    return {}; // a norm of what an unknown op gives
  if (hasRole(getMeaning(kind, result->getContext()), Role::NeverZero))
    if (std::optional<double> share = shares.of(value); share && *share >= 0.5)
      return {RangeVerdict::Confirmed, describeFlush(*share, value), value,
              value};
  if (!isSafe(members, ranges))
    return {};
  double units = getUnits(kind, members, ranges);
  double error = units * format->unitRoundoff();
  if (!(error <= tolerance))
    return {};
  Value input = members.front()->getOperand(0);
  std::string text =
      "a small error by itself: of values in " +
      describeRange(ranges.of(input).hull()) + " it makes values in " +
      describeRange(ranges.of(value).hull()) + ", which rounding changes by " +
      formatNumber(std::ceil(error * 1000) / 10) + " % at most";
  return {RangeVerdict::Harmless, text};
}
