//===- Witness.h - Inputs that attain what is possible ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_WITNESS_H
#define MPOPT_LIB_DRIVER_WITNESS_H

#include "mpopt/Report/Finding.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// Has the Python package search the box of the inputs for points at which
/// overflows happen that are only possible, and names in each such finding the
/// file of its point, in `folder`. Returns the reason if there was no search,
/// else an empty text. `module` has the precision that is judged.
std::string findWitnesses(mlir::ModuleOp module, llvm::StringRef folder,
                          std::vector<Finding> &findings);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_WITNESS_H
