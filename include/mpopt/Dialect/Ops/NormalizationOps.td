//===- NormalizationOps.td - Normalisations ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_NORMALIZATIONOPS_TD
#define MPOPT_DIALECT_OPS_NORMALIZATIONOPS_TD

include "mpopt/Dialect/MPDialect.td"

// The dtype in which mean and variance are computed, where the model says so
// (ONNX stash_type). Absent: FP32 or wider, as the frameworks do for 16-bit
// operands.
defvar kStashType = OptionalAttr<TypeAttr>;
class MP_Default<Attr attr, string value> : DefaultValuedAttr<attr, value>;

//===----------------------------------------------------------------------===//
// Statistics given or over the batch
//===----------------------------------------------------------------------===//

def MP_BatchNormOp : MP_Op<"batch_norm", [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleBatchNorm, RoleStatistic, RoleLayer];
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias by channel";
  let description = [{
    `input` [N, C, ...], the rest [C] ([C, ...] where `spatial` is false, ONNX
    before opset 9). Without `training` mean and variance are the operands, and
    they are evidence for the input's distribution. With it they are taken over
    all dims but C, and `stats` are the running mean and variance,
    `old momentum + batch (1 - momentum)` (ONNX before opset 14 appends the
    saved mean and variance). Absent scale and bias are 1 and 0.

    The result has the input's dtype; the parameters may have another (PyTorch
    runs FP16 inputs with FP32 parameters, also under autocast): they are
    `fixed_operands` of the policies that leave them.
    Source: ONNX BatchNormalization.
  }];
  let arguments = (ins MP_Tensor:$input, Optional<MP_Tensor>:$scale,
    Optional<MP_Tensor>:$bias, Optional<MP_Tensor>:$mean,
    Optional<MP_Tensor>:$variance, MP_Default<F64Attr, "1e-5">:$epsilon,
    MP_Default<F64Attr, "0.9">:$momentum,
    MP_Default<BoolAttr, "false">:$training,
    MP_Default<BoolAttr, "true">:$spatial);
  let results = (outs MP_Tensor:$result, Variadic<MP_Tensor>:$stats);
  let assemblyFormat = [{
    $input (`scale` $scale^)? (`bias` $bias^)? (`mean` $mean^)?
    (`variance` $variance^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let torch = ["batch_norm", "native_batch_norm", "cudnn_batch_norm"];
  let tensorflow = ["FusedBatchNormV3", "FusedBatchNormV2"];
  let onnx = ["BatchNormalization"];
}

def MP_InstanceNormOp : MP_Op<"instance_norm",
    [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleRowNorm, RoleCentring, RoleInnerSquares, RoleLayer];
  let degree = "0";
  let epsilonDegree = 2;
  let summary = "normalisation over the spatial dims of each sample's channel";
  let description = [{
    `input` [N, C, D1...], `scale` and `bias` [C] (absent: 1 and 0), biased
    variance. The parameters may be wider than the input, as in `mp.batch_norm`.
    Source: ONNX InstanceNormalization.
  }];
  let arguments = (ins MP_Tensor:$input, Optional<MP_Tensor>:$scale,
    Optional<MP_Tensor>:$bias, MP_Default<F64Attr, "1e-5">:$epsilon);
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = [{
    $input (`scale` $scale^)? (`bias` $bias^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let torch = ["instance_norm"];
  let onnx = ["InstanceNormalization"];
}

//===----------------------------------------------------------------------===//
// Statistics over features
//===----------------------------------------------------------------------===//

def MP_LayerNormOp : MP_Op<"layer_norm", [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleRowNorm, RoleCentring, RoleInnerSquares, RoleLayer];
  let degree = "0";
  let epsilonDegree = 2;
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias by row";
  let description = [{
    Mean and biased variance over dims `axis` to the last; `scale` and `bias`
    broadcast to those dims (absent: 1 and 0). `stats`, none or both, are mean
    and 1 / sqrt(variance + epsilon) with the normalised dims of size 1, in
    `stash_type`. Source: ONNX LayerNormalization.
  }];
  let arguments = (ins MP_Tensor:$input, Optional<MP_Tensor>:$scale,
    Optional<MP_Tensor>:$bias, MP_Default<I64Attr, "-1">:$axis,
    MP_Default<F64Attr, "1e-5">:$epsilon, kStashType:$stash_type);
  let results = (outs MP_Tensor:$result, Variadic<MP_Tensor>:$stats);
  let assemblyFormat = [{
    $input (`scale` $scale^)? (`bias` $bias^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let torch = ["layer_norm", "native_layer_norm"];
  let onnx = ["LayerNormalization"];
}

def MP_RMSNormOp : MP_Op<"rms_norm", [Pure]> {
  let roles = [RoleRowNorm, RoleInnerSquares, RoleLayer];
  let degree = "0";
  let epsilonDegree = 2;
  let summary = "x / sqrt(mean(x^2) + epsilon) * scale by row";
  let description = [{
    The mean is over dims `axis` to the last; `scale` broadcasts to those dims.
    `inv_rms`, if there, is 1 / sqrt(mean(x^2) + epsilon) with the normalised
    dims of size 1. The result has the wider dtype of input and scale.
    Source: ONNX RMSNormalization, com.microsoft SimplifiedLayerNormalization.
  }];
  let arguments = (ins MP_Tensor:$input, Optional<MP_Tensor>:$scale,
    MP_Default<I64Attr, "-1">:$axis, MP_Default<F64Attr, "1e-5">:$epsilon,
    kStashType:$stash_type);
  let results = (outs MP_Tensor:$result, Optional<MP_Tensor>:$inv_rms);
  let assemblyFormat = [{
    $input (`scale` $scale^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let torch = ["rms_norm", "_fused_rms_norm"];
  let onnx = ["RMSNormalization", "SimplifiedLayerNormalization"];
}

def MP_GroupNormOp : MP_Op<"group_norm", [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleRowNorm, RoleCentring, RoleInnerSquares, RoleLayer];
  let degree = "0";
  let epsilonDegree = 2;
  let summary = "normalisation over each sample's groups of channels";
  let description = [{
    `input` [N, C, D1...], [N, D1..., C] with `channels_last`; mean and biased
    variance over a group's C / `num_groups` channels and all spatial dims.
    `scale` and `bias` are [C], or [num_groups] (ONNX opset 18).
    Source: ONNX GroupNormalization.
  }];
  let arguments = (ins MP_Tensor:$input, Optional<MP_Tensor>:$scale,
    Optional<MP_Tensor>:$bias, I64Attr:$num_groups,
    MP_Default<F64Attr, "1e-5">:$epsilon,
    MP_Default<BoolAttr, "false">:$channels_last, kStashType:$stash_type);
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = [{
    $input (`scale` $scale^)? (`bias` $bias^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let torch = ["group_norm", "native_group_norm"];
  let onnx = ["GroupNormalization"];
}

//===----------------------------------------------------------------------===//
// Without parameters
//===----------------------------------------------------------------------===//

def MP_LRNOp : MP_Op<"lrn", [Pure]> {
  let roles = [RoleInnerSquares];
  let summary = "x / (bias + alpha / size sum(x^2))^beta over nearby channels";
  let description = [{
    `input` [N, C, D1...]; the sum runs over channels
    `c - floor((size - 1) / 2)` to `c + ceil((size - 1) / 2)`. Source: ONNX LRN.
  }];
  let arguments = (ins MP_Tensor:$input, I64Attr:$size,
    MP_Default<F64Attr, "1e-4">:$alpha, MP_Default<F64Attr, "0.75">:$beta,
    MP_Default<F64Attr, "1.0">:$bias);
  let results = (outs MP_Tensor:$result);
  let hasVerifier = 1;
  let torch = ["nn.functional.local_response_norm", "local_response_norm"];
  let tensorflow = ["LRN"];
  let onnx = ["LRN"];
}

def MP_LpNormalizeOp : MP_Op<"lp_normalize", [Pure]> {
  let roles = [RoleInnerSquares];
  let degree = "0";
  let epsilonDegree = 1;
  let summary = "x / max(|x|_p, epsilon) along an axis";
  let description = [{
    `epsilon` is 0 in ONNX (0 / 0 gives NaN for a row of zeros).
    Source: ONNX LpNormalization, torch.nn.functional.normalize.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Default<I64Attr, "-1">:$axis,
    MP_Default<F64Attr, "2.0">:$p, MP_Default<F64Attr, "0.0">:$epsilon);
  let results = (outs MP_Tensor:$result);
  let hasVerifier = 1;
  let torch = ["nn.functional.normalize", "normalize"];
  let onnx = ["LpNormalization"];
}

def MP_MeanVarianceNormOp : MP_Op<"mean_variance_norm", [Pure]> {
  let roles = [RoleRowNorm, RoleCentring, RoleInnerSquares, RoleLayer];
  let summary = "(x - E[x]) / (sqrt(E[x^2] - E[x]^2) + 1e-9)";
  let description = [{
    Expectations over `axes`. The difference of squares cancels and may be
    negative by rounding. Source: ONNX MeanVarianceNormalization (function body).
  }];
  let arguments = (ins MP_Tensor:$input, DenseI64ArrayAttr:$axes);
  let results = (outs MP_Tensor:$result);
  let hasVerifier = 1;
  let onnx = ["MeanVarianceNormalization"];
}

#endif // MPOPT_DIALECT_OPS_NORMALIZATIONOPS_TD
