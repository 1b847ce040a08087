//===- CompareConstants.h - Codes beside a float model's numbers *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_COMPARECONSTANTS_H
#define MPOPT_LIB_DRIVER_COMPARECONSTANTS_H

#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mpopt {

/// Notes on the ops that give quantised constants how far these are from the
/// float model's (FloatTwin.h). `floats`: its values by name. Both models are
/// as they were imported.
void compareConstants(mlir::ModuleOp codes, const RangeAnalysis &own,
                      const llvm::StringMap<mlir::Value> &floats,
                      const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_COMPARECONSTANTS_H
