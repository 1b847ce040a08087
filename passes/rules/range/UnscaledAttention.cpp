//===- UnscaledAttention.cpp - MP210: attention scores leave the dtype
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/OverflowSites.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/TypeSupport.h"

namespace mpopt {
#define GEN_PASS_DEF_UNSCALEDATTENTION
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct UnscaledAttention
    : mpopt::impl::UnscaledAttentionBase<UnscaledAttention> {
  void check(ModuleOp) override {
    const auto &sites = getAnalysis<OverflowSites>();
    for (const OverflowSite &site : sites.sites)
      if (site.form == OverflowForm::Attention)
        judge(site, sites.ranges());
  }

private:
  void judge(const OverflowSite &site, const RangeAnalysis &ranges);
};
} // namespace

void UnscaledAttention::judge(const OverflowSite &site,
                              const RangeAnalysis &ranges) {
  Operation *scale = findScale(site.value);
  FindingBuilder finding = report(site.op(), site.value, site.certainty);
  addSite(finding, site, ranges);
  if (!finding.isDescribed())
    return;
  finding.message(
      (scale ? "attention scores overflow before they are scaled: "
             : "attention scores overflow and nothing scales them: ") +
      describeOverflow(site, ranges));
  if (scale) {
    finding.cause(scale, "scales them, too late");
    finding.fix("reorder",
                "scale the query by 1/sqrt(d) before the product, a power of "
                "two of it exactly",
                {FixAction::Kind::ScaleFirst, {site.op(), scale}});
  }
  fixByWidening(finding, site, ranges, "the product and its scaling");
}
