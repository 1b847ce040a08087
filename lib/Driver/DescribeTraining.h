//===- DescribeTraining.h - Estimates of gradients as plain data *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_DESCRIBETRAINING_H
#define MPOPT_LIB_DRIVER_DESCRIBETRAINING_H

#include "mpopt/Report/TrainingReport.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace mpopt {

class ParameterUpdates;
class RangeAnalysis;
class TrainingEstimate;

/// The relative error of a gradient; nothing if it is not known.
using GradientErrorOf =
    llvm::function_ref<std::optional<double>(mlir::Value gradient)>;

/// The estimates of a module that has its backward graph. Gradients of tensors
/// between the parameters are only asked for where they are written.
TrainingReport describeGradients(mlir::ModuleOp module,
                                 const TrainingEstimate &estimate,
                                 const ParameterUpdates &updates,
                                 GradientErrorOf errorOf,
                                 const RangeAnalysis &ranges, bool wantTensors);

/// Writes `mpopt-train/1`: the predictions of one model as JSON.
void dumpGradients(llvm::raw_ostream &os, llvm::StringRef model,
                   const TrainingReport &report);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_DESCRIBETRAINING_H
