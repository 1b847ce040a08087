//===- VanishingGradient.cpp - MP404: gradients shrink on their way
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/GradientSizes.h"
#include "mpopt/Hazards/LossScaling.h"
#include "passes/rules/Rules.h"

namespace mpopt {
#define GEN_PASS_DEF_VANISHINGGRADIENT
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct VanishingGradient
    : mpopt::impl::VanishingGradientBase<VanishingGradient> {
  void check(ModuleOp module) override;

private:
  void judgeRatios(const GradientSizes &sizes, const LossScaling &scaling);
  void judgeNorm(const GradientSizes &sizes, const LossScaling &scaling);
};
} // namespace

void VanishingGradient::check(ModuleOp module) {
  const auto &scaling = getAnalysis<LossScaling>();
  if (!scaling.isPlausible())
    return;
  GradientSizes sizes(scaling.estimate());
  if (sizes.last)
    judgeRatios(sizes, scaling);
  judgeNorm(sizes, scaling);
}

void VanishingGradient::judgeRatios(const GradientSizes &sizes,
                                    const LossScaling &scaling) {
  double limit = threshold("vanishing-gradient");
  SmallVector<const ParameterGradient *> found;
  const GradientSizes::Weight *worst = nullptr;
  for (const GradientSizes::Weight &weight : sizes.weights) {
    if (weight.ratio >= limit)
      continue;
    found.push_back(weight.parameter);
    if (!worst || weight.ratio < worst->ratio)
      worst = &weight;
  }
  if (!worst)
    return;
  Value computed = worst->parameter->computed;
  FindingBuilder finding = report(computed.getDefiningOp(), computed);
  std::string others;
  if (found.size() > 1)
    others = "; so it is for " + std::to_string(found.size()) +
             " weights: " + listParameters(found);
  finding.likely()
      .tensor(worst->parameter->gradient)
      .message("the gradient of " + worst->parameter->name +
               " has a root mean square of " + formatNumber(worst->size) +
               ", " + formatNumber(worst->ratio) +
               " times that of the last weight, " + sizes.last->name + " (" +
               formatNumber(sizes.lastSize) + "); precision is not the cause" +
               others);
  if (sizes.last->computed != computed)
    finding.cause(sizes.last->computed,
                  "root mean square " + formatNumber(sizes.lastSize));
  Value last = scaling.find(sizes.last->name);
  for (const ParameterGradient *parameter : found)
    if (Value value = scaling.find(parameter->name); value && last)
      finding.watchGradientRatio(value, last, limit, kInfinity);
}

void VanishingGradient::judgeNorm(const GradientSizes &sizes,
                                  const LossScaling &scaling) {
  double limit = threshold("least-gradient-norm");
  if (!sizes.largest || !sizes.complete || sizes.norm >= limit)
    return;
  Value place = scaling.place();
  report(place.getDefiningOp(), place)
      .likely()
      .message("the norm of all gradients is " + formatNumber(sizes.norm) +
               ", below " + formatNumber(limit) +
               "; the largest part is that of " + sizes.largest->name +
               ". Precision is not the cause: a greater weight of the loss, or "
               "a sum in place of a mean, moves it");
}
