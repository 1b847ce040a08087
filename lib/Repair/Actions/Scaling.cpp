//===- Scaling.cpp - Powers of two against an edge
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Repair/Scaling.h"
#include "mpopt/Repair/Fix.h"

#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// The likely magnitude of `value`, or else that of its bound.
static double getSize(Value value, const RangeAnalysis &ranges) {
  const Magnitudes &sizes = ranges.magnitudes(value);
  return sizes.likely.value_or(sizes.bound);
}

static std::string describe(const FixAction &action, const char *what,
                            const char *where) {
  bool isAdded = llvm::any_of(action.ops, [](Operation *op) {
    return hasRole(op, Role::Addition | Role::Subtraction);
  });
  return std::string("scale ") + what + " by 2^" +
         std::to_string(int(action.number)) +
         (isAdded ? ", the addends of its result alike," : "") +
         " and undo it on the results, where " + where +
         "; exact as long as nothing leaves the dtype";
}

void mpopt::fixOverflowByScaling(FindingBuilder &finding,
                                 const OverflowSite &site,
                                 const RangeAnalysis &ranges, int exponent) {
  Operation *op = site.value.getDefiningOp();
  if (!op || exponent >= 0 || !finding.isDescribed())
    return;
  auto size = [&](Value value) {
    return site.certainty == Certainty::Possible
               ? ranges.magnitudes(value).bound
               : getSize(value, ranges);
  };
  auto fits = [&](Value value) {
    const FloatFormat *format = getFloatFormat(getElementType(value));
    return !format || size(value) < format->maxFinite / 2;
  };
  if (FixAction action = planScale(op, exponent, fits, size))
    finding.fix("scale", describe(action, "its operand", "it fits"), action);
}

void mpopt::fixOverflowByOrder(FindingBuilder &finding,
                               const OverflowSite &site) {
  Operation *op = site.value.getDefiningOp();
  // An overflow that follows from another is fixed with that one.
  if (!op || site.root || !finding.isDescribed())
    return;
  finding.fix("change-op", "take a mean for the sum that is divided",
              planMean(op));
  FixAction lengths = planSeparateLengths(op);
  finding.fix("reorder",
              lengths.kind == FixAction::Kind::DivideTwice
                  ? "divide by one factor after the other"
                  : "take the root of each factor, not of their product",
              lengths);
}

void mpopt::fixFlushByScaling(FindingBuilder &finding, Value value,
                              const RangeAnalysis &ranges,
                              function_ref<bool(Value)> keeps) {
  if (!finding.isDescribed())
    return;
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  double most = ranges.magnitudes(value).likely.value_or(0);
  Operation *op = value.getDefiningOp();
  if (!op || !(most > 0) || most >= 1)
    return;
  int exponent = std::min(-std::ilogb(most), std::ilogb(format.maxFinite));
  auto size = [&](Value operand) { return getSize(operand, ranges); };
  if (FixAction action = planScale(op, exponent, keeps, size))
    finding.fix("scale", describe(action, "its operand", "it does not flush"),
                action);
}

/// The largest of what is computed with `value`, behind views and casts.
static double getLargestUse(Value value, const RangeAnalysis &ranges,
                            unsigned depth = 4) {
  double most = 0;
  for (Operation *user : value.getUsers())
    for (Value result : user->getResults())
      if (depth && isConstant(result))
        most = std::max(most, getLargestUse(result, ranges, depth - 1));
      else if (getFloatFormat(getElementType(result)))
        most = std::max(most, getSize(result, ranges));
  return most;
}

void mpopt::fixConstantByScaling(FindingBuilder &finding, Operation *constant,
                                 Type type, int exponent,
                                 const RangeAnalysis &ranges) {
  if (!finding.isDescribed())
    return;
  const FloatFormat &format = *getFloatFormat(type);
  auto size = [&](Value value) { return getSize(value, ranges); };
  // Views and casts of the constant are no place to scale it back.
  auto fits = [&](Value value) {
    return !isConstant(value) &&
           (exponent < 0 ? size(value) < format.maxFinite / 2
                         : size(value) >= format.minNormal);
  };
  // The results of its readers shall fit as well.
  if (exponent < 0)
    if (double most = getLargestUse(constant->getResult(0), ranges);
        most > format.maxFinite / 2 && std::isfinite(most))
      exponent = std::min(exponent, -(std::ilogb(most / format.maxFinite) + 2));
  if (exponent == 0)
    return;
  if (FixAction action = planScale(constant, exponent, fits, size))
    finding.fix(
        "change-constant",
        describe(action, "it", exponent < 0 ? "it fits" : "it does not flush"),
        action);
}
