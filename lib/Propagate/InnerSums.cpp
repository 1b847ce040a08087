//===- InnerSums.cpp - Errors of the sums that kernels add
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: sums that a loop carries, which are stored each time, and the
// sums of recurrent cells and losses.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Propagate/InnerSums.h"

#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

namespace {
/// Mean and variance of the terms of a sum.
struct Terms {
  double mean = 0, variance = 0;
};
} // namespace

static bool addsSquares(Operation *op) {
  return hasRole(op, Role::RowNorm | Role::SumOfSquares | Role::InnerSquares);
}

/// Terms that are added in a narrow format; nothing for other ops.
static std::optional<AddedTerms> getNarrowTerms(Operation *op,
                                                const TargetProfile &target) {
  if (!op || op->getNumOperands() == 0)
    return std::nullopt;
  const FloatFormat *own = getFloatFormat(getElementType(op->getOperand(0)));
  if (!own ||
      (!isNarrow(target.sums(*own)) && !isNarrow(target.products(*own))))
    return std::nullopt;
  std::optional<AddedTerms> terms = getInnerTerms(op, target);
  if (!terms && !hasRole(op, Role::Addition | Role::Subtraction))
    terms = getWrittenTerms(op, target);
  if (!terms || terms->count < 2 || !isNarrow(*terms->format))
    return std::nullopt;
  return terms;
}

/// Of normal numbers: the squares have the variance 2 v^2 + 4 m^2 v.
static Terms squaresOf(double mean, double variance) {
  double square = mean * mean;
  return {square + variance, 2 * variance * variance + 4 * square * variance};
}

/// The terms of one sum, by what is added or by the sum itself.
static std::optional<Terms> getTermMoments(Operation *op,
                                           const AddedTerms &terms,
                                           const RangeAnalysis &ranges) {
  Value result = op->getResult(0);
  bool ofOperand = terms.summed || hasRole(op, Role::RowNorm);
  const AbstractValue &known =
      ofOperand ? ranges.of(op->getOperand(0)) : ranges.preRounding(result);
  if (!known.hasLikely())
    return std::nullopt;
  Cell hull = known.hull();
  double n = double(terms.count);
  if (!ofOperand)
    return hasRole(op, Role::Softmax) ? Terms{1 / n, hull.variance}
                                      : Terms{hull.mean / n, hull.variance / n};
  if (addsSquares(op))
    return squaresOf(hasRole(op, Role::Centring) ? 0 : hull.mean,
                     hull.variance);
  if (!terms.nonNegative)
    return Terms{hull.mean, hull.variance};
  // Magnitudes, as of normal numbers around 0.
  double square = hull.mean * hull.mean + hull.variance;
  return Terms{std::sqrt(2 / std::numbers::pi * square),
               (1 - 2 / std::numbers::pi) * square};
}

/// The power of the sum that the result is.
static double getPower(Operation *op) {
  if (hasRole(op, Role::RowNorm))
    return -0.5;
  return hasRole(op, Role::InnerSquares) ? 0.5 : 1;
}

bool mpopt::isSumExact(Operation *op, const AddedTerms &terms,
                       const RangeAnalysis &ranges) {
  Value value = terms.summed ? terms.summed : op->getResult(0);
  double most =
      ranges.magnitudes(value).bound * (terms.summed ? double(terms.count) : 1);
  return ranges.preRounding(value).integral && !addsSquares(op) &&
         most <= std::ldexp(1.0, int(terms.format->digits));
}

std::optional<InnerSum> mpopt::findInnerSum(Operation *op,
                                            const RangeAnalysis &ranges) {
  std::optional<AddedTerms> terms = getNarrowTerms(op, ranges.target());
  if (!terms || isSumExact(op, *terms, ranges))
    return std::nullopt;
  std::optional<Terms> moments = getTermMoments(op, *terms, ranges);
  if (!moments)
    return std::nullopt;
  InnerSum sum{*terms, {}, {}};
  sum.error = estimateSum(*terms->format, double(terms->count), moments->mean,
                          moments->variance, ranges.target().addsPairwise());
  // A single square is past the edge before the sum is.
  if (addsSquares(op)) {
    double most = ranges.magnitudes(op->getOperand(0)).likely.value_or(0);
    sum.error.overflows |= most * most >= terms->format->overflowFrom;
  }
  double power = getPower(op);
  sum.isDivisor = power < 0;
  sum.ofResult = {power * sum.error.mean, power * power * sum.error.square,
                  sum.error.size, sum.error.overflows};
  if (sum.error.overflows && sum.isDivisor) {
    sum.ofResult.mean = -1;
    sum.ofResult.square = 1;
  }
  return sum;
}

bool mpopt::isInnerSumBounded(Operation *op, const RangeAnalysis &ranges) {
  std::optional<AddedTerms> terms = getNarrowTerms(op, ranges.target());
  if (!terms)
    return true;
  double most = ranges.magnitudes(op->getOperand(0)).bound;
  if (addsSquares(op))
    most *= most;
  else if (hasRole(op, Role::Softmax))
    most = 1;
  else if (!terms->summed)
    return true; // the bound of a product is that of its sum
  return double(terms->count) * most < terms->format->overflowFrom;
}
