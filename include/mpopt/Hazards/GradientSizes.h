//===- GradientSizes.h - Gradients of weights side by side ------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MP404 and MP405 judge by the sizes of all gradients of weights, against
// that of the last one, and the norm of all gradients together.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_GRADIENTSIZES_H
#define MPOPT_HAZARDS_GRADIENTSIZES_H

#include "mpopt/Gradients/LossScale.h"

#include <vector>

namespace mpopt {

struct GradientSizes {
  struct Weight {
    const ParameterGradient *parameter;
    /// Root mean square over the elements that are not 0, and its ratio to that
    /// of the last weight.
    double size, ratio;
  };

  explicit GradientSizes(const TrainingEstimate &estimate);

  /// The last weight, of two axes or more, that has a gradient; null if none
  /// has.
  const ParameterGradient *last = nullptr;
  double lastSize = 0;
  /// The weights with a gradient, in the order of the model.
  std::vector<Weight> weights;
  /// The Euclidean norm of all gradients of which something is known, and the
  /// parameter with the largest part of it.
  double norm = 0;
  const ParameterGradient *largest = nullptr;
  /// False if nothing is known of some gradient.
  bool complete = true;
};

} // namespace mpopt

#endif // MPOPT_HAZARDS_GRADIENTSIZES_H
