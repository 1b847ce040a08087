//===- GradientOp.h - Ops whose gradient is an op of its own ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_ADJOINT_OPS_GRADIENTOP_H
#define MPOPT_LIB_ADJOINT_OPS_GRADIENTOP_H

#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Dialect/Ops/GradientOps.h"

namespace mpopt {

/// Makes the op of GradientOps.td named `name` for `ctx.op()`: the gradients of
/// its first `gradients` results, then its operands and attributes. `segmented`
/// says that the operands come in segments, `firstOnly` that no operand but the
/// first has a gradient. A gradient of a result behind those makes the form
/// lack.
void makeGradientOp(GradientContext &ctx, llvm::StringRef name,
                    unsigned gradients, bool segmented, bool firstOnly = false);

template <typename GradientOpTy, typename OpTy>
void buildGradientOp(OpTy op, GradientContext &ctx) {
  if constexpr (GradientOpTy::template hasTrait<
                    mlir::OpTrait::AttrSizedOperandSegments>()) {
    constexpr size_t more =
        typename GradientOpTy::Properties().operandSegmentSizes.size() -
        typename OpTy::Properties().operandSegmentSizes.size();
    makeGradientOp(ctx, GradientOpTy::getOperationName(), more, true);
  } else {
    makeGradientOp(ctx, GradientOpTy::getOperationName(), 1, false);
  }
}

/// Makes `GradientOpTy` the gradient of `OpTy`.
template <typename OpTy, typename GradientOpTy>
void attachGradientOp(mlir::MLIRContext *context) {
  attachGradient<buildGradientOp<GradientOpTy, OpTy>, OpTy>(context);
}

} // namespace mpopt

#endif // MPOPT_LIB_ADJOINT_OPS_GRADIENTOP_H
