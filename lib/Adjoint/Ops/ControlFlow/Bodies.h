//===- Bodies.h - Bodies that are computed again ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_ADJOINT_OPS_CONTROLFLOW_BODIES_H
#define MPOPT_LIB_ADJOINT_OPS_CONTROLFLOW_BODIES_H

#include "mpopt/Adjoint/GradientContext.h"

#include "mlir/IR/IRMapping.h"

namespace mpopt {

/// Copies the ops of `from` but its terminator, under no names: the values have
/// theirs already.
void recompute(mlir::Block &from, mlir::OpBuilder &builder,
               mlir::IRMapping &map);

/// Values outside of the op's bodies that they read and that get a gradient.
llvm::SmallVector<mlir::Value> wantedOutside(GradientContext &ctx);

/// Zeros of the type of `like`, at the builder's place.
mlir::Value zerosAt(mlir::OpBuilder &builder, GradientContext &ctx,
                    mlir::Value like);

} // namespace mpopt

#endif // MPOPT_LIB_ADJOINT_OPS_CONTROLFLOW_BODIES_H
