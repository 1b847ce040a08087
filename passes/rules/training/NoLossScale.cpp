//===- NoLossScale.cpp - MP403: no scale keeps all gradients
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/LossScaling.h"
#include "mpopt/Repair/GradientIsland.h"
#include "passes/rules/Rules.h"

namespace mpopt {
#define GEN_PASS_DEF_NOLOSSSCALE
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct NoLossScale : mpopt::impl::NoLossScaleBase<NoLossScale> {
  void check(ModuleOp module) override;
};
} // namespace

/// More of all elements than this, and the model as a whole does not learn.
static constexpr double kMost = 0.5;

/// The parameter that loses most elements at that scale; null if none does.
static const ParameterGradient *findWorst(const LossScaling &scaling,
                                          int exponent) {
  const ParameterGradient *worst = nullptr;
  double most = 0;
  for (const ParameterGradient &parameter : scaling.estimate().parameters()) {
    const GradientEstimate &estimate = parameter.estimate;
    if (!estimate.known || estimate.rms == 0)
      continue;
    double lost = LossScaling::lost(parameter, exponent) * parameter.count *
                  (1 - estimate.zero);
    if (lost > most) {
      most = lost;
      worst = &parameter;
    }
  }
  return worst;
}

void NoLossScale::check(ModuleOp module) {
  const auto &scaling = getAnalysis<LossScaling>();
  if (!scaling.isJudged())
    return;
  Value limit = scaling.estimate().window().top;
  if (!limit || !limit.getDefiningOp())
    return;
  double least = threshold("gradient-underflow");
  int top = scaling.top();
  double lost = scaling.lost(top);
  if (top >= 0 && lost < least)
    return;
  std::string text =
      "this gradient overflows " + getDtypeName(getElementType(limit)) + " at ";
  if (top < LostShare::kFirst)
    text += "any loss scale";
  else if (top < 0)
    text += "loss scales above " + describeScale(top) +
            ", so that none of 1 or more works";
  else
    text += "loss scales above " + describeScale(top);
  bool severe = top < 0 || lost >= kMost;
  FindingBuilder finding = report(limit.getDefiningOp(), limit);
  finding.likely().severity(severe ? Severity::Error : Severity::Warning);
  const ParameterGradient *worst =
      lost >= least ? findWorst(scaling, top) : nullptr;
  if (worst) {
    std::optional<int> bottom = scaling.bottom(least);
    text += top < 0 ? "; there, " : ", and at that scale ";
    text += describeShare(lost) +
            " of all parameters' gradients that are not 0 are lost, most of "
            "them in " +
            worst->name;
    if (bottom)
      text += "; they need " + describeScale(*bottom);
  }
  if (top < 0 && !worst)
    text += "; a mean as loss in place of a sum moves that";
  finding.message(text);
  fixByIsland(finding, limit);
  if (worst)
    finding.cause(worst->computed,
                  "loses " + describeShare(LossScaling::lost(*worst, top)) +
                      " of the elements that are not 0 at " +
                      describeScale(top));
}
