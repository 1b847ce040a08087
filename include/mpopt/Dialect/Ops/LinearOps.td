//===- LinearOps.td - Matrix products and convolutions -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_LINEAROPS_TD
#define MPOPT_DIALECT_OPS_LINEAROPS_TD

include "mpopt/Dialect/MPDialect.td"

// Attributes of a sliding window. Lists are empty for the default, or have one
// entry a spatial dim (`pads`: all begins, then all ends).
def MP_Dims : DefaultValuedAttr<DenseI64ArrayAttr, "{}">;
class MP_Flag<string value> : DefaultValuedAttr<BoolAttr, value>;
class MP_Number<string value> : DefaultValuedAttr<F64Attr, value>;

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

def MP_MatMulOp : MP_Op<"matmul", [Pure]> {
  let roles = [RoleContraction, RoleBilinear, RoleLayer];
  let summary = "alpha a b, over the last two dims";
  let description = [{
    NumPy's `matmul`: batch dims broadcast, a rank-1 operand is a row (left) or a
    column (right) whose dim is dropped from the result. `trans_a` and `trans_b`
    swap the last two dims of an operand of rank 2 or more. Sums run over
    operand 0's last dim (its last but one with `trans_a`).
    Source: ONNX MatMul; com.microsoft FusedMatMul for the attributes.
  }];
  let arguments = (ins MP_Tensor:$lhs, MP_Tensor:$rhs,
    MP_Flag<"false">:$trans_a, MP_Flag<"false">:$trans_b,
    MP_Number<"1.0">:$alpha);
  let results = (outs MP_Tensor:$result);
  let torch = ["matmul", "mm", "bmm", "mv", "baddbmm", "addbmm", "addmv",
               "chain_matmul", "linalg_multi_dot"];
  let tensorflow = ["MatMul", "BatchMatMulV2", "BatchMatMul"];
  let onnx = ["MatMul", "FusedMatMul", "TransposeMatMul"];
}

def MP_GemmOp : MP_Op<"gemm", [Pure]> {
  let roles = [RoleContraction, RoleBilinear, RoleWeighted, RoleLayer];
  let summary = "alpha a b + beta c";
  let description = [{
    Matrices `a` [M, K] and `b` [K, N] (`trans_a`, `trans_b`: stored as [K, M],
    [N, K]); `c` broadcasts to [M, N]. Source: ONNX Gemm.
  }];
  let arguments = (ins MP_Tensor:$lhs, MP_Tensor:$rhs, Optional<MP_Tensor>:$bias,
    MP_Flag<"false">:$trans_a, MP_Flag<"false">:$trans_b,
    MP_Number<"1.0">:$alpha, MP_Number<"1.0">:$beta);
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`bias` $bias^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let torch = ["addmm", "_addmm_activation", "addr"];
  let tensorflow = ["MatMul"];
  let onnx = ["Gemm"];
}

def MP_LinearOp : MP_Op<"linear", [Pure]> {
  let roles = [RoleContraction, RoleBilinear, RoleWeighted, RoleLayer];
  let summary = "x w^T + b";
  let description = [{
    `input` [..., I], `weight` [O, I] (or [I]: the last dim is dropped), `bias`
    [O]. Source: torch.nn.functional.linear.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$weight,
    Optional<MP_Tensor>:$bias);
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let torch = ["linear"];
  let tensorflow = ["MatMul"];
  let onnx = ["MatMul"];
}

def MP_BilinearOp : MP_Op<"bilinear", [Pure]> {
  let roles = [RoleContraction, RoleLayer];
  let summary = "x1^T W_o x2 + b_o";
  let description = [{
    `lhs` [..., I1], `rhs` [..., I2], `weight` [O, I1, I2], `bias` [O]; result
    [..., O]. Source: torch.nn.functional.bilinear.
  }];
  let arguments = (ins MP_Tensor:$lhs, MP_Tensor:$rhs, MP_Tensor:$weight,
    Optional<MP_Tensor>:$bias);
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $weight (`bias` $bias^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let torch = ["bilinear"];
}

def MP_EinsumOp : MP_Op<"einsum", [Pure]> {
  let roles = [RoleContraction, RoleLayer];
  let summary = "sum of products by index labels";
  let description = [{
    `equation` as NumPy writes it: labels of each operand separated by commas,
    `->` and the result's labels; without the arrow the labels that occur once,
    in alphabetical order, after the ellipsis. `...` stands for broadcast dims.
    Upper and lower case are different labels, blanks are ignored.
    Source: ONNX Einsum.
  }];
  let arguments = (ins Variadic<MP_Tensor>:$inputs, StrAttr:$equation);
  let results = (outs MP_Tensor:$result);
  let hasVerifier = 1;
  let torch = ["einsum"];
  let tensorflow = ["Einsum"];
  let onnx = ["Einsum"];
}

def MP_MatMulIntegerOp : MP_Op<"matmul_integer",
    [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleContraction, RoleLayer];
  let summary = "(a - a0)(b - b0) of 8-bit integers, in i32";
  let description = [{
    Shapes as in `mp.matmul`; zero points are scalars or one per row of `lhs` /
    column of `rhs`. Source: ONNX MatMulInteger.
  }];
  let arguments = (ins MP_Tensor:$lhs, MP_Tensor:$rhs,
    Optional<MP_Tensor>:$lhs_zero_point, Optional<MP_Tensor>:$rhs_zero_point);
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`lhs_zero` $lhs_zero_point^)? (`rhs_zero` $rhs_zero_point^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let onnx = ["MatMulInteger"];
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

def MP_ConvOp : MP_Op<"conv", [Pure]> {
  let roles = [RoleContraction, RoleBilinear, RoleWeighted, RoleLayer];
  let summary = "convolution (cross-correlation) of any spatial rank";
  let description = [{
    `input` [N, C, D1...], `filter` [M, C / group, K1...], `bias` [M]; result
    [N, M, O1...] with
    `O = (D + pads - (dilation (K - 1) + 1)) / stride + 1`, rounded down.
    `auto_pad` is `NOTSET` (`pads` hold), `VALID` (none) or `SAME_UPPER` /
    `SAME_LOWER`: `O = ceil(D / stride)`, the odd element of padding at the end /
    at the beginning. A padded element counts as 0. Source: ONNX Conv.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$filter,
    Optional<MP_Tensor>:$bias, MP_Dims:$strides, MP_Dims:$dilations,
    MP_Dims:$pads, DefaultValuedAttr<I64Attr, "1">:$group,
    DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad);
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $filter (`bias` $bias^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let torch = ["conv2d", "conv1d", "conv3d", "convolution", "_convolution",
               "conv2d.padding", "conv1d.padding", "conv3d.padding",
               "_convolution.deprecated", "conv_tbc", "cudnn_convolution"];
  let tensorflow = ["Conv2D", "Conv3D", "DepthwiseConv2dNative"];
  let onnx = ["Conv"];
}

def MP_ConvTransposeOp : MP_Op<"conv_transpose", [Pure]> {
  let roles = [RoleContraction, RoleBilinear, RoleWeighted, RoleLayer];
  let summary = "transposed convolution of any spatial rank";
  let description = [{
    `input` [N, C, D1...], `filter` [C, M / group, K1...], `bias` [M]; result
    [N, M, O1...] with `O = stride (D - 1) + output_padding + dilation (K - 1)
    + 1 - pads`. With `output_shape` (spatial dims) that is O and the pads
    follow; with `auto_pad` `SAME_*`, `O = D stride`. Source: ONNX
    ConvTranspose.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$filter,
    Optional<MP_Tensor>:$bias, MP_Dims:$strides, MP_Dims:$dilations,
    MP_Dims:$pads, MP_Dims:$output_padding, MP_Dims:$output_shape,
    DefaultValuedAttr<I64Attr, "1">:$group,
    DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad);
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $filter (`bias` $bias^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  // MPS keeps the 3-d one in FP32.
  let staticNames = 0;
}

def MP_DeformConvOp : MP_Op<"deform_conv", [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleContraction, RoleWeighted, RoleLayer];
  let summary = "convolution that samples at learned offsets";
  let description = [{
    2-d: `input` [N, C, H, W], `filter` [M, C / group, kH, kW], `offset`
    [N, offset_group kH kW 2, oH, oW] displaces every tap (bilinear
    interpolation, 0 outside), `mask` [N, offset_group kH kW, oH, oW] scales it.
    Source: ONNX DeformConv.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$filter, MP_Tensor:$offset,
    Optional<MP_Tensor>:$bias, Optional<MP_Tensor>:$mask, MP_Dims:$strides,
    MP_Dims:$dilations, MP_Dims:$pads, DefaultValuedAttr<I64Attr, "1">:$group,
    DefaultValuedAttr<I64Attr, "1">:$offset_group);
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $filter `,` $offset (`bias` $bias^)? (`mask` $mask^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let torch = ["deform_conv2d"];
  let onnx = ["DeformConv"];
}

def MP_ConvIntegerOp : MP_Op<"conv_integer", [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleContraction, RoleLayer];
  let summary = "convolution of 8-bit integers, in i32";
  let description = [{
    `mp.conv` of `input - input_zero_point` and `filter - filter_zero_point`
    (scalars, the latter also one per output channel). Padding counts as the
    zero point. Source: ONNX ConvInteger.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$filter,
    Optional<MP_Tensor>:$input_zero_point,
    Optional<MP_Tensor>:$filter_zero_point, MP_Dims:$strides,
    MP_Dims:$dilations, MP_Dims:$pads, DefaultValuedAttr<I64Attr, "1">:$group,
    DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad);
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $filter (`input_zero` $input_zero_point^)?
    (`filter_zero` $filter_zero_point^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let onnx = ["ConvInteger"];
}

#endif // MPOPT_DIALECT_OPS_LINEAROPS_TD
