//===- RegionTypes.td - Types inside the bodies of ops ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_INTERFACES_REGIONTYPES_TD
#define MPOPT_DIALECT_INTERFACES_REGIONTYPES_TD

include "mlir/IR/OpBase.td"

def RegionTypeOpInterface : OpInterface<"RegionTypeOpInterface"> {
  let cppNamespace = "::mpopt";
  let description = [{
    Types of the block arguments of an op's bodies. Inference sets them from the
    op's operands, infers the bodies, and where a body gives back another type
    than it was given (a loop whose tensor grows), widens them and starts again
    until nothing changes.
  }];
  let methods = [
    InterfaceMethod<[{
        Sets the block arguments from the operands. With `widest`, what a body may
        change has no shape at all.
      }],
      "void", "setRegionArguments", (ins "bool":$widest)>,
    InterfaceMethod<[{
        Joins the block arguments with what the bodies yield for them; whether
        one changed. With `widest`, those that change lose their shape.
      }],
      "bool", "widenRegionArguments", (ins "bool":$widest)>,
  ];
}

#endif // MPOPT_DIALECT_INTERFACES_REGIONTYPES_TD
