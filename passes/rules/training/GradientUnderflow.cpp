//===- GradientUnderflow.cpp - MP401: gradients become 0
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/LossScaling.h"
#include "mpopt/Repair/GradientIsland.h"
#include "passes/rules/Rules.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_GRADIENTUNDERFLOW
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct GradientUnderflow
    : mpopt::impl::GradientUnderflowBase<GradientUnderflow> {
  void check(ModuleOp module) override;
};
} // namespace

/// More of all elements than this, and the model as a whole does not learn.
static constexpr double kMost = 0.5;

static std::string percent(double share) {
  return formatNumber(share * 100) + " %";
}

/// The format in which elements are lost: that of the gradient itself, or a
/// narrower one on the way to it.
static std::string whereLost(const LossScaling &scaling, Value computed) {
  Type type = getElementType(computed);
  Type narrow = scaling.narrowest();
  bool before =
      narrow && narrow.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth();
  return before ? getDtypeName(narrow) + " on the way to it"
                : getDtypeName(type);
}

/// The scale to choose, with what the worst parameter still loses there.
static std::string describeRemedy(const LossScaling &scaling,
                                  const ParameterGradient &worst,
                                  double least) {
  const ScaleWindow &window = scaling.estimate().window();
  if (window.recommended) {
    int exponent = std::ilogb(*window.recommended);
    double left = LossScaling::lost(worst, exponent);
    if (exponent > scaling.inUse() && left < least)
      return "; at " + describeScale(exponent) + " it would be " +
             describeShare(left);
  }
  if (scaling.top() < LostShare::kLast &&
      LossScaling::lost(worst, scaling.top()) >= least)
    return "; no scale keeps them, since gradients overflow above " +
           describeScale(scaling.top());
  for (int exponent = scaling.inUse() + 1; exponent <= scaling.top();
       ++exponent)
    if (LossScaling::lost(worst, exponent) < least)
      return "; from a scale of " + describeScale(exponent) +
             " on it would be less than " + percent(least);
  return "";
}

namespace {
/// The gradient of which a parameter's is made, and the values that it is
/// multiplied by; null if nothing is known of one.
struct Terms {
  Value against, factor;
};
} // namespace

// Only products of matrices and sums have these: the padding of a convolution
// makes zeros that are in neither factor, and a lookup leaves rows out.
static Terms findTerms(const LossScaling &scaling, Value computed) {
  const GradientAnalysis &gradients = scaling.estimate().gradients();
  Operation *op = getMaker(computed, Peel::CastsAndViews);
  while (hasRole(op, Role::Reduction) && hasRole(op, Role::Sum)) {
    Value summed = peel(op->getOperand(0), Peel::CastsAndViews);
    if (Value against = scaling.findForward(op->getOperand(0)))
      return {against, {}};
    if (Value against = scaling.findForward(summed))
      return {against, {}};
    op = summed.getDefiningOp();
  }
  if (!isa_and_present<mp::MatMulOp, mp::GemmOp>(op))
    return {};
  Terms terms;
  for (Value operand : op->getOperands()) {
    Value known = peel(operand, Peel::CastsAndViews);
    if (gradients.isGradient(operand))
      terms.against = scaling.findForward(known);
    else
      terms.factor = known;
  }
  return terms.against && terms.factor ? terms : Terms();
}

void GradientUnderflow::check(ModuleOp module) {
  const auto &scaling = getAnalysis<LossScaling>();
  if (!scaling.isJudged())
    return;
  double least = threshold("gradient-underflow");
  SmallVector<const ParameterGradient *> found;
  const ParameterGradient *worst = nullptr;
  double most = 0;
  for (const ParameterGradient &parameter : scaling.estimate().parameters()) {
    const GradientEstimate &estimate = parameter.estimate;
    if (!estimate.known || estimate.rms == 0)
      continue;
    double share = LossScaling::lost(parameter, scaling.inUse());
    if (share < least)
      continue;
    found.push_back(&parameter);
    if (share > most) {
      most = share;
      worst = &parameter;
    }
  }
  if (!worst)
    return;
  Value computed = worst->computed;
  double all = scaling.lost(scaling.inUse());
  FindingBuilder finding = report(computed.getDefiningOp(), computed);
  finding.likely()
      .tensor(worst->gradient)
      .severity(all >= kMost ? Severity::Error : Severity::Warning);
  std::string others;
  if (found.size() > 1)
    others = "; " + std::to_string(found.size()) + " parameters lose " +
             percent(least) + " or more: " + listParameters(found);
  finding.message(describeInUse(scaling) + ", " + describeShare(most) +
                  " of the elements of " + worst->name +
                  "'s gradient that are not 0 are lost in " +
                  whereLost(scaling, computed) + " (root mean square " +
                  formatNumber(worst->estimate.rms) + ", unscaled)" +
                  describeRemedy(scaling, *worst, least) + others);
  fixByScale(finding, scaling);
  if (finding.isDescribed())
    fixByIsland(finding, scaling.findLost(computed, scaling.inUse(), least));
  double scale = std::ldexp(1.0, scaling.inUse());
  for (const ParameterGradient *parameter : found)
    if (Value value = scaling.find(parameter->name)) {
      Terms terms = findTerms(scaling, parameter->computed);
      finding.watchGradient(Decision::GradientFlush, value,
                            getElementType(parameter->computed), scale,
                            terms.against, terms.factor);
    }
}
