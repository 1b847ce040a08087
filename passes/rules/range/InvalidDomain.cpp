//===- InvalidDomain.cpp - MP205: an argument outside the domain
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/OverflowSites.h"
#include "mpopt/Hazards/Zeros.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_INVALIDDOMAIN
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
/// Where a function is a finite number: between lo and hi, ends included or
/// not.
struct Domain {
  double lo, hi;
  bool open;

  bool contains(double from, double to) const {
    return open ? from > lo && to < hi : from >= lo && to <= hi;
  }
  bool excludes(double from, double to) const {
    return open ? to <= lo || from >= hi : to < lo || from > hi;
  }
};

struct InvalidDomain
    : RangeRule<InvalidDomain, mpopt::impl::InvalidDomainBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);
};
} // namespace

static std::optional<Domain> getDomain(Operation *op) {
  if (isa<mp::LogOp, mp::Log2Op, mp::Log10Op, mp::RsqrtOp>(op))
    return Domain{0, kInfinity, true};
  if (isa<mp::SqrtOp>(op))
    return Domain{0, kInfinity, false};
  if (isa<mp::Log1pOp>(op))
    return Domain{-1, kInfinity, true};
  if (isa<mp::AsinOp, mp::AcosOp>(op))
    return Domain{-1, 1, false};
  if (isa<mp::AtanhOp>(op))
    return Domain{-1, 1, true};
  if (isa<mp::AcoshOp>(op))
    return Domain{1, kInfinity, false};
  if (isa<mp::PowOp>(op)) {
    std::optional<double> exponent = getSplatConstant(op->getOperand(1));
    // Zero to a negative power is a division by zero (MP206).
    if (exponent && *exponent != std::floor(*exponent))
      return Domain{0, kInfinity, false};
  }
  return std::nullopt;
}

/// An end of the expected range that a normal estimate has reached by its tail
/// alone says little: a thousandth of the values must be outside.
static bool expectsOutside(const Cell &cell, const Domain &domain,
                           const FloatFormat &format) {
  double lo = cell.likelyLo, hi = cell.likelyHi;
  double spread = 3.1 * std::sqrt(cell.variance);
  lo = std::max(lo, cell.mean - spread);
  hi = std::min(hi, cell.mean + spread);
  // A tail that the bounds cut off just outside is that of a one-sided value
  // with a rounding error, which is not normal.
  double narrow = std::sqrt(cell.variance) / 10;
  if (lo <= cell.lo && domain.lo - cell.lo < narrow)
    lo = std::max(lo, std::nextafter(domain.lo, cell.mean));
  if (hi >= cell.hi && cell.hi - domain.hi < narrow)
    hi = std::min(hi, std::nextafter(domain.hi, cell.mean));
  // Zero itself is judged by where it comes from.
  if (domain.lo == 0)
    return lo < -format.flushAt;
  return domain.open ? lo <= domain.lo || hi >= domain.hi
                     : lo < domain.lo || hi > domain.hi;
}

/// True if a Where may select values outside the domain, from a branch that has
/// no others.
static bool choosesOutside(Value argument, const Domain &domain,
                           const RangeAnalysis &ranges) {
  auto op =
      dyn_cast_if_present<mp::WhereOp>(getMaker(argument, Peel::CastsAndViews));
  if (!op)
    return false;
  const AbstractValue &condition = ranges.of(op.getCondition());
  if (!condition.hasLikely())
    return false;
  constexpr double kRare = 0.01;
  for (unsigned branch : {0u, 1u}) {
    double taken = condition.hull().mean;
    if (branch == 1)
      taken = 1 - taken;
    Cell values = ranges.of(branch == 0 ? op.getLhs() : op.getRhs()).hull();
    if (taken > kRare && !values.empty() &&
        domain.excludes(values.lo, values.hi))
      return true;
  }
  return false;
}

static std::optional<Certainty> judgeArgument(Value argument,
                                              const Domain &domain,
                                              const RangeAnalysis &ranges) {
  if (isUnknown(argument, ranges))
    return std::nullopt;
  const AbstractValue &read = ranges.of(argument);
  const FloatFormat &format = *getFloatFormat(getElementType(argument));
  bool always =
      !argument.getDefiningOp() || runsAlways(argument.getDefiningOp());
  std::optional<Certainty> sure;
  auto atLeast = [&](Certainty found) {
    sure = std::max(sure.value_or(Certainty::Possible), found);
  };
  for (const Cell &cell : read.cells()) {
    if (cell.empty())
      continue;
    bool outside = !domain.contains(cell.lo, cell.hi);
    if (domain.open && domain.lo == 0 && cell.lo >= 0)
      outside = false; // zero: below
    if (!outside)
      continue;
    if (always && domain.excludes(cell.lo, cell.hi))
      atLeast(Certainty::Certain);
    else if ((read.hasLikely() && expectsOutside(cell, domain, format)) ||
             choosesOutside(argument, domain, ranges))
      atLeast(Certainty::Likely);
    else
      atLeast(Certainty::Possible);
  }
  if (domain.open && domain.lo == 0)
    if (std::optional<Certainty> zero = mayBeZero(argument, ranges))
      atLeast(*zero);
  return sure;
}

static std::string describeDomain(const Domain &domain) {
  if (std::isinf(domain.hi))
    return (domain.open ? "above " : "at least ") + formatNumber(domain.lo);
  return (domain.open ? "strictly between " : "between ") +
         formatNumber(domain.lo) + " and " + formatNumber(domain.hi);
}

/// To the nearest numbers of the format that are inside; subnormals may be
/// flushed.
static FixAction clampToDomain(Operation *op, const Domain &domain,
                               const FloatFormat &format) {
  double step = format.unitRoundoff();
  auto inside = [&](double end, double direction) {
    if (!domain.open || std::isinf(end))
      return end;
    return end == 0 ? direction * format.minNormal
                    : end + direction * std::fabs(end) * 2 * step;
  };
  return FixAction::clamp(op, 0, inside(domain.lo, 1), inside(domain.hi, -1),
                          /*keepsFunction=*/!domain.open);
}

/// True if all results of `value`, a few ops later, are integers: bucket
/// numbers (T5's relative positions), of which a Where then selects others.
static bool becomesIntegers(Value value) {
  constexpr size_t kMost = 16;
  SmallVector<Value> pending = {value};
  for (size_t at = 0; at < pending.size(); ++at) {
    if (pending.size() > kMost || pending[at].use_empty())
      return false;
    for (Operation *user : pending[at].getUsers()) {
      if (user->getNumResults() != 1 || user->getNumRegions() != 0)
        return false;
      if (isa<FloatType>(getElementType(user->getResult(0))))
        pending.push_back(user->getResult(0));
      else if (!isa<mp::CastOp>(user))
        return false;
    }
  }
  return true;
}

void InvalidDomain::judge(Operation *op, const RangeAnalysis &ranges) {
  std::optional<Domain> domain = getDomain(op);
  if (!domain)
    return;
  Value argument = op->getOperand(0);
  if (!isa<FloatType>(getElementType(argument)))
    return;
  std::optional<Certainty> sure = judgeArgument(argument, *domain, ranges);
  if (!sure)
    return;
  const AbstractValue &computed = ranges.preRounding(argument);
  Cell hull = computed.hull();
  std::string name = op->getName().stripDialect().str();
  std::string range =
      " in [" + formatNumber(hull.lo) + ", " + formatNumber(hull.hi) + "]";
  std::string verb = *sure == Certainty::Certain  ? " is"
                     : *sure == Certainty::Likely ? " is likely to be"
                                                  : " may be";
  bool rounded = domain->contains(hull.lo, hull.hi);
  FindingBuilder finding = report(op, op->getResult(0));
  finding.watchDomain(argument, domain->lo, domain->hi, domain->open);
  if (domain->open && domain->lo == 0)
    watchZeros(finding, argument, "argument");
  bool harmless = becomesIntegers(op->getResult(0));
  finding.certainty(*sure).message(
      "the argument of " + name + verb + " outside its domain" +
      (rounded ? " after rounding to " + getDtypeName(getElementType(argument))
               : "") +
      ": it must be " + describeDomain(*domain) +
      (harmless ? "; the result is cast to integers, see that they are not used"
                : ""));
  if (harmless)
    finding.severity(Severity::Note);
  finding.cause(argument,
                "argument" + range +
                    (computed.hasLikely()
                         ? ", likely within [" + formatNumber(hull.likelyLo) +
                               ", " + formatNumber(hull.likelyHi) + "]"
                         : ""));
  if (rounded)
    fixByKeeping(finding, getElementType(argument),
                 "the argument and the function");
  finding.fix(
      "clamp",
      "clamp the argument to the domain, to numbers that " +
          Twine(getDtypeName(getElementType(argument))) + " holds",
      clampToDomain(op, *domain, *getFloatFormat(getElementType(argument))));
}
