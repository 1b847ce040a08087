//===- GradientAnalysis.h - Estimates of all gradients ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk over a module that mp-differentiate has extended. Estimates are of
// the gradient of the unscaled loss, for one batch; nothing here is a bound. An
// analysis of the module: `getAnalysis<GradientAnalysis>()`.
//
// The function says what is known of the loss and its targets (Settings.h).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRADIENTS_GRADIENTANALYSIS_H
#define MPOPT_GRADIENTS_GRADIENTANALYSIS_H

#include "mpopt/Gradients/BackwardSpreadContext.h"

#include "mlir/Pass/AnalysisManager.h"

#include <functional>
#include <map>
#include <memory>

namespace mpopt {

class RangeAnalysis;
struct Hits;

/// The elements of one gradient, over a batch.
struct GradientEstimate {
  /// False if nothing is known of the elements: an op on the way has no
  /// estimate. Their numbers mean nothing then.
  bool known = true;
  /// Root mean square, zeros included, and the largest magnitude.
  double rms = 0, absMax = 0;
  /// Root mean square of the groups' means.
  double mean = 0;
  size_t groups = 1;
  /// The share of exact zeros.
  double zero = 0;
  /// The share of the others that is 0 as stored, by loss scale.
  LostShare lost;
  /// The greatest exponent of a loss scale at which neither the gradient nor
  /// anything on its way overflows, and the tensor that does above it.
  int most = LostShare::kLast;
  mlir::Value limit;
};

class GradientAnalysis {
public:
  GradientAnalysis(mlir::Operation *module, mlir::AnalysisManager &manager);
  ~GradientAnalysis();
  GradientAnalysis(GradientAnalysis &&);

  /// True if the value depends on the gradient of the loss.
  bool isGradient(mlir::Value value) const;
  /// The estimates of a gradient's groups.
  const AbstractValue &of(mlir::Value gradient) const;
  const Spread &spread(mlir::Value value) const;
  /// The hits of a gradient; null if all elements are alike.
  const Hits *hits(mlir::Value gradient) const;
  GradientEstimate estimate(mlir::Value gradient) const;
  /// The shares of the non-zero elements with 2^e <= |g| < 2^(e+1), by e; those
  /// below a thousandth are left out.
  std::map<int, double> sizes(mlir::Value gradient) const;
  /// The share of the elements that are not 0 whose magnitude is at most a
  /// limit, by the sizes of groups. The function does not need the analysis.
  std::function<double(double limit)> sharesBelow(mlir::Value gradient) const;
  /// Samples of the batch that estimates are of.
  double samples() const;

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &preserved);

private:
  class Driver;
  std::unique_ptr<Driver> driver;
};

} // namespace mpopt

#endif // MPOPT_GRADIENTS_GRADIENTANALYSIS_H
