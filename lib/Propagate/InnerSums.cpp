//===- InnerSums.cpp - Errors of the sums that kernels add
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: sums that a loop carries, which are stored each time, and in
// estimates the sums of recurrent cells.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Propagate/InnerSums.h"

#include "mpopt/Dialect/Ops/CustomOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Value/PlainExponential.h"

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

/// The operand is centred first: its squares are those of deviations.
static bool takesDeviations(Operation *op) {
  return hasRole(op, Role::Centring | Role::Statistic);
}

static bool isKernelNarrow(Operation *op, const TargetProfile &target) {
  StringRef name = op->getName().stripDialect();
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    const FloatFormat *own = getFloatFormat(getElementType(operand));
    return own && (isNarrow(target.sums(*own, name)) ||
                   isNarrow(target.products(*own, name)) ||
                   isNarrow(target.functions(*own, name)));
  });
}

/// The sums of an op of which a project states the accumulator.
static std::optional<AddedTerms> getStatedTerms(Operation *op) {
  auto custom = dyn_cast<mp::CustomOp>(op);
  const FloatFormat *format =
      custom ? getFloatFormat(custom.getAccumulator()) : nullptr;
  return format ? std::optional(AddedTerms{custom.countTerms(), format})
                : std::nullopt;
}

/// Terms that are added in a narrow format; nothing for other ops.
static std::optional<AddedTerms> getNarrowTerms(Operation *op,
                                                const TargetProfile &target) {
  std::optional<AddedTerms> terms = getStatedTerms(op);
  if (!terms && (op->getNumOperands() == 0 ||
                 (!isKernelNarrow(op, target) && !getSumOfCodes(op, target))))
    return std::nullopt;
  if (!terms)
    terms = getInnerTerms(op, target);
  if (!terms && !hasRole(op, Role::Addition | Role::Subtraction))
    terms = getWrittenTerms(op, target);
  if (!terms || terms->count < 2 || !isNarrow(*terms->format))
    return std::nullopt;
  return terms;
}

/// Squares of normal numbers have the variance 2 v^2 + 4 m^2 v.
static Terms squaresOf(double mean, double variance) {
  double square = mean * mean;
  return {square + variance, 2 * variance * variance + 4 * square * variance};
}

/// Moments of the elements whose squares are added; a distance adds the squares
/// of differences.
static std::optional<Terms> getElements(Operation *op,
                                        const RangeAnalysis &ranges) {
  const AbstractValue &first = ranges.of(op->getOperand(0));
  if (!first.hasLikely())
    return std::nullopt;
  Cell hull = first.hull();
  if (takesDeviations(op))
    return Terms{0, hull.variance};
  if (isa<mp::PdistOp>(op))
    return Terms{0, 2 * hull.variance};
  if (!isa<mp::CdistOp, mp::DistOp>(op))
    return Terms{hull.mean, hull.variance};
  const AbstractValue &second = ranges.of(op->getOperand(1));
  if (!second.hasLikely())
    return std::nullopt;
  Cell other = second.hull();
  return Terms{hull.mean - other.mean, hull.variance + other.variance};
}

/// By the result, which is the sum times a factor.
static std::optional<Terms> getTermsOfResult(Operation *op, double n,
                                             const RangeAnalysis &ranges) {
  const AbstractValue &known = ranges.preRounding(op->getResult(0));
  if (!known.hasLikely())
    return std::nullopt;
  Cell hull = known.hull();
  if (hasRole(op, Role::Softmax))
    return Terms{1 / n, hull.variance};
  double factor = 1;
  if (auto alpha = op->getAttrOfType<FloatAttr>("alpha"))
    factor = alpha.getValueAsDouble();
  if (factor == 0)
    return std::nullopt;
  Terms terms{hull.mean / factor / n, hull.variance / factor / factor / n};
  // Losses are spread about as widely as they are large.
  if (auto reduction = op->getAttrOfType<StringAttr>("reduction")) {
    if (reduction.getValue() != "sum")
      terms.mean *= n;
    terms.variance = terms.mean * terms.mean;
  }
  return terms;
}

/// The terms of one sum, by what is added or by the sum itself.
static std::optional<Terms> getTermMoments(Operation *op,
                                           const AddedTerms &terms,
                                           const RangeAnalysis &ranges) {
  if (addsSquares(op)) {
    std::optional<Terms> elements = getElements(op, ranges);
    return elements
               ? std::optional(squaresOf(elements->mean, elements->variance))
               : std::nullopt;
  }
  if (hasRole(op, Role::Loss) || !terms.summed)
    return getTermsOfResult(op, double(terms.count), ranges);
  const AbstractValue &known = ranges.of(op->getOperand(0));
  if (!known.hasLikely())
    return std::nullopt;
  Cell hull = known.hull();
  if (!terms.nonNegative)
    return Terms{hull.mean, hull.variance};
  // Magnitudes, as of normal numbers around 0.
  double square = hull.mean * hull.mean + hull.variance;
  return Terms{std::sqrt(2 / std::numbers::pi * square),
               (1 - 2 / std::numbers::pi) * square};
}

/// The power of the sum that the result is: -1/2 behind a division by a norm.
static double getPower(Operation *op) {
  if (hasRole(op, Role::RowNorm) ||
      isa<mp::LpNormalizeOp, mp::CosineSimilarityOp, mp::RenormOp>(op))
    return -0.5;
  if (auto norm = dyn_cast<mp::LRNOp>(op))
    return -norm.getBeta().convertToDouble();
  if (isa<mp::VarianceOp>(op))
    return 1;
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

/// Exponentials that are expected to overflow inside of the kernel.
static std::optional<InnerSum> findExponentials(Operation *op,
                                                const RangeAnalysis &ranges) {
  std::optional<PlainExponential> plain =
      findPlainExponential(op, ranges.target());
  if (!plain)
    return std::nullopt;
  const AbstractValue &x = ranges.of(op->getOperand(0));
  if (!x.hasLikely() || !std::isfinite(plain->count))
    return std::nullopt;
  Cell hull = x.hull();
  double one =
      std::max(plain->factor * hull.likelyLo, plain->factor * hull.likelyHi);
  // The mean of e^x of normal numbers.
  double sum = plain->factor * hull.mean +
               plain->factor * plain->factor * hull.variance / 2 +
               std::log(plain->count);
  double exponent = std::max(one, std::min(sum, plain->largest(one, one)));
  if (!(exponent >= plain->edge()))
    return std::nullopt;
  InnerSum result{{int64_t(plain->count), plain->format}, {}, {}, {}};
  result.form = InnerSum::Form::Exponentials;
  result.error.overflows = result.ofResult.overflows = true;
  result.error.size = result.ofResult.size = std::exp(exponent);
  return result;
}

std::optional<InnerSum> mpopt::findInnerSum(Operation *op,
                                            const RangeAnalysis &ranges) {
  if (!op)
    return std::nullopt;
  if (std::optional<InnerSum> exponentials = findExponentials(op, ranges))
    return exponentials;
  std::optional<AddedTerms> terms = getNarrowTerms(op, ranges.target());
  if (!terms || isSumExact(op, *terms, ranges))
    return std::nullopt;
  std::optional<Terms> moments = getTermMoments(op, *terms, ranges);
  if (!moments)
    return std::nullopt;
  InnerSum sum{*terms, {}, {}, {}};
  sum.error = estimateSum(*terms->format, double(terms->count), moments->mean,
                          moments->variance, ranges.target().addsPairwise());
  // A single square is past the edge before the sum is.
  if (addsSquares(op)) {
    sum.form = InnerSum::Form::Squares;
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

/// Inf or NaN that the op itself makes of finite operands.
static bool makesNonFinite(Operation *op, const RangeAnalysis &ranges) {
  auto isFinite = [&](Value operand) {
    return !getFloatFormat(getElementType(operand)) ||
           !ranges.of(operand).mayBeNonFinite();
  };
  return llvm::all_of(op->getOperands(), isFinite) &&
         llvm::any_of(op->getResults(), [&](Value result) {
           return ranges.preRounding(result).mayBeNonFinite();
         });
}

bool mpopt::isInnerSumBounded(Operation *op, const RangeAnalysis &ranges) {
  if (!isKernelNarrow(op, ranges.target()) &&
      !findPlainExponential(op, ranges.target()))
    return true;
  if (makesNonFinite(op, ranges))
    return false;
  // Inf that is divided by leaves nothing but 0.
  if (!addsSquares(op) && !hasRole(op, Role::Softmax))
    return true;
  double most = hasRole(op, Role::Softmax)
                    ? 1
                    : ranges.magnitudes(op->getOperand(0)).bound;
  if (most == 0)
    return true;
  std::optional<AddedTerms> terms = getInnerTerms(op, ranges.target());
  if (!terms)
    terms = getWrittenTerms(op, ranges.target());
  return terms &&
         double(terms->count) * most * most < terms->format->overflowFrom;
}
