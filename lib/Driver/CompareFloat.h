//===- CompareFloat.h - A quantised model beside its float model -*- C++ -*-==//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_COMPAREFLOAT_H
#define MPOPT_LIB_DRIVER_COMPAREFLOAT_H

#include "mpopt/Driver/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace mpopt {

/// Notes on the ops of a quantised model what the float model of that path says
/// of them: rectifiers that are missing, and the exact errors of weights. Adds
/// to `warnings` the outputs that only one of both has.
llvm::Error compareWithFloat(const Options &options, llvm::StringRef path,
                             mlir::ModuleOp module,
                             std::vector<std::string> &warnings);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_COMPAREFLOAT_H
