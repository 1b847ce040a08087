//===- Scaler.cpp - MP411: the loss scaler cannot do its work
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/LossScaling.h"
#include "passes/rules/Rules.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_SCALER
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct Scaler : mpopt::impl::ScalerBase<Scaler> {
  void check(ModuleOp module) override;

private:
  FindingBuilder reportStep(const LossScaling &scaling);
  void judgeForward(const LossScaling &scaling);
  void judgeSettings(const LossScaling &scaling);
  void judgeLeast(const LossScaling &scaling);
  void judgeLost(const LossScaling &scaling);
};
} // namespace

/// More of all elements than this, and the model as a whole does not learn.
static constexpr double kMost = 0.5;

/// On the step as a whole.
FindingBuilder Scaler::reportStep(const LossScaling &scaling) {
  Value place = scaling.place();
  return report(place.getDefiningOp(), place);
}

void Scaler::judgeForward(const LossScaling &scaling) {
  const OverflowSite &site = *scaling.forwardOverflow();
  const RangeAnalysis &ranges = getAnalysis<RangeAnalysis>();
  report(site.op(), site.value, site.certainty)
      .message("the forward pass overflows here (" +
               describeOverflow(site, ranges) +
               "), so that gradients are Inf or NaN at any loss scale: a "
               "dynamic scale runs to its least value, and no step is taken")
      .follows(site.root ? site.root : site.value);
}

void Scaler::judgeSettings(const LossScaling &scaling) {
  const LossScaler &scaler = scaling.scaler();
  if (scaler.mode != ScalerMode::Dynamic)
    return;
  TrainingFacts facts = scaling.facts();
  LossScaler usual = TrainingFacts().getScaler(/*inF16=*/true);
  if (!(scaler.growth > 1))
    facts.scaler.growth = usual.growth;
  if (!(scaler.backoff < 1) || !(scaler.backoff > 0))
    facts.scaler.backoff = usual.backoff;
  if (scaler.interval < 1)
    facts.scaler.interval = usual.interval;
  auto wrong = [&](const Twine &text) {
    FindingBuilder finding = reportStep(scaling);
    finding.message(text);
    finding.fixByStep("loss-scale",
                      "use GradScaler's growth of " +
                          formatNumber(usual.growth) + ", backoff of " +
                          formatNumber(usual.backoff) + " and interval of " +
                          Twine(usual.interval) + " steps",
                      facts);
  };
  if (!(scaler.growth > 1))
    wrong("the scaler's growth is " + formatNumber(scaler.growth) +
          ": it must be above 1, or the scale never rises again");
  if (!(scaler.backoff < 1) || !(scaler.backoff > 0))
    wrong("the scaler's backoff is " + formatNumber(scaler.backoff) +
          ": it must be between 0 and 1, or the scale does not come down after "
          "an overflow");
  if (scaler.interval < 1)
    wrong("the scaler's growth interval is " + Twine(scaler.interval) +
          " steps: it must be at least 1");
}

void Scaler::judgeLeast(const LossScaling &scaling) {
  const LossScaler &scaler = scaling.scaler();
  Value limit = scaling.estimate().window().top;
  if (scaler.mode != ScalerMode::Dynamic || !limit ||
      scaler.minimum <= std::ldexp(1.0, scaling.top()))
    return;
  FindingBuilder finding = reportStep(scaling);
  finding.likely().message(
      "the scaler's least scale is " + formatNumber(scaler.minimum) +
      ", and gradients overflow above " + describeScale(scaling.top()) +
      ": it stays there, and every step is skipped or the run ends with an "
      "error");
  finding.cause(limit, "overflows first");
  TrainingFacts facts = scaling.facts();
  int room = std::min(0, scaling.top());
  facts.scaler.minimum = std::ldexp(1.0, room);
  finding.fixByStep("loss-scale",
                    "let the scale come down to " + describeScale(room), facts);
}

void Scaler::judgeLost(const LossScaling &scaling) {
  const LossScaler &scaler = scaling.scaler();
  if (scaler.mode == ScalerMode::Dynamic)
    return;
  double least = threshold("gradient-underflow");
  double lost = scaling.lost(scaling.inUse());
  if (lost < least)
    return;
  std::optional<int> bottom = scaling.bottom(least);
  std::string needs;
  if (bottom)
    needs = "; they need a scale of " + describeScale(*bottom) +
            " or more, and nothing overflows up to " +
            describeScale(scaling.top());
  if (bottom && *bottom > scaling.top())
    needs = "; no scale keeps them";
  std::string which = scaler.mode == ScalerMode::None
                          ? "gradients are " +
                                getDtypeName(scaling.narrowest()) +
                                " and there is no loss scaler"
                          : "the fixed loss scale " +
                                formatNumber(scaler.initial) + " is too small";
  FindingBuilder finding = reportStep(scaling);
  finding.likely()
      .severity(lost >= kMost ? Severity::Error : Severity::Warning)
      .message(which + ": " + describeShare(lost) +
               " of all parameters' gradients that are not 0 are lost" + needs);
  fixByScale(finding, scaling);
}

void Scaler::check(ModuleOp module) {
  const auto &scaling = getAnalysis<LossScaling>();
  if (!scaling.hasGradients())
    return;
  const LossScaler &scaler = scaling.scaler();
  if (!scaling.narrowest()) {
    // Gradients that FP32 itself hardly holds gain by a scale.
    if (scaler.mode == ScalerMode::None || scaling.top() < 0 ||
        scaling.lost(0) >= threshold("gradient-underflow"))
      return;
    Value gradient = scaling.estimate().parameters().back().computed;
    TrainingFacts facts = scaling.facts();
    facts.scaler = ScalerFacts();
    facts.scaler.mode = ScalerMode::None;
    FindingBuilder finding = report(gradient.getDefiningOp(), gradient);
    finding.severity(Severity::Note)
        .message("no gradient is f16 or narrower, and a loss scaler does "
                 "nothing for others but cost time");
    finding.fixByStep("loss-scale", "train without a loss scaler", facts);
    return;
  }
  judgeSettings(scaling);
  if (scaling.forwardOverflow())
    return judgeForward(scaling);
  if (!scaling.isPlausible())
    return;
  judgeLeast(scaling);
  judgeLost(scaling);
}
