//===- GradientRatioRule.h - Gradients that change on their way -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_GRADIENTRATIORULE_H
#define MPOPT_PASSES_RULES_GRADIENTRATIORULE_H

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/GradientRatios.h"

namespace mpopt {

/// A rule that asks how far the gradients of weights are from that of the last
/// one, and what their norm is. `Rule` has `ratios(sizes)`, those that are too
/// far, and `judgeNorm(sizes, scaling)`.
template <typename Rule, template <typename> class Base>
struct GradientRatioRule : Base<Rule> {
  void check(mlir::ModuleOp) override {
    const auto &scaling = this->template getAnalysis<LossScaling>();
    if (!scaling.isPlausible())
      return;
    GradientSizes sizes(scaling.estimate());
    auto *rule = static_cast<Rule *>(this);
    GradientRatios ratios = rule->ratios(sizes);
    if (ratios.worst) {
      mlir::Value computed = ratios.worst->parameter->computed;
      FindingBuilder finding =
          this->report(computed.getDefiningOp(), computed, Certainty::Likely);
      ratios.describe(finding, scaling);
    }
    rule->judgeNorm(sizes, scaling);
  }
};

} // namespace mpopt

#endif // MPOPT_PASSES_RULES_GRADIENTRATIORULE_H
