//===- LossOps.h - See LossOps.td -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_LOSSOPS_H
#define MPOPT_DIALECT_OPS_LOSSOPS_H

#include "mpopt/Dialect/OpSupport.h"

namespace mpopt::mp {

/// Appends the result type of a loss whose operands broadcast: of their shape
/// without a `reduction`, else a scalar. An error if dims contradict.
llvm::LogicalResult
inferBroadcastLoss(mlir::Operation *op, llvm::StringRef reduction,
                   llvm::SmallVectorImpl<mlir::Type> &types);

} // namespace mpopt::mp

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/LossOps.h.inc"

#endif // MPOPT_DIALECT_OPS_LOSSOPS_H
