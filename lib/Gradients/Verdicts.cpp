//===- Verdicts.cpp - Parameters that do not learn
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Gradients/Verdicts.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

double mpopt::liveSize(const GradientEstimate &estimate) {
  return estimate.zero < 1 ? estimate.rms / std::sqrt(1 - estimate.zero) : 0;
}

GradientVerdicts mpopt::judgeGradients(const TrainingEstimate &estimate) {
  GradientVerdicts verdicts;
  auto isWeight = [](const ParameterGradient &parameter) {
    return parameter.rank >= 2 && parameter.estimate.known;
  };
  for (const ParameterGradient &parameter : estimate.parameters()) {
    double size = liveSize(parameter.estimate);
    if (parameter.estimate.known && size == 0)
      verdicts.dead.push_back(&parameter);
    else if (isWeight(parameter) && std::isfinite(size))
      verdicts.anchor = &parameter;
  }
  if (!verdicts.anchor)
    return verdicts;
  double most = liveSize(verdicts.anchor->estimate);
  for (const ParameterGradient &parameter : estimate.parameters()) {
    double size = liveSize(parameter.estimate);
    if (!isWeight(parameter) || size == 0)
      continue;
    if (size < GradientVerdicts::kVanishing * most)
      verdicts.vanishing.push_back(&parameter);
    else if (size > GradientVerdicts::kExploding * most)
      verdicts.exploding.push_back(&parameter);
  }
  return verdicts;
}

std::optional<double> mpopt::shareOfDeadUnits(Operation *rectifier,
                                              const RangeAnalysis &ranges) {
  const AbstractValue &x = ranges.preRounding(rectifier->getOperand(0));
  if (!x.hasLikely())
    return std::nullopt;
  size_t dead = 0;
  // Twice as far as one expects, as means of channels are less certain than
  // their spread.
  for (const Cell &cell : x.cells())
    dead += cell.mean + 2 * (cell.likelyHi - cell.mean) <= 0;
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
