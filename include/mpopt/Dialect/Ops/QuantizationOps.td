//===- QuantizationOps.td - Quantisation and quantised products -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_QUANTIZATIONOPS_TD
#define MPOPT_DIALECT_OPS_QUANTIZATIONOPS_TD

include "mpopt/Dialect/MPDialect.td"

// Scale and zero point are scalars, or lists along `axis`, or with `block_size`
// of the input's shape with `axis` divided by it. They are parameters in the
// file's own dtype: a policy leaves them alone. `codes` are the least and the
// greatest code in use, where these are fewer than their type has.

def MP_QuantizeOp : MP_Op<"quantize", [Pure]> {
  let roles = [RoleQuantization];
  let summary = "saturate(round(x / scale) + zero_point)";
  let description = [{
    Round to nearest even. The element type (8-, 16- and 4-bit integers, 8- and
    4-bit floats) is the zero point's, else the result's own, else ui8.
    `saturate` off lets values beyond an 8-bit float's range become Inf or NaN.
    `compute_type` is the dtype of the division where it is not the scale's.
    Source: ONNX QuantizeLinear.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$scale,
    Optional<MP_Tensor>:$zero_point, DefaultValuedAttr<I64Attr, "1">:$axis,
    DefaultValuedAttr<I64Attr, "0">:$block_size,
    DefaultValuedAttr<BoolAttr, "true">:$saturate,
    OptionalAttr<TypeAttr>:$compute_type,
    OptionalAttr<DenseI64ArrayAttr>:$codes);
  let results = (outs MP_Tensor:$result);
  let torch = ["quantize_per_tensor", "quantize_per_channel"];
  let tensorflow = ["QuantizeV2"];
  let onnx = ["QuantizeLinear"];
  let hasVerifier = 1;
  let assemblyFormat = [{
    $input `,` $scale (`zero_point` $zero_point^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index == 0; }
  }];
}

def MP_DequantizeOp : MP_Op<"dequantize", [Pure]> {
  let roles = [RoleQuantization];
  let summary = "(x - zero_point) * scale";
  let description = [{
    The element type is `output_type`, else the scale's. Source: ONNX
    DequantizeLinear.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$scale,
    Optional<MP_Tensor>:$zero_point, DefaultValuedAttr<I64Attr, "1">:$axis,
    DefaultValuedAttr<I64Attr, "0">:$block_size,
    OptionalAttr<TypeAttr>:$output_type,
    OptionalAttr<DenseI64ArrayAttr>:$codes);
  let results = (outs MP_Tensor:$result);
  let torch = ["dequantize.self"];
  let tensorflow = ["Dequantize"];
  let onnx = ["DequantizeLinear"];
  let hasVerifier = 1;
  let assemblyFormat = [{
    $input `,` $scale (`zero_point` $zero_point^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned) { return false; }
  }];
}

def MP_DynamicQuantizeOp : MP_Op<"dynamic_quantize", [Pure]> {
  let roles = [RoleQuantization];
  let summary = "codes with a scale and zero point from the tensor's own range";
  let description = [{
    Over the codes lo to hi: scale = (max(x, 0) - min(x, 0)) / (hi - lo),
    zero_point = round(lo - min(x, 0) / scale); `symmetric`: scale =
    max(|x|) / ((hi - lo) / 2), zero_point = 0. The scale is at least
    `least_scale`. `block_size` above 0: the range is that of so many elements
    along the last axis, scale and zero point have the input's rank. Codes are i8
    if one is negative, else ui8.
    Results: values, scale, zero point. Source: ONNX DynamicQuantizeLinear,
    PyTorch quantized_decomposed choose_qparams, torchao choose_qparams_affine.
  }];
  let arguments = (ins MP_Tensor:$input,
    DefaultValuedAttr<I64Attr, "0">:$block_size,
    DefaultValuedAttr<I64Attr, "0">:$code_lo,
    DefaultValuedAttr<I64Attr, "255">:$code_hi,
    DefaultValuedAttr<BoolAttr, "false">:$symmetric,
    DefaultValuedAttr<F64Attr, "0.0">:$least_scale);
  let results = (outs MP_Tensor:$values, MP_Tensor:$scale, MP_Tensor:$zero_point);
  let onnx = ["DynamicQuantizeLinear"];
}

def MP_FakeQuantizeOp : MP_Op<"fake_quantize", [Pure]> {
  let roles = [RoleQuantization];
  let summary = "quantised and dequantised again, in the input's dtype";
  let description = [{
    (clamp(round(x / scale) + zero_point, quant_min, quant_max) - zero_point) *
    scale; per tensor, or per channel along `axis`. Source: PyTorch
    fake_quantize_per_tensor_affine, fake_quantize_per_channel_affine.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$scale,
    Optional<MP_Tensor>:$zero_point, I64Attr:$quant_min, I64Attr:$quant_max,
    OptionalAttr<I64Attr>:$axis);
  let results = (outs MP_Tensor:$result);
  let torch = ["fake_quantize_per_tensor_affine", "fake_quantize_per_channel_affine"];
  let tensorflow = ["FakeQuantWithMinMaxVars"];
  let hasVerifier = 1;
  let assemblyFormat = [{
    $input `,` $scale (`zero_point` $zero_point^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index == 0; }
  }];
}

def MP_MatMulNBitsOp : MP_Op<"matmul_nbits", [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleContraction, RoleWeighted, RoleLayer];
  let summary = "product with weights of a few bits, a scale for each block";
  let description = [{
    [..., k] x packed [n, k] to [..., n]. Every `block_size` weights along k share
    a scale and zero point; `code` is "int" (value minus zero point, by default
    the middle of the range), "fp4" or "nf4" (a table of 16 values, no zero
    point). `group_index` gives the block of each row instead.
    Source: com.microsoft MatMulNBits, MatMulBnb4.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$weight, MP_Tensor:$scales,
    Optional<MP_Tensor>:$zero_points, Optional<MP_Tensor>:$group_index,
    Optional<MP_Tensor>:$bias, I64Attr:$k, I64Attr:$n, I64Attr:$bits,
    I64Attr:$block_size, DefaultValuedStrAttr<StrAttr, "int">:$code);
  let results = (outs MP_Tensor:$result);
  let torch = ["matmul"];
  let tensorflow = ["MatMul"];
  let onnx = ["MatMulNBits", "MatMulBnb4"];
  let hasVerifier = 1;
  let assemblyFormat = [{
    $input `,` $weight `scales` $scales (`zero_points` $zero_points^)?
    (`groups` $group_index^)? (`bias` $bias^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index);
  }];
}

def MP_GatherBlockQuantizedOp
    : MP_Op<"gather_block_quantized", [Pure]> {
  let roles = [RoleQuantization];
  let summary = "rows gathered from block-quantised data, dequantised";
  let description = [{
    As a gather along `axis` of (data - zero_point) * scale, blocks of
    `block_size` along `quantize_axis`. Data of ui8 with `bits` below 8 holds 8 /
    bits values a byte along the last axis. Source: com.microsoft
    GatherBlockQuantized.
  }];
  let arguments = (ins MP_Tensor:$data, MP_Tensor:$indices, MP_Tensor:$scales,
    Optional<MP_Tensor>:$zero_points, DefaultValuedAttr<I64Attr, "0">:$axis,
    DefaultValuedAttr<I64Attr, "1">:$quantize_axis,
    DefaultValuedAttr<I64Attr, "128">:$block_size,
    DefaultValuedAttr<I64Attr, "4">:$bits);
  let results = (outs MP_Tensor:$result);
  let onnx = ["GatherBlockQuantized"];
  let assemblyFormat = [{
    $data `,` $indices `scales` $scales (`zero_points` $zero_points^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned) { return false; }
  }];
}

#endif // MPOPT_DIALECT_OPS_QUANTIZATIONOPS_TD
