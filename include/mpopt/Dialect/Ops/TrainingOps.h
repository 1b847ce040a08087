//===- TrainingOps.h - See TrainingOps.td -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_TRAININGOPS_H
#define MPOPT_DIALECT_OPS_TRAININGOPS_H

#include "mpopt/Dialect/OpSupport.h"

namespace mpopt::mp {

/// Appends the type with `like`'s element type and the shape that the elements
/// of `shape` give.
llvm::LogicalResult
inferFromShapeOperand(mlir::Operation *op, mlir::Value shape, mlir::Value like,
                      const ShapeFacts &facts,
                      llvm::SmallVectorImpl<mlir::Type> &types);

/// An error unless gradient and states can have the weight's shape, and each
/// state has a result.
llvm::LogicalResult verifyOptimizer(mlir::Operation *op, mlir::Value weight,
                                    mlir::Value gradient,
                                    mlir::ValueRange states,
                                    mlir::ValueRange newStates);

} // namespace mpopt::mp

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/TrainingOps.h.inc"

#endif // MPOPT_DIALECT_OPS_TRAININGOPS_H
