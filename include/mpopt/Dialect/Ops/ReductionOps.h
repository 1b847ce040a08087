//===- ReductionOps.h - See ReductionOps.td ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_REDUCTIONOPS_H
#define MPOPT_DIALECT_OPS_REDUCTIONOPS_H

#include "mpopt/Dialect/OpSupport.h"

namespace mpopt {

/// Appends the type of a reduction of `input`: over `axes`, over the elements
/// of `dynamicAxes`, or over all axes if there is neither or the list is empty.
llvm::LogicalResult inferReduction(mlir::Operation *op, mlir::Value input,
                                   std::optional<llvm::ArrayRef<int64_t>> axes,
                                   mlir::Value dynamicAxes, bool keepDims,
                                   const ShapeFacts &facts,
                                   mlir::Type elementType,
                                   llvm::SmallVectorImpl<mlir::Type> &types);

/// An error unless the axes are in range and distinct, and at most one of
/// attribute and operand is there.
llvm::LogicalResult verifyReduction(mlir::Operation *op, mlir::Value input,
                                    std::optional<llvm::ArrayRef<int64_t>> axes,
                                    mlir::Value dynamicAxes);

} // namespace mpopt

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/ReductionOps.h.inc"

#endif // MPOPT_DIALECT_OPS_REDUCTIONOPS_H
