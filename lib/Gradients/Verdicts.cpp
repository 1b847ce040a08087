//===- Verdicts.cpp - Parameters that do not learn
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Gradients/Verdicts.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// The root mean square of the elements that are not 0.
static double liveSize(const GradientEstimate &estimate) {
  return estimate.zero < 1 ? estimate.rms / std::sqrt(1 - estimate.zero) : 0;
}

GradientSizes::GradientSizes(const TrainingEstimate &estimate) {
  double squares = 0, most = 0;
  for (const ParameterGradient &parameter : estimate.parameters()) {
    const GradientEstimate &its = parameter.estimate;
    complete &= its.known;
    double size = its.known ? liveSize(its) : 0;
    if (!(size > 0))
      continue;
    double part = its.rms * its.rms * parameter.count;
    squares += part;
    if (part > most) {
      most = part;
      largest = &parameter;
    }
    if (parameter.rank < 2)
      continue;
    weights.push_back({&parameter, size, 1});
    if (std::isfinite(size)) {
      last = &parameter;
      lastSize = size;
    }
  }
  norm = std::sqrt(squares);
  if (!last)
    weights.clear();
  for (Weight &weight : weights)
    weight.ratio = weight.size / lastSize;
}

GradientVerdicts mpopt::judgeGradients(const TrainingEstimate &estimate) {
  GradientVerdicts verdicts;
  for (const ParameterGradient &parameter : estimate.parameters())
    if (parameter.estimate.known && liveSize(parameter.estimate) == 0)
      verdicts.dead.push_back(&parameter);
  for (const GradientSizes::Weight &weight : GradientSizes(estimate).weights) {
    if (weight.ratio < GradientVerdicts::kVanishing)
      verdicts.vanishing.push_back(weight.parameter);
    else if (weight.ratio > GradientVerdicts::kExploding)
      verdicts.exploding.push_back(weight.parameter);
  }
  return verdicts;
}

std::optional<double> mpopt::shareOfDeadUnits(Operation *rectifier,
                                              const RangeAnalysis &ranges) {
  const AbstractValue &x = ranges.preRounding(rectifier->getOperand(0));
  if (!x.hasLikely())
    return std::nullopt;
  size_t dead = 0;
  for (const Cell &cell : x.cells())
    dead += cell.likelyHi <= 0;
  return double(dead) / double(x.groups());
}

std::vector<Value> mpopt::findDeadUnits(Operation *module,
                                        const RangeAnalysis &ranges) {
  std::vector<Value> found;
  module->walk([&](mp::ReluOp relu) {
    if (!relu->hasAttr(kBackwardAttr) &&
        shareOfDeadUnits(relu, ranges).value_or(0) >= 0.5)
      found.push_back(relu.getResult());
  });
  return found;
}
