//===- ConfigFindings.h - Settings of a training as findings ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_CONFIGFINDINGS_H
#define MPOPT_LIB_DRIVER_CONFIGFINDINGS_H

#include "mpopt/Driver/Options.h"
#include "mpopt/Report/TrainingReport.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// The findings of the selected rules in the training configuration, alone and
/// for the model, to which no precision was applied yet.
std::vector<Finding> findConfigFaults(const Options &options,
                                      mlir::ModuleOp module);

/// The same of what estimates say of the layers of a step in FP8.
std::vector<Finding> findLayerFaults(const Options &options,
                                     const TrainingReport &step);

/// Nothing if the rule is not selected.
std::optional<Finding> makeFinding(const Options &options,
                                   const TrainFault &fault);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CONFIGFINDINGS_H
