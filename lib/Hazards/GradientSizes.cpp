//===- GradientSizes.cpp - Gradients of weights side by side
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/GradientSizes.h"

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
    double size = its.rms / std::sqrt(1 - its.zero);
    weights.push_back({&parameter, size, 1});
    last = &parameter;
    lastSize = size;
  }
  norm = std::sqrt(squares);
  for (Weight &weight : weights)
    weight.ratio = weight.size / lastSize;
}
