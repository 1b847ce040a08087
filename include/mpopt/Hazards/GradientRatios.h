//===- GradientRatios.h - Weights whose gradients stand out -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_HAZARDS_GRADIENTRATIOS_H
#define MPOPT_HAZARDS_GRADIENTRATIOS_H

#include "mpopt/Gradients/Verdicts.h"
#include "mpopt/Hazards/FindingList.h"
#include "mpopt/Hazards/LossScaling.h"

namespace mpopt {

/// Weights whose gradients are far from that of the last weight.
struct GradientRatios {
  /// Those whose ratios to it are outside of [lo, hi], one of which is no limit
  /// (0 or infinity).
  GradientRatios(const GradientSizes &sizes, double lo, double hi);

  /// Says of the worst what it is, of the others that they are, and has a run
  /// decide for all of them.
  void describe(FindingBuilder &finding, const LossScaling &scaling) const;

  const GradientSizes &sizes;
  double lo, hi;
  llvm::SmallVector<const ParameterGradient *> found;
  /// The one that is furthest outside; null if none is.
  const GradientSizes::Weight *worst = nullptr;
};

} // namespace mpopt

#endif // MPOPT_HAZARDS_GRADIENTRATIOS_H
