//===- SpreadInterface.td - Estimates of gradients -------------*- tablegen -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRADIENTS_SPREADINTERFACE_TD
#define MPOPT_GRADIENTS_SPREADINTERFACE_TD

include "mlir/IR/OpBase.td"

def SpreadOpInterface : OpInterface<"SpreadOpInterface"> {
  let cppNamespace = "::mpopt";
  let description = [{
    An op's part in the estimate of gradients, where that is not what its range
    transfer function says of independent elements. Attached by external models
    (lib/Gradients/Ops).
  }];
  let methods = [
    InterfaceMethod<[{
        Gives results by `ctx.give`; for one that is not given the range transfer
        function speaks, and its spread is that of the operands.
      }],
      "void", "transferSpread", (ins "::mpopt::SpreadContext &":$ctx)>,
  ];
}

#endif // MPOPT_GRADIENTS_SPREADINTERFACE_TD
