//===- AbsorbedInfinity.cpp - MP212: an Inf that leaves no trace
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only overflows that are likely or certain: what an Inf that the bounds merely
// allow would do is no news.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/OverflowSites.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

namespace mpopt {
#define GEN_PASS_DEF_ABSORBEDINFINITY
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct AbsorbedInfinity : mpopt::impl::AbsorbedInfinityBase<AbsorbedInfinity> {
  void check(ModuleOp module) override {
    const auto &sites = getAnalysis<OverflowSites>();
    if (sites.sites.empty())
      return;
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (OpOperand &use : op->getOpOperands()) {
        const OverflowSite *site = sites.find(use.get());
        if (site && site->certainty != Certainty::Possible)
          judge(use, *site, sites.ranges());
      }
    });
  }

private:
  void judge(OpOperand &use, const OverflowSite &site,
             const RangeAnalysis &ranges);
};
} // namespace

/// The effect of an Inf at `use`, if the op turns it into a finite number.
static StringRef describeAbsorption(OpOperand &use, bool &wrong) {
  Operation *op = use.getOwner();
  wrong = true;
  if (hasRole(op, Role::Division) &&
      use.getOperandNumber() == divisorOperand(op))
    return "every finite value divided by it is 0";
  if (hasRole(op, Role::Reciprocal))
    return "its reciprocal is 0";
  wrong = false;
  if (hasRole(op, Role::LimitsAbove))
    return "it is cut off at the limit, as the true value would be";
  return {};
}

void AbsorbedInfinity::judge(OpOperand &use, const OverflowSite &site,
                             const RangeAnalysis &ranges) {
  Operation *op = use.getOwner();
  bool wrong;
  StringRef what = describeAbsorption(use, wrong);
  if (what.empty() || op->getNumResults() != 1)
    return;
  Value result = op->getResult(0);
  if (!isa<FloatType>(getElementType(result)) || ranges.of(result).mayBeInf())
    return;
  FindingBuilder finding = report(op, result);
  finding.watch(Decision::Overflow, use.get(), "operand");
  finding.severity(wrong ? Severity::Warning : Severity::Note)
      .certainty(site.certainty)
      .message("an operand overflows to Inf and leaves no trace: " + what)
      .cause(use.get(),
             "overflows " + Twine(getDtypeName(getElementType(use.get()))))
      .follows(site.root ? site.root : site.value);
  if (wrong)
    fixByWidening(finding, site, ranges,
                  "the operand, from where it overflows, and the op");
}
