//===- Overflow.cpp - MP201: a result becomes Inf
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An overflow of a more specific form is reported by that form's rule alone.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/OverflowSites.h"
#include "mpopt/Repair/Scaling.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_OVERFLOW
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct Overflow : mpopt::impl::OverflowBase<Overflow> {
  void check(ModuleOp) override {
    const auto &sites = getAnalysis<OverflowSites>();
    for (const OverflowSite &site : sites.sites)
      if (site.form == OverflowForm::General)
        judge(site, sites.ranges());
  }

private:
  void judge(const OverflowSite &site, const RangeAnalysis &ranges);
};
} // namespace

void Overflow::judge(const OverflowSite &site, const RangeAnalysis &ranges) {
  Type type = getElementType(site.value);
  FindingBuilder finding = report(site.op(), site.value, site.certainty);
  addSite(finding, site, ranges);
  if (!finding.isDescribed())
    return;
  finding.message(describeOverflow(site, ranges));
  fixByWidening(finding, site, ranges, "the op and its result");
  fixOverflowByOrder(finding, site);
  const Magnitudes &sizes = ranges.magnitudes(site.value);
  double size = site.certainty == Certainty::Possible
                    ? sizes.bound
                    : sizes.likely.value_or(sizes.bound);
  if (!std::isfinite(size))
    return; // no power of two brings it back
  // A factor that leaves one binade of room.
  int shift = std::ilogb(size / getFloatFormat(type)->maxFinite) + 2;
  // An overflow that follows from another is fixed with that one.
  if (shift <= 16 && !site.root)
    fixOverflowByScaling(finding, site, ranges, -shift);
}
