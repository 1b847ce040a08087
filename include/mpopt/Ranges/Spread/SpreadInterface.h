//===- SpreadInterface.h - Correlation of elements --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_SPREAD_SPREADINTERFACE_H
#define MPOPT_RANGES_SPREAD_SPREADINTERFACE_H

#include "mpopt/Ranges/Spread/SpreadContext.h"

#include "mlir/IR/OpDefinition.h"

#include "mpopt/Ranges/Spread/SpreadInterface.h.inc"

namespace mpopt {

/// The class of context that a spread function takes.
template <typename OpTy, typename Context>
Context contextOf(void (*)(OpTy, Context &));

/// The interface's model that calls `function`, of an op class or `Operation *`
/// and a kind of SpreadContext; in other kinds of context it does nothing.
template <auto function, typename OpTy>
struct SpreadModel
    : SpreadOpInterface::ExternalModel<SpreadModel<function, OpTy>, OpTy> {
  void transferSpread(mlir::Operation *op, SpreadContext &ctx) const {
    using Context = decltype(contextOf(function));
    auto *own = llvm::dyn_cast<Context>(&ctx);
    if (!own)
      return;
    if constexpr (std::is_invocable_v<decltype(function), OpTy, Context &>)
      function(mlir::cast<OpTy>(op), *own);
    else
      function(op, *own);
  }
};

/// Makes `function` the spread function of `Ops`.
template <auto function, typename... Ops>
void attachSpread(mlir::MLIRContext *context) {
  (Ops::template attachInterface<SpreadModel<function, Ops>>(*context), ...);
}

} // namespace mpopt

#endif // MPOPT_RANGES_SPREAD_SPREADINTERFACE_H
