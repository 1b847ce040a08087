//===- Verdicts.h - Parameters that do not learn ----------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRADIENTS_VERDICTS_H
#define MPOPT_GRADIENTS_VERDICTS_H

#include "mpopt/Gradients/LossScale.h"

namespace mpopt {

class RangeAnalysis;

struct GradientVerdicts {
  /// The last weight, of two axes or more, that has a gradient; null: none. The
  /// others are measured against it, by the root mean square of the elements
  /// that are not 0.
  const ParameterGradient *anchor = nullptr;
  /// Parameters whose gradient is exactly 0; weights whose ratio to the anchor
  /// is below kVanishing, above kExploding.
  std::vector<const ParameterGradient *> dead, vanishing, exploding;

  static constexpr double kVanishing = 1e-4, kExploding = 1e3;
};

GradientVerdicts judgeGradients(const TrainingEstimate &estimate);

/// The root mean square of the elements that are not 0.
double liveSize(const GradientEstimate &estimate);

/// The share of the units of a rectifier, an op whose results are 0 where
/// operand 0 is not positive, that are not expected to be positive anywhere in
/// a batch. Units are the groups that the ranges tell apart. Nothing if there
/// is no estimate.
std::optional<double> shareOfDeadUnits(mlir::Operation *rectifier,
                                       const RangeAnalysis &ranges);

/// Results of rectifiers of which half the units or more are dead.
std::vector<mlir::Value> findDeadUnits(mlir::Operation *module,
                                       const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_GRADIENTS_VERDICTS_H
