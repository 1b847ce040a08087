//===- NarrowingCast.cpp - MP213: a cast loses values
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants are left to MP202 and MP203.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/FlushedShare.h"
#include "mpopt/Hazards/OverflowSites.h"
#include "mpopt/Repair/Fix.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"

namespace mpopt {
#define GEN_PASS_DEF_NARROWINGCAST
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct NarrowingCast : mpopt::impl::NarrowingCastBase<NarrowingCast> {
  void check(ModuleOp module) override {
    const auto &sites = getAnalysis<OverflowSites>();
    for (const OverflowSite &site : sites.sites)
      if (site.form == OverflowForm::Narrowing)
        judge(site, sites.ranges());
    auto &shares = getAnalysis<FlushedShares>();
    module.walk<WalkOrder::PreOrder>(
        [&](mp::CastOp cast) { judgeFlush(cast, sites, shares); });
  }

private:
  void judge(const OverflowSite &site, const RangeAnalysis &ranges);
  void judgeFlush(mp::CastOp cast, const OverflowSites &sites,
                  FlushedShares &shares);
};
} // namespace

static std::string getTypes(mp::CastOp cast) {
  return "cast from " + getDtypeName(getElementType(cast.getInput())) + " to " +
         getDtypeName(getElementType(cast.getResult()));
}

void NarrowingCast::judge(const OverflowSite &site,
                          const RangeAnalysis &ranges) {
  auto cast = llvm::cast<mp::CastOp>(site.op());
  FindingBuilder finding = report(cast, site.value, site.certainty);
  addSite(finding, site, ranges);
  if (!finding.isDescribed())
    return;
  finding.message(getTypes(cast) + ": " + describeOverflow(site, ranges));
  fixByWidening(finding, site, ranges, "the tensor and the ops that read it");
  finding.fix("reorder", "scale in front of the cast",
              planScaleBeforeCast(cast));
}

void NarrowingCast::judgeFlush(mp::CastOp cast, const OverflowSites &sites,
                               FlushedShares &shares) {
  Value value = cast.getResult();
  if (!isa<FloatType>(getElementType(cast.getInput())) || isConstant(value) ||
      sites.find(value))
    return;
  std::optional<double> share = shares.of(value);
  if (!share || *share < threshold("underflow-share"))
    return;
  FindingBuilder finding = report(cast, value);
  finding.severity(Severity::Warning)
      .watch(Decision::FlushShare, value, "result",
             threshold("underflow-share"))
      .certainty(certaintyOfFlush(value, sites.ranges()))
      .partOfError(partOfFlush(*share, value, sites.ranges()))
      .message(getTypes(cast) + ": " + describeFlush(*share, value));
  addRange(finding, value, sites.ranges());
  fixByKeeping(finding, getElementType(value),
               "the tensor and the ops that read it");
}
