//===- Settings.h - A request as attributes of a module ---------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Analyses are made from a module alone, so what a request asks of them travels
// as attributes of the module. `mpopt-opt` reads the same ones.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_SETTINGS_H
#define MPOPT_DIALECT_SETTINGS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace mpopt {

/// Thresholds of rules that differ from their records: a dictionary of numbers.
inline constexpr llvm::StringLiteral kThresholdsAttr = "mp.thresholds";
/// The name of the target profile.
inline constexpr llvm::StringLiteral kTargetAttr = "mp.target";
/// The format to which a precision narrows floats: a type.
inline constexpr llvm::StringLiteral kLowTypeAttr = "mp.low_type";
/// Threads that an analysis may use; see `getJobs`.
inline constexpr llvm::StringLiteral kJobsAttr = "mp.jobs";
/// Set on copies on which a fix is tried: their sums over weights may be
/// coarser.
inline constexpr llvm::StringLiteral kTrialAttr = "mp.trial";

/// Set on the ops of a backward graph.
inline constexpr llvm::StringLiteral kBackwardAttr = "mp.backward";
/// Set on the op of the backward graph that makes the gradient of the loss.
inline constexpr llvm::StringLiteral kSeedAttr = "mp.seed";
/// The samples of a batch, on a function: an integer.
inline constexpr llvm::StringLiteral kMicroBatchAttr = "mp.micro_batch";
/// Steps of training that a function's weights have seen: an integer.
inline constexpr llvm::StringLiteral kStepsDoneAttr = "mp.steps_done";
/// The current value of a function's loss: a number.
inline constexpr llvm::StringLiteral kLossValueAttr = "mp.loss_value";

/// Threads that an analysis of `module` may use; 0 for as many as there are
/// cores.
inline unsigned getJobs(mlir::Operation *module) {
  auto jobs = module->getAttrOfType<mlir::IntegerAttr>(kJobsAttr);
  return jobs ? unsigned(jobs.getInt()) : 0;
}

} // namespace mpopt

#endif // MPOPT_DIALECT_SETTINGS_H
