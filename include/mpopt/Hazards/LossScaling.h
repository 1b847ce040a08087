//===- LossScaling.h - The loss scale that a step uses ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules about gradients share these facts: the scaler in force, the window
// of scales, what is lost at each, and how messages name parameters. An
// analysis of the module.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_LOSSSCALING_H
#define MPOPT_HAZARDS_LOSSSCALING_H

#include "mpopt/Gradients/LossScale.h"
#include "mpopt/Hazards/FindingList.h"
#include "mpopt/Hazards/OverflowSites.h"
#include "mpopt/Hazards/TrainingFacts.h"

#include "llvm/ADT/StringMap.h"

namespace mpopt {

class LossScaling {
public:
  LossScaling(mlir::Operation *module, mlir::AnalysisManager &manager);
  bool
  isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &preserved) {
    return !preserved.isPreserved<LossScaling>();
  }

  const TrainingEstimate &estimate() const { return *step; }
  const TrainingFacts &facts() const { return declared; }
  const LossScaler &scaler() const { return inForce; }
  /// The narrowest type of a gradient, if it has fewer exponents than FP32:
  /// FP16 or an FP8. Null if there is none, as in BF16.
  mlir::Type narrowest() const { return narrow; }
  /// True if there are gradients to judge.
  bool hasGradients() const { return !step->parameters().empty(); }

  /// True if the estimates of all gradients are numbers that FP32 holds. Others
  /// say that an op on the way is not modelled well, and nothing of the model.
  bool isPlausible() const { return plausible; }
  /// True if scales can be judged: there are gradients, and the forward pass
  /// is finite.
  bool isJudged() const { return hasGradients() && plausible && !overflow; }

  /// The greatest exponent of a scale at which nothing overflows.
  int top() const { return step->window().hi; }
  /// The least exponent at which fewer of all elements than `share` are lost
  /// beyond those that are lost at any scale, whatever overflows there; nothing
  /// if there is none.
  std::optional<int> bottom(double share) const;
  /// The exponent of the scale at which steps are taken: a dynamic scaler's
  /// start, or the window's top if that is lower.
  int inUse() const { return used; }
  /// The share of a parameter's elements, or of all of them, that is lost at
  /// that scale and not at every scale.
  static double lost(const ParameterGradient &parameter, int exponent);
  double lost(int exponent) const;

  /// The first tensor on a gradient's way, from the loss on, of which a share
  /// is lost at that scale; the gradient itself if nothing is on the way.
  mlir::Value findLost(mlir::Value gradient, int exponent, double share) const;

  /// The first overflow of the forward pass that is expected; null if it stays
  /// finite as far as one can tell.
  const OverflowSite *forwardOverflow() const { return overflow; }

  /// The op and the value that findings about the step as a whole name: the
  /// gradient of the loss, else the last parameter's.
  mlir::Value place() const;
  /// The model's value of that name, or the one that a gradient is of; null if
  /// it has none.
  mlir::Value find(llvm::StringRef name) const { return named.lookup(name); }
  mlir::Value findForward(mlir::Value gradient) const;

private:
  const TrainingEstimate *step;
  TrainingFacts declared;
  LossScaler inForce;
  mlir::Type narrow;
  bool plausible = true;
  int used = 0;
  const OverflowSite *overflow = nullptr;
  mlir::Value seed;
  llvm::StringMap<mlir::Value> named;
};

/// Adds a fix that has the scaler, or a new one, start from the recommended
/// scale; none if there is no such scale.
void fixByScale(FindingBuilder &finding, const LossScaling &scaling);

/// "2^10 (1024)"; "1" for 2^0.
std::string describeScale(int exponent);
/// "the loss scale 2^16 (65536), GradScaler's default", "the loss scale 1, as
/// there is no scaler" and so on, of the scale in use.
std::string describeInUse(const LossScaling &scaling);
/// "43 %", "under 1 %", "nearly all".
std::string describeShare(double share);
/// The names, those that differ in numbers only as one: "12 of
/// `layers.#.fc.weight`, `head.bias`".
std::string
listParameters(llvm::ArrayRef<const ParameterGradient *> parameters);

} // namespace mpopt

#endif // MPOPT_HAZARDS_LOSSSCALING_H
