//===- SquareSumOverflow.cpp - MP209: squares leave the dtype
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/OverflowSites.h"
#include "mpopt/Repair/Scaling.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_SQUARESUMOVERFLOW
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct SquareSumOverflow
    : mpopt::impl::SquareSumOverflowBase<SquareSumOverflow> {
  void check(ModuleOp) override {
    const auto &sites = getAnalysis<OverflowSites>();
    for (const OverflowSite &site : sites.sites)
      if (site.form == OverflowForm::SquareSum)
        judge(site, sites.ranges());
  }

private:
  void judge(const OverflowSite &site, const RangeAnalysis &ranges);
};
} // namespace

void SquareSumOverflow::judge(const OverflowSite &site,
                              const RangeAnalysis &ranges) {
  const FloatFormat &format = *getFloatFormat(getElementType(site.value));
  FindingBuilder finding = report(site.op(), site.value, site.certainty);
  addSite(finding, site, ranges);
  if (!finding.isDescribed())
    return;
  std::string what = getSquared(site.op())
                         ? "squares of values past " +
                               formatNumber(std::sqrt(format.overflowFrom)) +
                               ": "
                         : "a sum of squares: ";
  finding.message(what + describeOverflow(site, ranges));
  fixByWidening(finding, site, ranges,
                "the norm or variance, from the square to the root,");
  fixOverflowByOrder(finding, site);
  const Magnitudes &sizes = ranges.magnitudes(site.value);
  double size = sizes.likely.value_or(sizes.bound);
  if (!site.root && std::isfinite(size))
    fixOverflowByScaling(finding, site, ranges,
                         -(std::ilogb(size / format.maxFinite) + 2));
}
