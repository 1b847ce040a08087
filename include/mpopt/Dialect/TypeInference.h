//===- TypeInference.h - Shapes and dtypes of a whole module ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_TYPEINFERENCE_H
#define MPOPT_DIALECT_TYPEINFERENCE_H

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"

#include "mlir/IR/Operation.h"

namespace mpopt {

/// Sets the result types of one op from its operands, by its own inference. A
/// static dim that the result already had and inference does not know is kept.
/// Facts about its elements go to `facts`. Ops of other dialects are left
/// alone. The body of a loop is inferred again, until the types that it yields
/// fit those of its arguments.
llvm::LogicalResult inferTypes(mlir::Operation *op, ShapeFacts &facts);

/// The same for every op below `root`, in order, for transforms that changed
/// dtypes. `facts`: what is known of inputs' elements.
llvm::LogicalResult inferAllTypes(mlir::Operation *root, ShapeFacts facts = {});

} // namespace mpopt

#endif // MPOPT_DIALECT_TYPEINFERENCE_H
