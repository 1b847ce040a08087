//===- LargeUpdate.cpp - MP415: an update that leaves nothing of the weights
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/DtypeSupport.h"
#include "mpopt/Hazards/LossScaling.h"
#include "mpopt/Hazards/ParameterUpdates.h"
#include "passes/rules/Rules.h"

namespace mpopt {
#define GEN_PASS_DEF_LARGEUPDATE
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct LargeUpdate : mpopt::impl::LargeUpdateBase<LargeUpdate> {
  void check(ModuleOp module) override;

private:
  bool judgeOverflow(const ParameterUpdates &updates);
};
} // namespace

/// The dtype in which a layer multiplies the weights: that of an FP32 copy
/// holds more.
static Type getUsed(const ParameterUpdate &update) {
  Type stored = update.stored, used = getElementType(update.computed());
  const FloatFormat *own = getFloatFormat(stored);
  const FloatFormat *other = getFloatFormat(used);
  return other && other->overflowFrom < own->overflowFrom ? used : stored;
}

bool LargeUpdate::judgeOverflow(const ParameterUpdates &updates) {
  // A single weight that is Inf is one too many; the share of normal numbers
  // beyond four deviations counts as none.
  constexpr double kLeast = 1e-4;
  ParameterLosses losses =
      updates.findLosses(kLeast, [](const ParameterUpdate &update) {
        return update.step.overflowing(*getFloatFormat(getUsed(update)));
      });
  const ParameterUpdate *worst = losses.worst;
  if (!worst)
    return false;
  Type used = getUsed(*worst);
  FindingBuilder finding =
      report(worst->computed().getDefiningOp(), worst->computed());
  finding.tensor(worst->parameter)
      .likely()
      .dtype(used)
      .message(describeShare(losses.most) + " of the weights become Inf in " +
               getDtypeName(used) + " by the first step: one of " +
               updates.facts().optimizer.name + " changes them by about " +
               formatNumber(worst->step.typical()) + ", and the largest is " +
               formatNumber(getFloatFormat(used)->maxFinite) +
               losses.listAlike())
      .fix("learning-rate", "lower the learning rate");
  return true;
}

void LargeUpdate::check(ModuleOp) {
  const auto &updates = getAnalysis<ParameterUpdates>();
  if (!updates.optimizer() || judgeOverflow(updates))
    return;
  ParameterLosses losses = updates.findLosses(
      threshold("large-update-ratio"),
      [](const ParameterUpdate &update) -> std::optional<double> {
        double weight = update.step.typicalWeight();
        if (!(weight > 0))
          return std::nullopt;
        return update.step.typical() / weight;
      });
  const ParameterUpdate *worst = losses.worst;
  if (!worst)
    return;
  FindingBuilder finding =
      report(worst->computed().getDefiningOp(), worst->computed());
  finding.tensor(worst->parameter)
      .severity(Severity::Warning)
      .likely()
      .dtype(worst->stored)
      .message(
          "the first step of " + updates.facts().optimizer.name +
          " changes weights of " + formatNumber(worst->step.typicalWeight()) +
          " by about " + formatNumber(worst->step.typical()) + ", " +
          formatNumber(losses.most) + " times their size" + losses.listAlike())
      .fix("learning-rate", "lower the learning rate");
}
