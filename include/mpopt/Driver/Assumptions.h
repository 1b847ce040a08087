//===- Assumptions.h - The assumptions about inputs -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_ASSUMPTIONS_H
#define MPOPT_DRIVER_ASSUMPTIONS_H

#include "mpopt/Driver/Options.h"

#include "mpopt/Report/Report.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// The assumptions on the module's inputs: one for each float or integer input,
/// and for each other input that an option names. An option that names no
/// input, or contradicts the input's shape, is an error; under `--train` a name
/// that is no input's may be a target's. Sets `mp.assume` (RangeAnalysis.h) on
/// the module's arguments.
llvm::Expected<std::vector<Assumption>> assumeInputs(const Options &options,
                                                     mlir::ModuleOp module);

/// The same on the targets that an attached loss reads: the arguments from
/// `first` on. An option that names no argument of the function is an error.
llvm::Expected<std::vector<Assumption>>
assumeTargets(const Options &options, mlir::func::FuncOp function,
              unsigned first);

/// Infers types anew where an integer input is assumed to be one number: a
/// sampling rate that chooses a branch.
llvm::LogicalResult inferFromAssumptions(mlir::ModuleOp module);

} // namespace mpopt

#endif // MPOPT_DRIVER_ASSUMPTIONS_H
