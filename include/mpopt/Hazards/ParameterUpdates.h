//===- ParameterUpdates.h - The optimizer's step, by parameter --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The step of the declared optimizer on each parameter in training, by the
// weights in the model's file and the estimates of their gradients. An analysis
// of the module: `getAnalysis<ParameterUpdates>()`.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_PARAMETERUPDATES_H
#define MPOPT_HAZARDS_PARAMETERUPDATES_H

#include "mpopt/Gradients/LossScale.h"
#include "mpopt/Gradients/Updates.h"
#include "mpopt/Hazards/FindingList.h"
#include "mpopt/Hazards/TrainingFacts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <memory>

namespace mpopt {

class TransferContext;

struct ParameterUpdate {
  const ParameterGradient *gradient = nullptr;
  /// The parameter in the dtype in which the model has it.
  mlir::Value parameter;
  /// The dtypes in which a step finds it and leaves it (f32 where FP32 copies
  /// are updated), and of the optimizer's state.
  mlir::Type stored, state;
  /// Root mean square of the gradient that the optimizer gets, clipped, of
  /// elements that are not 0.
  double typicalGradient = 0;
  UpdateEstimate step;

  /// The gradient where it is computed, at the layer that has the parameter.
  mlir::Value computed() const { return gradient->computed; }
};

/// The parameters of which a step loses a share that counts, or that lose by
/// another measure.
struct ParameterLosses {
  /// The one that loses most, and its share; null if none loses.
  const ParameterUpdate *worst = nullptr;
  double most = 0;
  llvm::SmallVector<const ParameterGradient *> parameters;
  /// The share from which a parameter counts.
  double least;

  /// The end of a message that names all of them; empty if there is only one.
  std::string listOthers() const;
  /// The same where the number of `least` is no share that is lost.
  std::string listAlike() const;
};

/// The magnitudes of weights, each read when somebody asks first. An analysis
/// of the module that does not depend on how it is trained.
class ParameterWeights {
public:
  ParameterWeights(mlir::Operation *module, mlir::AnalysisManager &manager);

  /// Those of a constant, or of what a precision stores of it; null if they are
  /// not known.
  const WeightSizes *of(mlir::Value value);

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &preserved);

private:
  TransferContext &context;
  llvm::DenseMap<mlir::Value, std::unique_ptr<WeightSizes>> known;
};

class ParameterUpdates {
public:
  ParameterUpdates(mlir::Operation *module, mlir::AnalysisManager &manager);

  const TrainingFacts &facts() const { return declared; }
  /// Nothing if none is declared.
  const std::optional<Optimizer> &optimizer() const { return known; }
  /// The parameters whose weights and gradients are known; all others are left
  /// out. Without an optimizer and its learning rate: none.
  llvm::ArrayRef<ParameterUpdate> updates() const { return list; }

  /// The parameters whose `share` is `least` or more. Those without one are
  /// left out.
  ParameterLosses
  findLosses(double least,
             llvm::function_ref<std::optional<double>(const ParameterUpdate &)>
                 share) const;

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &preserved);

private:
  TrainingFacts declared;
  std::optional<Optimizer> known;
  std::vector<ParameterUpdate> list;
};

/// Adds fixes by which the optimizer keeps an FP32 copy of 16-bit weights, or
/// its state in FP32.
void fixByWideState(FindingBuilder &finding, const ParameterUpdates &updates,
                    const ParameterUpdate &update);

/// The optimizer that is declared, with its defaults; nothing if there is none,
/// or one that is not known.
std::optional<Optimizer> makeOptimizer(const OptimizerFacts &facts);

/// The constants, or what a precision stores of them, that gradients of the
/// module are named after.
llvm::StringMap<mlir::Value> findParameters(mlir::Operation *module);

} // namespace mpopt

#endif // MPOPT_HAZARDS_PARAMETERUPDATES_H
