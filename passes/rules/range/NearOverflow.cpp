//===- NearOverflow.cpp - MP211: a result close to overflowing its dtype
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/OverflowSites.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Relations/RelationSupport.h"

namespace mpopt {
#define GEN_PASS_DEF_NEAROVERFLOW
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct NearOverflow : mpopt::impl::NearOverflowBase<NearOverflow> {
  void check(ModuleOp) override {
    sites = &getAnalysis<OverflowSites>();
    margin = threshold("near-overflow") / FloatFormat::f16().maxFinite;
    forEachOp([&](Operation *op) {
      // An op that only moves elements repeats a finding about their source,
      // and a scale is chosen so that codes come near the largest.
      if (isa<RangeOpInterface>(op) && !isa<mp::ConstantOp>(op) &&
          !isViewLike(op) && !hasRole(op, Role::Quantization))
        for (Value result : op->getResults())
          judge(op, result);
    });
  }

private:
  void judge(Operation *op, Value value);

  const OverflowSites *sites = nullptr;
  double margin = 0;
};
} // namespace

/// A cast to FP8 by which nothing becomes Inf or NaN stores codes, whose scale
/// is chosen so that they come near the largest. What one that saturates clips
/// counts in the effect on outputs.
static bool makesCodes(Operation *op, const RangeAnalysis &ranges) {
  auto cast = dyn_cast<mp::CastOp>(op);
  const FloatFormat *format =
      cast ? getFloatFormat(getElementType(cast.getResult())) : nullptr;
  if (!format || format->bits != 8)
    return false;
  // A scale without a guard may be subnormal, and half of what it should be.
  return cast.getSaturate() ||
         ranges.magnitudes(cast.getResult()).bound < format->overflowFrom ||
         relations::isQuotientByOwnMaximum(
             getMaker(cast.getInput(), Peel::CastsAndViews), ranges.context());
}

void NearOverflow::judge(Operation *op, Value value) {
  Type type = getElementType(value);
  if (!isLowPrecision(type) || isConstant(value) ||
      makesCodes(op, sites->ranges()))
    return;
  const OverflowSite *site = sites->find(value);
  if (site && site->certainty != Certainty::Possible)
    return;
  const FloatFormat &format = *getFloatFormat(type);
  std::optional<double> likely = sites->ranges().magnitudes(value).likely;
  if (!likely || *likely < margin * format.maxFinite)
    return;
  double room = 100 - std::floor(*likely / format.maxFinite * 100);
  FindingBuilder finding = report(op, value);
  finding.watch(Decision::NearOverflow, value, "result",
                margin * format.maxFinite);
  finding.likely().message(
      "magnitudes are expected to reach " + formatNumber(*likely) + ", " +
      (room > 0 ? formatNumber(room) + " % below" : "which is rounded to") +
      " the largest " + format.name + " value, " +
      formatNumber(format.maxFinite));
  addRange(finding, value, sites->ranges());
  addGrowth(finding, value, sites->ranges(), /*likely=*/true);
  fixByKeeping(finding, type, "the op and its result");
}
