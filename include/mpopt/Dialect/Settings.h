//===- Settings.h - A request as attributes of a module ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Analyses are made from a module alone, so what a request asks of them travels
// as attributes of the module. `mpopt-opt` reads the same ones.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_SETTINGS_H
#define MPOPT_DIALECT_SETTINGS_H

#include "mpopt/Numerics/Precision.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace mpopt {

/// Thresholds of rules that differ from their records: a dictionary of numbers.
inline constexpr llvm::StringLiteral kThresholdsAttr = "mp.thresholds";
/// The name of the target profile.
inline constexpr llvm::StringLiteral kTargetAttr = "mp.target";
/// The name of the precision that was applied.
inline constexpr llvm::StringLiteral kPrecisionAttr = "mp.precision";
/// The format to which a precision narrows floats: a type.
inline constexpr llvm::StringLiteral kLowTypeAttr = "mp.low_type";
/// Set on copies on which a fix is tried: their sums over weights may be
/// coarser.
inline constexpr llvm::StringLiteral kTrialAttr = "mp.trial";
/// Set on a changed copy of which only estimates are read: no bound is
/// narrowed.
inline constexpr llvm::StringLiteral kEstimatesAttr = "mp.estimates";

// Attributes of a module whose training step is judged.

/// Set on the ops of the backward graph: those that were appended, or that a
/// model which holds its gradients has itself.
inline constexpr llvm::StringLiteral kBackwardAttr = "mp.backward";
/// Set on the op of the backward graph that makes the gradient of the loss. The
/// text kProjection: it stands for random numbers of mean 0 and mean square 1,
/// in the shape of its operand.
inline constexpr llvm::StringLiteral kSeedAttr = "mp.seed";
inline constexpr llvm::StringLiteral kProjection = "projection";
/// Set on ops that only the loss depends on. They compute in FP32, or in FP64
/// for operands in FP64, whatever the precision is: to a framework the loss is
/// one op of its FP32 list, and exporters write it out.
inline constexpr llvm::StringLiteral kLossPartAttr = "mp.loss_part";
/// On the op that reads a target: the share of its elements that count (f64),
/// where it is declared.
inline constexpr llvm::StringLiteral kShareCountedAttr = "mp.share_counted";
/// On the function: the terms of the loss, as LossTerm::str.
inline constexpr llvm::StringLiteral kLossAttr = "mp.loss";
/// On the function: the loss as a log shows it (f64), where it is declared.
inline constexpr llvm::StringLiteral kLossValueAttr = "mp.loss_value";
/// On the function: false where targets are declared to be independent of the
/// inputs, true where they are declared not to be (i1).
inline constexpr llvm::StringLiteral kTargetsRelatedAttr = "mp.targets_related";
/// On the function: samples of a forward pass (i64), where they are declared.
inline constexpr llvm::StringLiteral kMicroBatchAttr = "mp.micro_batch";
/// On the function: steps of training that its weights have seen (i64), where
/// they are declared.
inline constexpr llvm::StringLiteral kStepsDoneAttr = "mp.steps_done";
/// On the function: what is declared of optimizer, loss scaler, batch,
/// reduction and sharding, a dictionary that TrainingFacts (TrainingFacts.h)
/// makes and reads.
inline constexpr llvm::StringLiteral kTrainingStepAttr = "mp.training_step";
/// On the function: the model came with its gradients (unit).
inline constexpr llvm::StringLiteral kHoldsGradientsAttr = "mp.holds_gradients";
/// On an argument that is a target: the kind of loss that reads it. Beside
/// `mp.assume`, whose keys RangeAnalysis.h lists, and which has `zipf` (f64,
/// the exponent of Zipf's law that class numbers follow) or `frequencies`
/// (dense f64 that sum to 1, of the classes from 0 on) where they are declared.
inline constexpr llvm::StringLiteral kLossTargetAttr = "mp.loss_target";

/// The precision that was applied to `module`; as-is if none was.
inline const Precision &getPrecision(mlir::Operation *module) {
  auto name = module->getAttrOfType<mlir::StringAttr>(kPrecisionAttr);
  return name ? Precision::of(name) : Precision::asIs();
}

} // namespace mpopt

#endif // MPOPT_DIALECT_SETTINGS_H
