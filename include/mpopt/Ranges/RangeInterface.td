//===- RangeInterface.td - Ranges from operands to results ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_RANGEINTERFACE_TD
#define MPOPT_RANGES_RANGEINTERFACE_TD

include "mlir/IR/OpBase.td"

def RangeOpInterface : OpInterface<"RangeOpInterface"> {
  let cppNamespace = "::mpopt";
  let description = [{
    What an op's results may be, given what its operands may be. Attached to the
    ops by external models (lib/Ranges/Ops), so that the dialect does not know the
    analysis. An op without it has unknown results.
  }];
  let methods = [
    InterfaceMethod<[{
        Gives every result by `ctx.result`; one that is not given is unknown.
        Bounds hold for the result before it is rounded to its dtype.
      }],
      "void", "transfer", (ins "::mpopt::TransferContext &":$ctx)>,
  ];
}

#endif // MPOPT_RANGES_RANGEINTERFACE_TD
