//===- Verdicts.h - Parameters that do not learn ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_GRADIENTS_VERDICTS_H
#define MPOPT_GRADIENTS_VERDICTS_H

#include "mpopt/Gradients/LossScale.h"

namespace mpopt {

class RangeAnalysis;

/// The gradients of weights side by side: parameters of two axes or more.
struct GradientSizes {
  struct Weight {
    const ParameterGradient *parameter;
    /// Root mean square over the elements that are not 0, and its ratio to that
    /// of the last weight.
    double size, ratio;
  };

  explicit GradientSizes(const TrainingEstimate &estimate);

  /// The last weight that has a gradient, and its size; null if none has.
  const ParameterGradient *last = nullptr;
  double lastSize = 0;
  /// The weights with a gradient, in the order of the model; none without a
  /// last one.
  std::vector<Weight> weights;
  /// The Euclidean norm of all gradients of which something is known, and the
  /// parameter with the largest part of it.
  double norm = 0;
  const ParameterGradient *largest = nullptr;
  /// False if nothing is known of some gradient.
  bool complete = true;
};

struct GradientVerdicts {
  /// Parameters whose gradient is exactly 0; weights whose ratio to the last
  /// one is below kVanishing, above kExploding.
  std::vector<const ParameterGradient *> dead, vanishing, exploding;

  static constexpr double kVanishing = 1e-4, kExploding = 1e3;
};

GradientVerdicts judgeGradients(const TrainingEstimate &estimate);

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
