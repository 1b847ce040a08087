//===- GradientOverflow.cpp - MP402: gradients become Inf
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/LossScaling.h"
#include "mpopt/Repair/GradientIsland.h"
#include "passes/rules/Rules.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_GRADIENTOVERFLOW
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct GradientOverflow : mpopt::impl::GradientOverflowBase<GradientOverflow> {
  void check(ModuleOp module) override;
};
} // namespace

/// How often a scaler has to shrink from its start to 2^top, and what it passes
/// over before the first time.
static double countSkipped(const LossScaler &scaler, int top) {
  double down = std::log2(scaler.initial) - top;
  double steps = std::ceil(down / -std::log2(scaler.backoff) - 1e-9);
  return steps + std::max<double>(0, double(scaler.hysteresis) - 1);
}

/// Gradients that `limit` is made of may overflow before it does, which leaves
/// NaN in it.
static void watchBefore(FindingBuilder &finding, const LossScaling &scaling,
                        Value limit) {
  const GradientAnalysis &gradients = scaling.estimate().gradients();
  // Probes for one finding: the nearest gradients overflow first.
  constexpr unsigned kMostWatched = 4;
  unsigned watched = 0;
  for (Value gradient = limit; gradient && watched < kMostWatched;) {
    Value value = scaling.findForward(gradient);
    if (value && isLowPrecision(getElementType(gradient)) && ++watched)
      finding.watchGradient(Decision::GradientOverflow, value,
                            getElementType(gradient), scaling.scaler().initial);
    Operation *op = gradient.getDefiningOp();
    gradient = {};
    if (op)
      for (Value operand : op->getOperands())
        if (!gradient && gradients.isGradient(operand))
          gradient = operand;
  }
}

void GradientOverflow::check(ModuleOp module) {
  const auto &scaling = getAnalysis<LossScaling>();
  if (!scaling.isJudged())
    return;
  const LossScaler &scaler = scaling.scaler();
  const ScaleWindow &window = scaling.estimate().window();
  int top = scaling.top();
  Value limit = window.top;
  if (!limit || !limit.getDefiningOp() ||
      scaler.initial <= std::ldexp(1.0, top))
    return;
  // There is no scale that works, which MP403 says.
  if (top < 0)
    return;
  Type type = getElementType(limit);
  std::string dtype = getDtypeName(type);
  std::string initial = formatNumber(scaler.initial);
  FindingBuilder finding = report(limit.getDefiningOp(), limit);
  finding.likely();
  std::string where = "this gradient overflows " + dtype +
                      " at loss scales above " + describeScale(top);
  std::string start;
  if (window.recommended && *window.recommended <= std::ldexp(1.0, top))
    start = describeScale(std::ilogb(*window.recommended));
  bool shrinks = scaler.backoff > 0 && scaler.backoff < 1;
  if (scaler.mode != ScalerMode::Dynamic || !shrinks) {
    std::string now = ", and the scaler has " + initial + ": no step is taken";
    finding.message(
        where + now +
        (start.empty() ? "" : "; a start of " + start + " leaves room"));
  } else {
    double skipped = countSkipped(scaler, top);
    bool many = skipped > threshold("skipped-steps");
    finding.severity(many ? Severity::Warning : Severity::Note);
    finding.message(where + ", and the scaler starts at " + initial +
                    (scaler.isDefaultInitial ? " (GradScaler's default)" : "") +
                    ": the first " + formatNumber(skipped) +
                    (skipped == 1 ? " step is" : " steps are") + " skipped" +
                    (start.empty() ? "" : "; " + start + " is a better start"));
  }
  fixByScale(finding, scaling);
  fixByIsland(finding, limit);
  watchBefore(finding, scaling, limit);
  // Every gradient behind it has Inf or NaN.
  for (const ParameterGradient &parameter : scaling.estimate().parameters())
    if (parameter.estimate.known && parameter.estimate.most == top)
      if (Value value = scaling.find(parameter.name)) {
        finding.watchGradient(Decision::GradientOverflow, value,
                              getElementType(parameter.computed),
                              scaler.initial);
        break;
      }
}
