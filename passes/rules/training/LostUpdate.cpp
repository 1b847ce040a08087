//===- LostUpdate.cpp - MP409: weights that do not take the update
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/DtypeSupport.h"
#include "mpopt/Hazards/LossScaling.h"
#include "mpopt/Hazards/ParameterUpdates.h"
#include "passes/rules/Rules.h"

namespace mpopt {
#define GEN_PASS_DEF_LOSTUPDATE
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct LostUpdate : mpopt::impl::LostUpdateBase<LostUpdate> {
  void check(ModuleOp module) override;

private:
  void judgeDecay(const ParameterUpdates &updates, double least);
};
} // namespace

static void fixByCopies(FindingBuilder &finding,
                        const ParameterUpdates &updates) {
  TrainingFacts facts = updates.facts();
  facts.optimizer.master = true;
  finding.fixByStep("optimizer", "keep f32 copies of the weights to update",
                    facts);
}

void LostUpdate::judgeDecay(const ParameterUpdates &updates, double least) {
  const Optimizer &optimizer = *updates.optimizer();
  SmallVector<const ParameterGradient *> found;
  const ParameterUpdate *first = nullptr;
  for (const ParameterUpdate &update : updates.updates()) {
    if (!is16Bit(update.stored) ||
        update.step.lostDecay(*getFloatFormat(update.stored)).value_or(0) <
            least)
      continue;
    found.push_back(update.gradient);
    if (!first)
      first = &update;
  }
  if (!first)
    return;
  std::string dtype = getDtypeName(first->stored);
  FindingBuilder finding =
      report(first->computed().getDefiningOp(), first->computed());
  finding.tensor(first->parameter)
      .severity(Severity::Note)
      .dtype(first->stored)
      .message("weight decay alone does nothing: it takes " +
               formatNumber(optimizer.learningRate * optimizer.weightDecay) +
               " of a weight each step, and half an ulp in " + dtype + " is " +
               formatNumber(getFloatFormat(first->stored)->unitRoundoff() / 2) +
               " of it or more; parameters: " + listParameters(found));
  fixByCopies(finding, updates);
}

void LostUpdate::check(ModuleOp module) {
  const auto &updates = getAnalysis<ParameterUpdates>();
  if (!updates.optimizer())
    return;
  double least = threshold("lost-update-share");
  ParameterLosses losses = updates.findLosses(
      least, [](const ParameterUpdate &update) -> std::optional<double> {
        if (!is16Bit(update.stored))
          return std::nullopt;
        return update.step.lostSteps(*getFloatFormat(update.stored))
            .value_or(0);
      });
  judgeDecay(updates, least);
  const ParameterUpdate *worst = losses.worst;
  if (!worst)
    return;
  double weight = worst->step.typicalWeight();
  double gap = weight > 0 ? getFloatFormat(worst->stored)->ulp(weight) / 2 : 0;
  FindingBuilder finding =
      report(worst->computed().getDefiningOp(), worst->computed());
  finding.tensor(worst->parameter)
      .likely()
      .dtype(worst->stored)
      .message(
          describeShare(losses.most) + " of the weights keep their value in " +
          getDtypeName(worst->stored) + ": a step of " +
          updates.facts().optimizer.name + " changes them by about " +
          formatNumber(worst->step.typical()) +
          ", and half an ulp of a weight of " + formatNumber(weight) + " is " +
          formatNumber(gap) + "; there is no FP32 copy that adds the steps up" +
          losses.listOthers());
  fixByCopies(finding, updates);
}
