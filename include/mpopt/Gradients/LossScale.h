//===- LossScale.h - Which loss scales work ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The window of loss scales of a training step. Its top is where something on
// the way of a gradient overflows: one Inf has the whole step skipped. Its
// bottom is where a tenth of all elements of the parameters' gradients is lost,
// beyond what is lost at any scale. Scales are powers of two.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRADIENTS_LOSSSCALE_H
#define MPOPT_GRADIENTS_LOSSSCALE_H

#include "mpopt/Gradients/GradientAnalysis.h"

#include <string>
#include <vector>

namespace mpopt {

/// The gradient of one parameter.
struct ParameterGradient {
  std::string name;
  /// As training gets it, in the parameter's dtype, and where it is computed
  /// first: for weights that were cast, in the narrow dtype.
  mlir::Value gradient, computed;
  /// Number of elements; 1 for unknown dims.
  double count = 1;
  /// The number of the parameter's axes.
  int64_t rank = 0;
  GradientEstimate estimate;
};

struct ScaleWindow {
  /// Exponents of two. No `lo`: elements are lost at every scale that is looked
  /// at. A `hi` of LostShare::kLast: nothing overflows; below kFirst: something
  /// overflows at every scale.
  std::optional<int> lo;
  int hi = LostShare::kLast;
  /// The start to choose: two powers of two below the top, 2^16 at most, and
  /// not below the bottom. Nothing if there is no scale that works.
  std::optional<double> recommended;
  /// The value that overflows above the top, and the parameter that loses the
  /// largest part below the bottom (an index; -1: none).
  mlir::Value top;
  int bottom = -1;
  /// The share of all parameters' elements that is lost at any scale.
  double floor = 0;
};

/// All of a training step that rules and reports ask for.
class TrainingEstimate {
public:
  TrainingEstimate(mlir::Operation *module, mlir::AnalysisManager &manager);

  const GradientAnalysis &gradients() const { return *analysis; }
  /// In the order of the module's results.
  llvm::ArrayRef<ParameterGradient> parameters() const { return list; }
  const ScaleWindow &window() const { return range; }
  /// The share of the elements of all parameters' gradients that is lost at the
  /// loss scale 2^exponent.
  double lostAt(int exponent) const { return lost.at(exponent); }
  /// True if some gradient is computed in a format that needs a scale.
  bool needsScale() const { return narrow; }

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &preserved);

private:
  void findWindow();

  const GradientAnalysis *analysis;
  std::vector<ParameterGradient> list;
  LostShare lost;
  ScaleWindow range;
  bool narrow = false;
};

} // namespace mpopt

#endif // MPOPT_GRADIENTS_LOSSSCALE_H
