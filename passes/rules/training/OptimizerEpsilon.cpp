//===- OptimizerEpsilon.cpp - MP407: an epsilon that does not guard, or freezes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/DtypeSupport.h"
#include "mpopt/Hazards/LossScaling.h"
#include "mpopt/Hazards/ParameterUpdates.h"
#include "passes/rules/Rules.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_OPTIMIZEREPSILON
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct OptimizerEpsilon : mpopt::impl::OptimizerEpsilonBase<OptimizerEpsilon> {
  void check(ModuleOp module) override;

private:
  void judgeZero(const ParameterUpdates &updates);
  void judgeFrozen(const ParameterUpdates &updates);
};
} // namespace

/// The least power of ten that is a normal number of the format.
static double leastEpsilon(const FloatFormat &format) {
  return std::pow(10, std::ceil(std::log10(format.minNormal)));
}

void OptimizerEpsilon::judgeZero(const ParameterUpdates &updates) {
  const Optimizer &optimizer = *updates.optimizer();
  ParameterLosses losses = updates.findLosses(
      0, [&](const ParameterUpdate &update) -> std::optional<double> {
        const FloatFormat *format = getFloatFormat(update.state);
        if (!format || format->round(optimizer.epsilon) != 0)
          return std::nullopt;
        double zero = update.gradient->estimate.zero;
        double flushed = update.step.flushedSecond(*format).value_or(0);
        double share = zero + (1 - zero) * flushed;
        // A moment that is never 0 needs no guard.
        return share == 0 ? std::nullopt : std::optional<double>(share);
      });
  const ParameterUpdate *worst = losses.worst;
  if (!worst)
    return;
  const FloatFormat &format = *getFloatFormat(worst->state);
  std::string dtype = getDtypeName(worst->state);
  std::string flushes =
      is16Bit(worst->state)
          ? " (gradients up to " +
                formatNumber(optimizer.largestFlushed(format)) + ")"
          : "";
  FindingBuilder finding =
      report(worst->computed().getDefiningOp(), worst->computed());
  finding.tensor(worst->parameter)
      .dtype(worst->state)
      .message("eps " + formatNumber(optimizer.epsilon) +
               (optimizer.epsilon == 0 ? std::string(" guards nothing")
                                       : " is 0 in " + dtype +
                                             ", the dtype of the optimizer's "
                                             "state") +
               ": where the second moment is 0, of " +
               describeShare(losses.most) + " of the weights" + flushes +
               ", the first update is Inf, or NaN where the gradient is 0" +
               losses.listAlike());
  fixByWideState(finding, updates, *worst);
  TrainingFacts facts = updates.facts();
  facts.optimizer.epsilon =
      isWide(worst->state) ? Optimizer::byName(facts.optimizer.name)->epsilon
                           : leastEpsilon(format);
  if (*facts.optimizer.epsilon > 0)
    finding.fixByStep("optimizer",
                      "set eps to " + formatNumber(*facts.optimizer.epsilon),
                      facts);
}

void OptimizerEpsilon::judgeFrozen(const ParameterUpdates &updates) {
  const Optimizer &optimizer = *updates.optimizer();
  // Updates are this many times smaller than the rate.
  auto slower = [&](const ParameterUpdate &update) {
    return 1 + optimizer.epsilon / update.typicalGradient;
  };
  ParameterLosses losses = updates.findLosses(
      0, [&](const ParameterUpdate &update) -> std::optional<double> {
        if (update.typicalGradient >= optimizer.epsilon)
          return std::nullopt;
        return slower(update);
      });
  const ParameterUpdate *worst = losses.worst;
  if (!worst)
    return;
  FindingBuilder finding =
      report(worst->computed().getDefiningOp(), worst->computed());
  finding.likely()
      .tensor(worst->parameter)
      .severity(Severity::Warning)
      .dtype(worst->state)
      .message("eps " + formatNumber(optimizer.epsilon) +
               " is above the gradient, whose root mean square is " +
               formatNumber(worst->typicalGradient) +
               ": updates are that much smaller than the learning rate (" +
               formatNumber(slower(*worst)) +
               " times), and the weight hardly moves" + losses.listAlike());
  // A tenth of the gradient, where the state holds it.
  double epsilon =
      std::pow(10, std::floor(std::log10(worst->typicalGradient)) - 1);
  const FloatFormat *format = getFloatFormat(worst->state);
  if (!format || epsilon < format->minNormal)
    return;
  TrainingFacts facts = updates.facts();
  facts.optimizer.epsilon = epsilon;
  finding.fixByStep("optimizer", "set eps to " + formatNumber(epsilon), facts);
}

void OptimizerEpsilon::check(ModuleOp module) {
  const auto &updates = getAnalysis<ParameterUpdates>();
  if (!updates.optimizer() || !updates.optimizer()->hasSecond())
    return;
  judgeZero(updates);
  judgeFrozen(updates);
}
