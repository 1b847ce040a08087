//===- ElementwiseOps.td - Elementwise arithmetic ---------------*- tablegen -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_OPS_ELEMENTWISEOPS_TD
#define MPOPT_DIALECT_OPS_ELEMENTWISEOPS_TD

include "mpopt/Dialect/MPDialect.td"

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

// The result has the operand's type.
class MP_UnaryOp<string mnemonic, list<Trait> traits = []>
    : MP_Op<mnemonic, !listconcat([Pure], traits)> {
  let arguments = (ins MP_Tensor:$input);
  let results = (outs MP_Tensor:$result);
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(getInput().getType());
      return ::mlir::success();
    }
  }];
}

def MP_ExpOp : MP_UnaryOp<"exp"> {
  let summary = "e^x";
  let torch = ["exp"];
  let tensorflow = ["Exp"];
  let onnx = ["Exp"];
}
def MP_NegOp : MP_UnaryOp<"neg", [
    DeclareOpInterfaceMethods<ElementInferenceOpInterface>]> {
  let summary = "-x";
  let torch = ["neg"];
  let tensorflow = ["Neg"];
  let onnx = ["Neg"];
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

// Broadcasts; the result has the operands' common element type.
class MP_BinaryOp<string mnemonic, list<Trait> traits = []>
    : MP_Op<mnemonic, !listconcat([Pure], traits)> {
  let arguments = (ins MP_Tensor:$lhs, MP_Tensor:$rhs);
  let results = (outs MP_Tensor:$result);
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mpopt::inferBroadcast(*this, (*this)->getOperands(), types);
    }
  }];
}

def MP_AddOp : MP_BinaryOp<"add", [
    DeclareOpInterfaceMethods<ElementInferenceOpInterface>]> {
  let summary = "a + b";
  let torch = ["add"];
  let tensorflow = ["AddV2"];
  let onnx = ["Add"];
}

#endif // MPOPT_DIALECT_OPS_ELEMENTWISEOPS_TD
