//===- Families.h - Ops that are evaluated ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A family sets the results of the ops that it has (Evaluation::set) and fails
// for others, for operands that are not known and for forms that it does not
// cover.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EVALUATION_OPS_FAMILIES_H
#define MPOPT_LIB_EVALUATION_OPS_FAMILIES_H

#include "mpopt/Evaluation/Evaluation.h"

namespace mpopt::evaluation {

llvm::LogicalResult evaluateActivation(mlir::Operation *op, Evaluation &in);
llvm::LogicalResult evaluateClassLoss(mlir::Operation *op, Evaluation &in);
llvm::LogicalResult evaluateConvolution(mlir::Operation *op, Evaluation &in);
llvm::LogicalResult evaluateElementwise(mlir::Operation *op, Evaluation &in);
llvm::LogicalResult evaluateIndexing(mlir::Operation *op, Evaluation &in);
llvm::LogicalResult evaluateLoss(mlir::Operation *op, Evaluation &in);
llvm::LogicalResult evaluateNormalization(mlir::Operation *op, Evaluation &in);
llvm::LogicalResult evaluatePooling(mlir::Operation *op, Evaluation &in);
llvm::LogicalResult evaluateProduct(mlir::Operation *op, Evaluation &in);
llvm::LogicalResult evaluateReduction(mlir::Operation *op, Evaluation &in);
llvm::LogicalResult evaluateView(mlir::Operation *op, Evaluation &in);

/// Sets the gradients of a gradient op that it wants: `make` gives that of an
/// operand, by its number among all operands of the op.
llvm::LogicalResult
setGradients(mlir::Operation *op, Evaluation &in,
             llvm::function_ref<std::optional<Array>(int64_t)> make);

} // namespace mpopt::evaluation

#endif // MPOPT_LIB_EVALUATION_OPS_FAMILIES_H
