//===- GradientOps.h - See GradientOps.td -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_GRADIENTOPS_H
#define MPOPT_DIALECT_OPS_GRADIENTOPS_H

#include "mpopt/Dialect/OpSupport.h"

namespace mpopt::mp {

/// Appends the types of the operands that `wanted` numbers.
llvm::LogicalResult inferGradients(mlir::Operation *op,
                                   llvm::ArrayRef<int64_t> wanted,
                                   llvm::SmallVectorImpl<mlir::Type> &types);

/// An error unless `wanted` numbers operands in rising order, one a result.
llvm::LogicalResult verifyGradients(mlir::Operation *op,
                                    llvm::ArrayRef<int64_t> wanted);

} // namespace mpopt::mp

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/GradientOps.h.inc"

#endif // MPOPT_DIALECT_OPS_GRADIENTOPS_H
