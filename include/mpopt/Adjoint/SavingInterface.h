//===- SavingInterface.h - What autograd saves of ops -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_ADJOINT_SAVINGINTERFACE_H
#define MPOPT_ADJOINT_SAVINGINTERFACE_H

#include "mpopt/Adjoint/SavingContext.h"

#include "mpopt/Adjoint/SavingInterface.h.inc"

namespace mpopt {

/// Attaches SavingOpInterface to the ops that have rules of their own.
void attachSavingModels(mlir::MLIRContext *context);

} // namespace mpopt

#endif // MPOPT_ADJOINT_SAVINGINTERFACE_H
