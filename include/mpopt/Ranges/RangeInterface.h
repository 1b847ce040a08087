//===- RangeInterface.h - Ranges from operands to results -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_RANGEINTERFACE_H
#define MPOPT_RANGES_RANGEINTERFACE_H

#include "mpopt/Ranges/Value/TransferContext.h"

#include "mlir/IR/OpDefinition.h"

#include "mpopt/Ranges/RangeInterface.h.inc"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mpopt {

/// Attaches RangeOpInterface to every op for which lib/Ranges/Ops has a
/// transfer function.
void registerTransferModels(mlir::DialectRegistry &registry);

/// The interface's model that calls `function` to transfer an op: `void (OpTy,
/// TransferContext &)`, or `void (Operation *, TransferContext &)` for several
/// ops.
template <auto function, typename OpTy>
struct TransferModel
    : RangeOpInterface::ExternalModel<TransferModel<function, OpTy>, OpTy> {
  void transfer(mlir::Operation *op, TransferContext &ctx) const {
    if constexpr (std::is_invocable_v<decltype(function), OpTy,
                                      TransferContext &>)
      function(mlir::cast<OpTy>(op), ctx);
    else
      function(op, ctx);
  }
};

/// Makes `function` the transfer function of `Ops`:
/// `attachTransfer<transferAdd, mp::AddOp>(context)`.
template <auto function, typename... Ops>
void attachTransfer(mlir::MLIRContext *context) {
  (Ops::template attachInterface<TransferModel<function, Ops>>(*context), ...);
}

} // namespace mpopt

#endif // MPOPT_RANGES_RANGEINTERFACE_H
