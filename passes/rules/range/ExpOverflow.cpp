//===- ExpOverflow.cpp - MP207: an exponential becomes Inf
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/Rules.h"

#include "mpopt/Hazards/OverflowSites.h"
#include "mpopt/Hazards/TrainingFacts.h"
#include "mpopt/Repair/Fix.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Parameters.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_EXPOVERFLOW
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

/// True for an exponential of a parameter, a scale or temperature in a format
/// whose edge is no further than numbers that training reaches: 11 in FP16.
static bool isLearned(Operation *op) {
  constexpr double kReached = 16;
  if (!isa<mp::ExpOp>(op) || !isTrained(op))
    return false;
  const FloatFormat *format = getFloatFormat(getElementType(op->getResult(0)));
  return format && std::log(format->overflowFrom) < kReached &&
         isParameter(peel(op->getOperand(0), Peel::CastsAndViews));
}

namespace {
struct ExpOverflow : mpopt::impl::ExpOverflowBase<ExpOverflow> {
  void check(ModuleOp) override {
    const auto &sites = getAnalysis<OverflowSites>();
    for (const OverflowSite &site : sites.sites)
      if (site.form == OverflowForm::Exponential)
        judge(site, sites.ranges());
    forEachOp([&](Operation *op) {
      if (isLearned(op) && !sites.find(op->getResult(0)))
        judge({op->getResult(0),
               OverflowForm::Exponential,
               Certainty::Possible,
               {}},
              sites.ranges());
    });
  }

private:
  void judge(const OverflowSite &site, const RangeAnalysis &ranges);
};
} // namespace

/// The argument from which the op overflows; nothing for b^x.
static std::optional<double> getEdge(Operation *op, const FloatFormat &format) {
  double edge = format.overflowFrom;
  if (isa<mp::ExpOp, mp::Expm1Op>(op))
    return std::log(edge);
  if (isa<mp::Exp2Op>(op))
    return std::log2(edge);
  if (isa<mp::SinhOp, mp::CoshOp>(op))
    return std::log(edge) + std::log(2.0);
  return std::nullopt;
}

/// A hundredth below, so that rounding does not bring it back.
static double roundDown(double edge, const FloatFormat &format) {
  double step = format.ulp(edge);
  return std::floor(edge * 0.99 / step) * step;
}

void ExpOverflow::judge(const OverflowSite &site, const RangeAnalysis &ranges) {
  Operation *op = site.op();
  FindingBuilder finding = report(op, site.value, site.certainty);
  if (isTrained(op))
    finding.reachedByTraining();
  addSite(finding, site, ranges);
  if (!finding.isDescribed())
    return;
  const FloatFormat &format = *getFloatFormat(getElementType(site.value));
  std::string message = isLearned(op)
                            ? "the argument is a parameter, which training may "
                              "move past " +
                                  formatNumber(*getEdge(op, format)) +
                                  ", where the result leaves " +
                                  std::string(format.name)
                            : describeOverflow(site, ranges);
  if (std::optional<double> edge = getEdge(op, format)) {
    Value argument = op->getOperand(0);
    const AbstractValue &read = ranges.of(argument);
    Cell hull = read.hull();
    bool estimate = site.certainty == Certainty::Likely;
    double most = estimate ? hull.likelyHi : hull.hi;
    if (isa<mp::SinhOp, mp::CoshOp>(op))
      most = estimate ? likelyMagnitude(read).value_or(most) : hull.absMax();
    if (std::isfinite(most) && !isLearned(op))
      message = "an argument of " + formatNumber(most) + " is past " +
                formatNumber(*edge) + ", where the result leaves " +
                std::string(format.name);
  }
  finding.message(message);
  fixByWidening(finding, site, ranges,
                "the exponential, its divisor and its sum");
  finding.fix("change-op",
              "subtract the row's maximum first, as softmax and logsumexp do",
              planShift(op));
  finding.fix("change-op", "take softplus of the argument for log(1 + exp(x))",
              planSoftplus(op));
  if (std::optional<double> edge = getEdge(op, format)) {
    double most =
        roundDown(*edge, *getFloatFormat(getElementType(op->getOperand(0))));
    finding.fix(
        "clamp",
        "clip the argument to at most " + formatNumber(most) +
            (isa<mp::SinhOp, mp::CoshOp>(op) ? " in magnitude" : ""),
        FixAction::clamp(
            op, 0, isa<mp::SinhOp, mp::CoshOp>(op) ? -most : -kInfinity, most));
  }
}
