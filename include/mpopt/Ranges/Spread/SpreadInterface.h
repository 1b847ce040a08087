//===- SpreadInterface.h - Correlation of elements --------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_SPREAD_SPREADINTERFACE_H
#define MPOPT_RANGES_SPREAD_SPREADINTERFACE_H

#include "mpopt/Ranges/Spread/SpreadContext.h"

#include "mlir/IR/OpDefinition.h"

#include "mpopt/Ranges/Spread/SpreadInterface.h.inc"

namespace mpopt {

/// The interface's model that calls `function`: `void (OpTy, SpreadContext &)`,
/// or `void (Operation *, SpreadContext &)` for several ops. A function of a
/// gradient op takes a BackwardSpreadContext, and is called in one only.
template <auto function, typename OpTy>
struct SpreadModel
    : SpreadOpInterface::ExternalModel<SpreadModel<function, OpTy>, OpTy> {
  void transferSpread(mlir::Operation *op, SpreadContext &ctx) const {
    if constexpr (std::is_invocable_v<decltype(function), OpTy,
                                      SpreadContext &>)
      function(mlir::cast<OpTy>(op), ctx);
    else if constexpr (std::is_invocable_v<decltype(function),
                                           mlir::Operation *, SpreadContext &>)
      function(op, ctx);
    else if (BackwardSpreadContext *backward = ctx.backward()) {
      if constexpr (std::is_invocable_v<decltype(function), OpTy,
                                        BackwardSpreadContext &>)
        function(mlir::cast<OpTy>(op), *backward);
      else
        function(op, *backward);
    }
  }
};

/// Makes `function` the spread function of `Ops`.
template <auto function, typename... Ops>
void attachSpread(mlir::MLIRContext *context) {
  (Ops::template attachInterface<SpreadModel<function, Ops>>(*context), ...);
}

} // namespace mpopt

#endif // MPOPT_RANGES_SPREAD_SPREADINTERFACE_H
