//===- OptimizerEpsilon.cpp - MP407: an epsilon that does not guard, or freezes
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/DtypeSupport.h"
#include "mpopt/Hazards/LossScaling.h"
#include "mpopt/Hazards/ParameterUpdates.h"
#include "passes/rules/Rules.h"

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

void OptimizerEpsilon::judgeZero(const ParameterUpdates &updates) {
  const Optimizer &optimizer = *updates.optimizer();
  const ParameterUpdate *worst = nullptr;
  double most = -1;
  unsigned count = 0;
  for (const ParameterUpdate &update : updates.updates()) {
    const FloatFormat *format = getFloatFormat(update.state);
    if (!format || format->round(optimizer.epsilon) != 0)
      continue;
    double zero = update.gradient->estimate.zero;
    double flushed = update.step.flushedSecond(*format).value_or(0);
    double share = zero + (1 - zero) * flushed;
    // A moment that is never 0 needs no guard.
    if (share == 0)
      continue;
    ++count;
    if (share > most) {
      most = share;
      worst = &update;
    }
  }
  if (!worst)
    return;
  const FloatFormat &format = *getFloatFormat(worst->state);
  std::string dtype = getDtypeName(worst->state);
  std::string flushes =
      is16Bit(worst->state)
          ? " (gradients up to " +
                formatNumber(optimizer.largestFlushed(format)) + ")"
          : "";
  std::string others =
      count > 1 ? "; so it is for " + std::to_string(count) + " parameters"
                : "";
  report(worst->computed().getDefiningOp(), worst->computed())
      .tensor(worst->parameter)
      .dtype(worst->state)
      .message("eps " + formatNumber(optimizer.epsilon) +
               (optimizer.epsilon == 0 ? std::string(" guards nothing")
                                       : " is 0 in " + dtype +
                                             ", the dtype of the optimizer's "
                                             "state") +
               ": where the second moment is 0, of " + describeShare(most) +
               " of the weights" + flushes +
               ", the first update is Inf, or NaN where the gradient is 0" +
               others);
}

void OptimizerEpsilon::judgeFrozen(const ParameterUpdates &updates) {
  const Optimizer &optimizer = *updates.optimizer();
  const ParameterUpdate *worst = nullptr;
  SmallVector<const ParameterGradient *> found;
  for (const ParameterUpdate &update : updates.updates()) {
    if (update.typicalGradient >= optimizer.epsilon)
      continue;
    found.push_back(update.gradient);
    if (!worst || update.typicalGradient < worst->typicalGradient)
      worst = &update;
  }
  if (!worst)
    return;
  double factor = 1 + optimizer.epsilon / worst->typicalGradient;
  std::string others;
  if (found.size() > 1)
    others = "; so it is for " + std::to_string(found.size()) +
             " parameters: " + listParameters(found);
  report(worst->computed().getDefiningOp(), worst->computed())
      .tensor(worst->parameter)
      .likely()
      .severity(Severity::Warning)
      .dtype(worst->state)
      .message("eps " + formatNumber(optimizer.epsilon) +
               " is above the gradient, whose root mean square is " +
               formatNumber(worst->typicalGradient) +
               ": updates are that much smaller than the learning rate (" +
               formatNumber(factor) + " times), and the weight hardly moves" +
               others);
}

void OptimizerEpsilon::check(ModuleOp module) {
  const auto &updates = getAnalysis<ParameterUpdates>();
  if (!updates.optimizer() || !updates.optimizer()->hasSecond())
    return;
  judgeZero(updates);
  judgeFrozen(updates);
}
