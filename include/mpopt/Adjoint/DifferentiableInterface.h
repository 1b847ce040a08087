//===- DifferentiableInterface.h - Gradients of ops -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_ADJOINT_DIFFERENTIABLEINTERFACE_H
#define MPOPT_ADJOINT_DIFFERENTIABLEINTERFACE_H

#include "mpopt/Adjoint/GradientContext.h"

#include "mpopt/Adjoint/DifferentiableInterface.h.inc"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mpopt {

/// Attaches DifferentiableOpInterface to every op for which lib/Adjoint/Ops has
/// a gradient, or says that it has none, and SavingOpInterface to those that
/// have rules of their own.
void registerGradientModels(mlir::DialectRegistry &registry);

/// The interface's model that calls `function` for the gradient of an op: `void
/// (OpTy, GradientContext &)`, or `void (GradientContext &)` for formulas over
/// operands and results alone.
template <auto function, typename OpTy>
struct GradientModel
    : DifferentiableOpInterface::ExternalModel<GradientModel<function, OpTy>,
                                               OpTy> {
  void buildGradient(mlir::Operation *op, GradientContext &ctx) const {
    if constexpr (std::is_invocable_v<decltype(function), OpTy,
                                      GradientContext &>)
      function(llvm::cast<OpTy>(op), ctx);
    else
      function(ctx);
  }
};

template <typename OpTy>
struct NoGradientModel
    : DifferentiableOpInterface::ExternalModel<NoGradientModel<OpTy>, OpTy> {
  void buildGradient(mlir::Operation *, GradientContext &) const {}
  bool endsGradient(mlir::Operation *) const { return true; }
};

/// Makes `function` the gradient of `Ops`.
template <auto function, typename... Ops>
void attachGradient(mlir::MLIRContext *context) {
  (Ops::template attachInterface<GradientModel<function, Ops>>(*context), ...);
}

/// Says that gradients end at `Ops`.
template <typename... Ops> void attachNoGradient(mlir::MLIRContext *context) {
  (Ops::template attachInterface<NoGradientModel<Ops>>(*context), ...);
}

} // namespace mpopt

#endif // MPOPT_ADJOINT_DIFFERENTIABLEINTERFACE_H
