//===- CoreOps.td - Constants, casts and ops without a lowering -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_COREOPS_TD
#define MPOPT_DIALECT_OPS_COREOPS_TD

include "mpopt/Dialect/MPDialect.td"

def MP_ConstantOp : MP_Op<"constant", [Pure, ConstantLike]> {
  let roles = [RolePicks];
  let summary = "a weight or constant of the model";
  let description = [{
    Either a small dense attribute or a reference to bytes that stay in their
    file.

    ```mlir
    %0 = mp.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %1 = mp.constant file("model.onnx", 4096:1024) : tensor<256xf32>
    ```
  }];
  let arguments = (ins AnyAttr:$value);
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = ?;
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MP_CastOp : MP_Op<"cast", [Pure,
    DeclareOpInterfaceMethods<ElementInferenceOpInterface>]> {
  let roles = [RoleKeepsMagnitude, RoleKeepsZeros];
  let summary = "conversion to another element type";
  let description = [{
    Round to nearest even between floats, toward zero from float to integer.
    `round_mode` ("up", "down" or "nearest") is for `f8E8M0FNU` only, which
    rounds up without it (ONNX Cast-24). `origin` says who wrote the cast: the model, or a precision policy.
    `saturate` (float to 8-bit float only) clamps to the largest finite value
    instead of giving Inf or NaN.
  }];
  let arguments = (ins MP_Tensor:$input,
    DefaultValuedAttr<MP_CastOriginAttr, "::mpopt::mp::CastOrigin::Model">:$origin,
    UnitAttr:$saturate, OptionalAttr<StrAttr>:$round_mode);
  let results = (outs MP_Tensor:$result);
  let hasVerifier = 1;
  let torch = ["to"];
  let tensorflow = ["Cast"];
  let onnx = ["Cast"];
}

def MP_IdentityOp : MP_Op<"identity", [Pure,
    DeclareOpInterfaceMethods<ElementInferenceOpInterface>]> {
  let roles = [RoleRearranges, RoleKeepsMagnitude];
  let degree = "1";
  let summary = "its operand";
  let arguments = (ins MP_Value:$input);
  let results = (outs MP_Value:$result);
  let tensorflow = ["Identity"];
  let onnx = ["Identity"];
}

def MP_OpaqueOp : MP_Op<"opaque"> {
  let summary = "an op that mpopt does not know";
  let description = [{
    The name as `domain::Op`, its attributes as they were in the model. Its
    results are unknown, and it is counted under coverage.

    ```mlir
    %0 = mp.opaque "com.acme::Foo"(%x) attributes {alpha = 1.0 : f32}
           : (tensor<4xf32>) -> tensor<*x!mp.unknown>
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<MP_Value>:$inputs);
  let results = (outs Variadic<MP_Value>:$outputs);
  let regions = (region VariadicRegion<AnyRegion>:$bodies);
  let staticNames = 0;
  let moreDefinitions = [{
    ::llvm::ArrayRef<::llvm::StringRef>
    $cppClass::getFrameworkNames(::mpopt::Framework) { return {}; }
  }];
  let assemblyFormat = [{
    $name `(` $inputs `)` attr-dict-with-keyword $bodies `:` functional-type($inputs, $outputs)
  }];
}

#endif // MPOPT_DIALECT_OPS_COREOPS_TD
