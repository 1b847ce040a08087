//===- ConfigFindings.h - Settings of a training as findings ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_CONFIGFINDINGS_H
#define MPOPT_LIB_DRIVER_CONFIGFINDINGS_H

#include "mpopt/Driver/Options.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// The findings of the selected rules in the training configuration, alone and
/// for the model, to which no precision was applied yet.
std::vector<Finding> findConfigFaults(const Options &options,
                                      mlir::ModuleOp module);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CONFIGFINDINGS_H
