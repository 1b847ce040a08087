//===- SecondMoment.cpp - MP408: a second moment that flushes or stays
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/LossScaling.h"
#include "mpopt/Hazards/ParameterUpdates.h"
#include "passes/rules/Rules.h"

namespace mpopt {
#define GEN_PASS_DEF_SECONDMOMENT
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct SecondMoment : mpopt::impl::SecondMomentBase<SecondMoment> {
  void check(ModuleOp module) override;

private:
  void judgeDecay(const ParameterUpdates &updates);
  void judgeFlush(const ParameterUpdates &updates);
};
} // namespace

/// Values of beta2 in use, from the longest memory on.
static constexpr double kUsualBetas[] = {0.999, 0.995, 0.99, 0.98, 0.95, 0.9};

void SecondMoment::judgeDecay(const ParameterUpdates &updates) {
  const Optimizer &optimizer = *updates.optimizer();
  // Adagrad's sum is not meant to.
  if (optimizer.rule == UpdateRule::Adagrad)
    return;
  for (const ParameterUpdate &update : updates.updates()) {
    const FloatFormat *format = getFloatFormat(update.state);
    double stop = format ? stopOfDecay(optimizer.beta2, *format) : 0;
    if (stop == 0)
      continue;
    std::string dtype = getDtypeName(update.state);
    std::string beta = formatNumber(optimizer.beta2);
    FindingBuilder finding =
        report(update.computed().getDefiningOp(), update.computed());
    finding.tensor(update.parameter)
        .dtype(update.state)
        .message("the second moment does not decay in " + dtype + ": " + beta +
                 " v is " +
                 (stop == 1 ? "rounded back to v"
                            : "rounded back to v at " + formatNumber(stop) +
                                  " of the power of two above it") +
                 ", since 1 - beta2 = " + formatNumber(1 - optimizer.beta2) +
                 " is below half an ulp, so that one large gradient makes the "
                 "updates of a weight small for good; beta2 below " +
                 formatNumber(1 - format->unitRoundoff()) + " decays");
    fixByWideState(finding, updates, update);
    for (double beta2 : kUsualBetas)
      if (stopOfDecay(beta2, *format) == 0) {
        TrainingFacts facts = updates.facts();
        facts.optimizer.beta2 = beta2;
        finding.fixByStep("optimizer", "set beta2 to " + formatNumber(beta2),
                          facts);
        break;
      }
    return;
  }
}

void SecondMoment::judgeFlush(const ParameterUpdates &updates) {
  const Optimizer &optimizer = *updates.optimizer();
  ParameterLosses losses = updates.findLosses(
      threshold("second-moment-share"),
      [&](const ParameterUpdate &update) -> std::optional<double> {
        const FloatFormat *format = getFloatFormat(update.state);
        // Without an epsilon the update is infinite, of which OptimizerEpsilon
        // tells.
        if (!format || format->round(optimizer.epsilon) == 0)
          return std::nullopt;
        return update.step.flushedSecond(*format).value_or(0);
      });
  const ParameterUpdate *worst = losses.worst;
  if (!worst)
    return;
  const FloatFormat &format = *getFloatFormat(worst->state);
  double edge = optimizer.largestFlushed(format);
  double epsilon = format.round(optimizer.epsilon);
  double typical = std::min(worst->typicalGradient, edge);
  FindingBuilder finding =
      report(worst->computed().getDefiningOp(), worst->computed());
  finding.tensor(worst->parameter)
      .likely()
      .dtype(worst->state)
      .message(describeShare(losses.most) + " of the second moment is 0 in " +
               getDtypeName(worst->state) + ": squares of gradients up to " +
               formatNumber(edge) + " flush, and eps " + formatNumber(epsilon) +
               " alone divides; a gradient of " + formatNumber(typical) +
               " makes an update of " + formatNumber(typical / epsilon) +
               " learning rates instead of one" + losses.listOthers());
  fixByWideState(finding, updates, *worst);
}

void SecondMoment::check(ModuleOp module) {
  const auto &updates = getAnalysis<ParameterUpdates>();
  if (!updates.optimizer() || !updates.optimizer()->hasSecond())
    return;
  judgeDecay(updates);
  judgeFlush(updates);
}
