//===- GradientSizes.cpp - Gradients of weights side by side
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/GradientSizes.h"

#include "mpopt/Gradients/Verdicts.h"

#include <cmath>

using namespace mpopt;

GradientSizes::GradientSizes(const TrainingEstimate &estimate) {
  double squares = 0, most = 0;
  for (const ParameterGradient &parameter : estimate.parameters()) {
    const GradientEstimate &its = parameter.estimate;
    complete &= its.known;
    if (!its.known || !(its.rms > 0) || its.zero >= 1)
      continue;
    double part = its.rms * its.rms * parameter.count;
    squares += part;
    if (part > most) {
      most = part;
      largest = &parameter;
    }
    if (parameter.rank < 2)
      continue;
    weights.push_back({&parameter, liveSize(its), 1});
  }
  norm = std::sqrt(squares);
  last = judgeGradients(estimate).anchor;
  if (!last)
    return;
  lastSize = liveSize(last->estimate);
  for (Weight &weight : weights)
    weight.ratio = weight.size / lastSize;
}
