//===- ModuleNames.h - Names of modules of a network ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_MODULENAMES_H
#define MPOPT_DIALECT_MODULENAMES_H

#include "mlir/IR/Operation.h"

#include <string>

namespace mpopt {

/// The module of a layer: its parameter's name without the last part, or the
/// path of the op, where an exporter gave the parameter another name.
std::string getModuleName(mlir::Operation *op, mlir::Value parameter);

} // namespace mpopt

#endif // MPOPT_DIALECT_MODULENAMES_H
