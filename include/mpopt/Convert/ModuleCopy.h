//===- ModuleCopy.h - A changed copy of an imported module ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_CONVERT_MODULECOPY_H
#define MPOPT_CONVERT_MODULECOPY_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

#include <string>
#include <vector>

namespace mpopt {

/// A module of a model, with a precision applied or not, and what fixes made of
/// a clone of it.
struct ModuleCopy {
  mlir::ModuleOp before, after;
  const mlir::IRMapping &mapping; ///< of the clone
};

/// Lines: `- NODE` and `+ NODE` of nodes, `NAME: BEFORE -> AFTER` of constants.
using ModelDiff = std::vector<std::string>;

} // namespace mpopt

#endif // MPOPT_CONVERT_MODULECOPY_H
