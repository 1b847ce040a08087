//===- TryInputs.h - Which input's declaration decides ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_TRYINPUTS_H
#define MPOPT_LIB_DRIVER_TRYINPUTS_H

#include "mpopt/Repair/Repair.h"
#include "mpopt/Report/Effect.h"

namespace mpopt {

/// Declares typical values of the inputs of which nothing is declared in copies
/// of `module`, if an effect of `outputs` or `decisions` is not known. The
/// result has the inputs that are needed to know more; nothing if none helps.
std::optional<TriedInputs>
findDecidingInputs(mlir::ModuleOp module, llvm::ArrayRef<EffectReport> outputs,
                   llvm::ArrayRef<DecisionReport> decisions, Analyze analyze);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_TRYINPUTS_H
