//===- CustomOps.td - Ops as projects state them -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_CUSTOMOPS_TD
#define MPOPT_DIALECT_OPS_CUSTOMOPS_TD

include "mpopt/Dialect/MPDialect.td"

// The facts that a project states about an op.
defvar MP_StatedFacts = (ins StrAttr:$name,
    I64Attr:$like, OptionalAttr<DenseI64ArrayAttr>:$sizes,
    OptionalAttr<TypeAttr>:$dtype, F64Attr:$lo, F64Attr:$hi, F64Attr:$mean,
    F64Attr:$deviation, DenseF64ArrayAttr:$slopes, TypeArrayAttr:$dtypes,
    TypeAttr:$accumulator, OptionalAttr<I64Attr>:$terms);

def MP_CustomOp : MP_Op<"custom", [Pure]> {
  let summary = "an op that mpopt does not know, as a project states it";
  let description = [{
    The result has the dtype and the shape of the operand `like`, where `dtype`
    and `sizes` name no others. Where every operand is finite, its elements lie
    in [lo, hi], with that mean and deviation. `slopes` has one number for all
    float operands or one for each: by how much the root mean square of the
    result's change exceeds that of independent changes of the operand's
    elements. `dtypes` are those in which the op computes right, forward and
    backward; it computes in that of `like`. Its sums have `terms` terms (by
    default as many as the last dim of operand 0) in `accumulator`.

    ```mlir
    %0 = mp.custom %x {name = "com.acme::Foo", like = 0 : i64, lo = -8.0 : f64,
      hi = 8.0 : f64, mean = 0.0 : f64, deviation = 1.0 : f64,
      slopes = array<f64: 1.5>, dtypes = [f32, f16], accumulator = f32}
      : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = !con((ins Variadic<MP_Value>:$inputs), MP_StatedFacts);
  let results = (outs MP_Tensor:$result);
  let hasVerifier = 1;
  let moreDeclarations = [{
    /// The dtype that the op computes in.
    ::mlir::Type getComputedType();
    /// True if the op computes wrong results in that dtype; false where it is
    /// not known yet.
    bool isWrong();
    /// The number of terms of a sum; 0 if it is unknown.
    int64_t countTerms();
  }];
}

// As those of GradientOps.td, which includes the records of other families.
def MP_CustomGradOp : MP_Op<"custom_grad", [Pure]> {
  let summary = "dY times a matrix of which the slope is all that is stated";
  let gradientOf = "custom";
  let arguments = !con((ins MP_Tensor:$grad, Variadic<MP_Value>:$inputs),
                       MP_StatedFacts, (ins DenseI64ArrayAttr:$wanted));
  let results = (outs Variadic<MP_Tensor>:$gradients);
  let hasVerifier = 1;
}

#endif // MPOPT_DIALECT_OPS_CUSTOMOPS_TD
