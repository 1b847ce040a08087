//===- SpreadInterface.h - Estimates of gradients ---------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRADIENTS_SPREADINTERFACE_H
#define MPOPT_GRADIENTS_SPREADINTERFACE_H

#include "mpopt/Gradients/SpreadContext.h"

#include "mlir/IR/OpDefinition.h"

#include "mpopt/Gradients/SpreadInterface.h.inc"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mpopt {

/// On the gradient of a frozen batch norm where it is that of an error, a float
/// for each channel: by what errors that come by the norm's input are larger
/// than those of independent elements (AbstractValue::understated).
inline constexpr llvm::StringLiteral kGainAttr = "mp.gain";

/// Attaches SpreadOpInterface to every op for which lib/Gradients/Ops has a
/// function.
void registerSpreadModels(mlir::DialectRegistry &registry);

/// The interface's model that calls `function`: `void (OpTy, SpreadContext &)`,
/// or `void (Operation *, SpreadContext &)` for several ops.
template <auto function, typename OpTy>
struct SpreadModel
    : SpreadOpInterface::ExternalModel<SpreadModel<function, OpTy>, OpTy> {
  void transferSpread(mlir::Operation *op, SpreadContext &ctx) const {
    if constexpr (std::is_invocable_v<decltype(function), OpTy,
                                      SpreadContext &>)
      function(mlir::cast<OpTy>(op), ctx);
    else
      function(op, ctx);
  }
};

/// Makes `function` the spread function of `Ops`.
template <auto function, typename... Ops>
void attachSpread(mlir::MLIRContext *context) {
  (Ops::template attachInterface<SpreadModel<function, Ops>>(*context), ...);
}

} // namespace mpopt

#endif // MPOPT_GRADIENTS_SPREADINTERFACE_H
