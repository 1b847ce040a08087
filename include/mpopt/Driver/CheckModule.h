//===- CheckModule.h - From an imported module to findings ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_CHECKMODULE_H
#define MPOPT_DRIVER_CHECKMODULE_H

#include "mpopt/Driver/Options.h"

#include "mpopt/Effects/QuantizedTensors.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Repair/ConversionPlan.h"
#include "mpopt/Repair/Fix.h"
#include "mpopt/Report/Keep.h"
#include "mpopt/Report/Report.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// Locations of a finding in the module: of its op, and of each of its causes.
struct FindingPlace {
  mlir::Location op;
  std::vector<mlir::Location> causes;
};

/// The training step of a module that `--train` asked for.
struct CheckedTraining {
  /// The terms of the loss (LossTerm::str); none if the model holds its
  /// gradients.
  std::vector<std::string> loss;
  bool chosen = false; ///< Nobody named the loss.
  bool holdsGradients = false;
  /// Parameters with a gradient, and those that none reaches.
  std::vector<std::string> parameters, detached;
  /// Ops with a gradient and no formula for it, by their names.
  std::map<std::string, unsigned> lacking;
  /// Assumptions about targets that are no inputs of the model.
  std::vector<Assumption> targets;
  /// Only with `--memory`.
  std::optional<MemoryReport> memory;
  /// The estimates of the gradients.
  TrainingReport gradients;
};

/// The results of a check of a module.
struct CheckedModule {
  /// Findings of all certainties, in the order of the rules.
  std::vector<Finding> findings;
  /// The location of each of `findings`.
  std::vector<FindingPlace> places;
  /// Ops to keep in FP32 against the listed warnings and errors, in the
  /// model's order: for `--keep-fp32` a list that is judged as a whole, else
  /// those by which each finding goes away.
  std::vector<KeptOpRef> keep;
  /// The same list as a conversion reads it.
  ConversionPlan plan;
  /// Warnings and errors that stay with the list of `--keep-fp32`.
  unsigned keepLeaves = 0;
  /// Only with `--diff`.
  std::vector<QuantizedTensor> quantized;
  /// The float outputs.
  std::vector<EffectReport> effects;
  std::vector<DecisionReport> decisions;
  std::optional<TriedInputs> tried;
  /// Only where the operands of products alone are narrow.
  std::optional<ScalingReport> scaling;
  /// Static scales of operands; only with `--scales`.
  std::vector<TensorScale> scales;
  /// Largest safe scales of inputs; only with `--safe-input`.
  std::vector<SafeScale> safeScales;

  /// Only with `--train`.
  std::optional<CheckedTraining> training;
  /// Why there is none although there should be.
  std::string unjudged;

  // Set only if a rule asked for ranges.
  unsigned proved = 0, tensors = 0;
  std::map<std::string, unsigned> unknownRanges;
  std::string target, targetSummary;
};

using RangeObserver = llvm::function_ref<void(const RangeAnalysis &)>;
using FixObserver =
    llvm::function_ref<void(mlir::ModuleOp, llvm::ArrayRef<TriedFix>)>;

/// Recognises idioms, applies the precision, has the selected rules look at the
/// module, and tries the fixes of the findings that are listed. `observe`,
/// unless it is null, is called with the ranges that the rules saw, under
/// `--train` with those of the whole training step; `observeModel` with those
/// of the model alone, before anything is appended to it; `observeFixes` with
/// the fixes of its findings that were tried.
///
/// Under `--train` loss and backward graph are appended once the rules about
/// the model itself, and their fixes, are done: what they say does not depend
/// on it. Rules of the family `training` look at the whole. The error is one
/// line.
llvm::Expected<CheckedModule> checkModule(const Options &options,
                                          mlir::ModuleOp module,
                                          RangeObserver observe = nullptr,
                                          RangeObserver observeModel = nullptr,
                                          FixObserver observeFixes = nullptr);

} // namespace mpopt

#endif // MPOPT_DRIVER_CHECKMODULE_H
