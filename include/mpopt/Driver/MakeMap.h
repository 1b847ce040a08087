//===- MakeMap.h - A module's tensors as a ModelMap -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_MAKEMAP_H
#define MPOPT_DRIVER_MAKEMAP_H

#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Report/ModelMap.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// The float tensors that inputs hold and ops compute. Casts that a policy put
/// in are left out: what they round is shown by their operands.
ModelMap makeMap(mlir::ModuleOp module, const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_DRIVER_MAKEMAP_H
