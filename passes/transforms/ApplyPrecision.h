//===- ApplyPrecision.h - Judge a model under another arithmetic ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_TRANSFORMS_APPLYPRECISION_H
#define MPOPT_PASSES_TRANSFORMS_APPLYPRECISION_H

#include "mpopt/Numerics/Precision.h"
#include "mpopt/Policy/Policy.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// The precision that `auto` stands for: as-is if it has quantised tensors or
/// computes in a 16-bit or narrower float anywhere, else autocast-fp16. Storing
/// weights in 16 bits and casting is not computing.
const Precision &resolvePrecision(mlir::ModuleOp module);

/// Gives every value the dtype it would have under `precision`, with explicit
/// casts, and every op its category in `policy`. Failure is reported.
llvm::LogicalResult applyPrecision(mlir::ModuleOp module,
                                   const Precision &precision,
                                   const Policy &policy);

} // namespace mpopt

#endif // MPOPT_PASSES_TRANSFORMS_APPLYPRECISION_H
