//===- MaskConstant.cpp - MP208: a mask leaves the dtype
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Also a softmax of masked scores whose rows may be masked altogether: with
// finite masks such a row is uniform, with infinite ones it is NaN.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/OverflowSites.h"
#include "mpopt/Hazards/TrainingFacts.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Masking.h"

namespace mpopt {
#define GEN_PASS_DEF_MASKCONSTANT
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct MaskConstant : mpopt::impl::MaskConstantBase<MaskConstant> {
  void check(ModuleOp module) override {
    const auto &sites = getAnalysis<OverflowSites>();
    for (const OverflowSite &site : sites.sites)
      if (site.form == OverflowForm::Mask)
        judge(site, sites.ranges());
    module.walk([&](Operation *op) {
      if (hasRole(op, Role::Softmax) && hasRole(op, Role::Maskable))
        judgeRows(op, sites);
    });
  }

private:
  void judge(const OverflowSite &site, const RangeAnalysis &ranges);
  void judgeRows(Operation *softmax, const OverflowSites &sites);
};
} // namespace

static void fixMask(FindingBuilder &finding, Value masked, Type type) {
  const FloatFormat &format = *getFloatFormat(type);
  llvm::SetVector<Operation *> masks;
  findMasks(masked, largestMask(format), masks);
  finding.fix("change-constant",
              "mask with a value that " + Twine(format.name) +
                  " holds and that leaves room for the scores, such as " +
                  formatNumber(-largestMask(format)) + " (finfo.min / 2)",
              masks.empty() ? FixAction()
                            : FixAction::onConstants(
                                  FixAction::Kind::LimitConstant,
                                  masks.getArrayRef(), largestMask(format)));
}

void MaskConstant::judge(const OverflowSite &site,
                         const RangeAnalysis &ranges) {
  Operation *op = site.op();
  Type type = getElementType(site.value);
  bool product = hasRole(op, Role::Multiplication);
  FindingBuilder finding = report(op, site.value, site.certainty);
  // Added, -Inf masks as well as a number does until a whole row is masked.
  finding.severity(product ? Severity::Error : Severity::Warning);
  addSite(finding, site, ranges);
  if (!finding.isDescribed())
    return;
  finding.message(
      product
          ? "the mask leaves " + Twine(getFloatFormat(type)->name) +
                " when it is multiplied out: " + describeOverflow(site, ranges)
          : "masked scores become -Inf, and a row that is masked "
            "altogether NaN: " +
                Twine(describeOverflow(site, ranges)));
  fixMask(finding, site.value, type);
}

/// True if other scores take the place of rows that are masked altogether: a
/// selection by what a reduction of a row says.
static bool replacesRows(Value scores) {
  Operation *select = getMaker(scores, Peel::CastsAndViews);
  if (!hasRole(select, Role::Select))
    return false;
  constexpr unsigned kMost = 6; // comparisons, negations and casts
  for (Value operand : select->getOperands()) {
    Operation *op = getElementType(operand).isInteger(1)
                        ? getMaker(operand, Peel::CastsAndViews)
                        : nullptr;
    for (unsigned step = 0; op && step < kMost; ++step) {
      if (hasRole(op, Role::Reduction))
        return true;
      op = op->getNumOperands() > 0
               ? getMaker(op->getOperand(0), Peel::CastsAndViews)
               : nullptr;
    }
  }
  return false;
}

void MaskConstant::judgeRows(Operation *softmax, const OverflowSites &sites) {
  Value scores = softmax->getOperand(0);
  const AbstractValue &read = sites.ranges().of(scores);
  if (!read.negInf || read.nan || read.posInf ||
      !sites.ranges().of(softmax->getResult(0)).nan)
    return;
  const OverflowSite *site = sites.find(scores);
  FindingBuilder finding = report(softmax, softmax->getResult(0));
  finding.severity(Severity::Warning).possible();
  // A batch of training has such a row sooner or later, and NaN is all that
  // its gradients are.
  if (isTrained(softmax) && !replacesRows(scores))
    finding.reachedByTraining();
  finding.watch(Decision::NonFinite, softmax->getResult(0), scores)
      .message("a row whose scores are all -Inf, which is one that is masked "
               "altogether, becomes NaN");
  if (site)
    finding.follows(site->root ? site->root : site->value);
  if (isa<FloatType>(getElementType(scores)))
    fixMask(finding, scores, getElementType(scores));
}
