//===- GradientRatios.cpp - Weights whose gradients stand out
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/GradientRatios.h"

using namespace mlir;
using namespace mpopt;

GradientRatios::GradientRatios(const GradientSizes &sizes, double lo, double hi)
    : sizes(sizes), lo(lo), hi(hi) {
  for (const GradientSizes::Weight &weight : sizes.weights) {
    bool below = weight.ratio < lo;
    if (!below && !(weight.ratio > hi))
      continue;
    found.push_back(weight.parameter);
    if (!worst ||
        (below ? weight.ratio < worst->ratio : weight.ratio > worst->ratio))
      worst = &weight;
  }
}

void GradientRatios::describe(FindingBuilder &finding,
                              const LossScaling &scaling) const {
  const ParameterGradient &last = *sizes.last;
  std::string others;
  if (found.size() > 1)
    others = "; the same holds for " + std::to_string(found.size()) +
             " weights: " + listParameters(found);
  finding.tensor(worst->parameter->gradient)
      .message("the gradient of " + worst->parameter->name +
               " has a root mean square of " + formatNumber(worst->size) +
               ", " + formatNumber(worst->ratio) +
               " times that of the last weight, " + last.name + " (" +
               formatNumber(sizes.lastSize) + "); precision is not the cause" +
               others);
  if (last.computed != worst->parameter->computed)
    finding.cause(last.computed,
                  "root mean square " + formatNumber(sizes.lastSize));
  Value against = scaling.find(last.name);
  for (const ParameterGradient *parameter : found)
    if (Value value = scaling.find(parameter->name); value && against)
      finding.watchGradientRatio(value, against, lo, hi);
}
