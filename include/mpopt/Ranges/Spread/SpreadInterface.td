//===- SpreadInterface.td - Correlation of elements ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_SPREAD_SPREADINTERFACE_TD
#define MPOPT_RANGES_SPREAD_SPREADINTERFACE_TD

include "mlir/IR/OpBase.td"

def SpreadOpInterface : OpInterface<"SpreadOpInterface"> {
  let cppNamespace = "::mpopt";
  let description = [{
    An op's effect on the correlation of elements, and on the estimates that
    depend on it: sums and averages, where the range transfer function assumes
    independent elements. Attached by external models (lib/Gradients/Ops).
  }];
  let methods = [
    InterfaceMethod<[{
        Gives results by `ctx.give`. A result that is not given keeps the estimate
        of the range transfer function and the spread of the operands.
      }],
      "void", "transferSpread", (ins "::mpopt::SpreadContext &":$ctx)>,
  ];
}

#endif // MPOPT_RANGES_SPREAD_SPREADINTERFACE_TD
