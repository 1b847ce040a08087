//===- RandomOps.td - Random values and dropout ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_RANDOMOPS_TD
#define MPOPT_DIALECT_OPS_RANDOMOPS_TD

include "mpopt/Dialect/Ops/CheckedOp.td"

// The results of generators have the element type that is written on them; they
// are not Pure, since two of them give two tensors.
class MP_GeneratorOp<string mnemonic, dag moreArguments>
    : MP_CheckedOp<mnemonic> {
  let arguments = !con((ins MP_Tensor:$shape), moreArguments,
                       (ins OptionalAttr<F64Attr>:$seed));
  let results = (outs MP_Tensor:$result);
}

def MP_RandomNormalOp : MP_GeneratorOp<"random_normal",
    (ins DefaultValuedAttr<F64Attr, "0.0">:$mean,
         DefaultValuedAttr<F64Attr, "1.0">:$scale)> {
  let summary = "normally distributed values";
  let description = [{
    Mean `mean`, standard deviation `scale`. Their magnitude is bounded by what
    the generator can give (below 10 standard deviations in practice), not by
    this op.
  }];
  let torch = ["randn", "normal_functional"];
  let tensorflow = ["RandomStandardNormal"];
  let onnx = ["RandomNormal", "RandomNormalLike"];
}

def MP_RandomUniformOp : MP_GeneratorOp<"random_uniform",
    (ins DefaultValuedAttr<F64Attr, "0.0">:$low,
         DefaultValuedAttr<F64Attr, "1.0">:$high)> {
  let summary = "uniformly distributed values in [low, high)";
  let torch = ["rand", "uniform"];
  let tensorflow = ["RandomUniform"];
  let onnx = ["RandomUniform", "RandomUniformLike"];
}

def MP_RandomIntOp : MP_GeneratorOp<"random_int",
    (ins I64Attr:$low, I64Attr:$high)> {
  let roles = [RoleCounting];
  let summary = "uniformly distributed integers in [low, high)";
  let torch = ["randint.low", "randint"];
  let tensorflow = ["RandomUniformInt"];
}

def MP_BernoulliOp : MP_CheckedOp<"bernoulli"> {
  let roles = [RoleMakesZeros];
  let summary = "0 or 1, the latter with the operand's probability";
  let description = [{
    The result's element type is its own, the operand's if that is not known.
  }];
  let arguments = (ins MP_Tensor:$input, OptionalAttr<F64Attr>:$seed);
  let results = (outs MP_Tensor:$result);
  let torch = ["bernoulli"];
  let onnx = ["Bernoulli"];
}

def MP_MultinomialOp : MP_CheckedOp<"multinomial"> {
  let roles = [RoleCounting];
  let summary = "class indices drawn by unnormalised log-probabilities";
  let description = [{
    (batch, class) gives (batch, `sample_size`), i32 or i64 as written on the
    result. ONNX reads log-probabilities; `probabilities` says that the operand
    holds weights that need no exp (torch).
  }];
  let arguments = (ins MP_Tensor:$input,
    DefaultValuedAttr<I64Attr, "1">:$sample_size, UnitAttr:$probabilities,
    OptionalAttr<F64Attr>:$seed);
  let results = (outs MP_Tensor:$result);
  let torch = ["multinomial"];
  let tensorflow = ["Multinomial"];
  let onnx = ["Multinomial"];
}

def MP_DropoutOp : MP_CheckedOp<"dropout", [AttrSizedOperandSegments]> {
  let roles = [RoleMakesZeros, RoleKeepsMagnitude];
  let summary = "zeros at random, the rest scaled up, while training";
  let description = [{
    x · mask / (1 - ratio) if `training`, x otherwise. Both are attributes, or
    operands where the model computes them. The mask is boolean (in the
    operand's type before ONNX opset 10, as written on the result).
  }];
  let arguments = (ins MP_Tensor:$input, Optional<MP_Tensor>:$dynamic_ratio,
    Optional<MP_Tensor>:$dynamic_training,
    DefaultValuedAttr<F64Attr, "0.5">:$ratio, UnitAttr:$training,
    OptionalAttr<I64Attr>:$seed);
  let results = (outs MP_Tensor:$result, Optional<MP_Tensor>:$mask);
  let torch = ["dropout", "native_dropout"];
  let tensorflow = ["Dropout"];
  let onnx = ["Dropout"];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index == 0; }
  }];
  let assemblyFormat = [{
    $input (`ratio` $dynamic_ratio^)? (`training` $dynamic_training^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

#endif // MPOPT_DIALECT_OPS_RANDOMOPS_TD
