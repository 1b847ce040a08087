//===- PoolingOps.td - Pooling -----------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_POOLINGOPS_TD
#define MPOPT_DIALECT_OPS_POOLINGOPS_TD

include "mpopt/Dialect/MPDialect.td"

//===----------------------------------------------------------------------===//
// Sliding windows
//===----------------------------------------------------------------------===//

// `strides`, `dilations` and `pads` as in mp.conv. `ceil_mode` rounds the number
// of windows up, less the last if it would start past the input.
defvar kPoolArguments = (ins MP_Tensor:$input, DenseI64ArrayAttr:$kernel_shape,
  DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$strides,
  DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dilations,
  DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$pads,
  DefaultValuedAttr<BoolAttr, "false">:$ceil_mode,
  DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad);

def MP_MaxPoolOp : MP_Op<"max_pool", [Pure]> {
  let roles = [RolePicks];
  let degree = "1";
  let summary = "maximum of each window";
  let description = [{
    `input` [N, C, D1...] or [C, D1...]. Padding never wins. `indices`, if there,
    are the flat positions of the maxima in the whole input (ONNX) in i64, of
    dims in reversed order where `storage_order` is 1. Source: ONNX MaxPool.
  }];
  let arguments = !con(kPoolArguments,
    (ins DefaultValuedAttr<I64Attr, "0">:$storage_order));
  let results = (outs MP_Tensor:$result, Optional<MP_Tensor>:$indices);
  let hasVerifier = 1;
  // CPU autocast lists some ranks only.
  let staticNames = 0;
}

def MP_AveragePoolOp : MP_Op<"average_pool", [Pure]> {
  let roles = [RoleSum, RoleMean];
  let degree = "1";
  let summary = "mean of each window";
  let description = [{
    `input` [N, C, D1...] or [C, D1...]. The divisor is the number of elements of
    the window that lie in the input, with `count_include_pad` in the padded
    input. `legacy_ceil` (ONNX before opset 19 with `ceil_mode`): runtimes and
    the standard differ in whether a last window past the input exists; such a
    dim stays dynamic. Source: ONNX AveragePool.
  }];
  let arguments = !con(kPoolArguments,
    (ins DefaultValuedAttr<BoolAttr, "false">:$count_include_pad,
         UnitAttr:$legacy_ceil));
  let results = (outs MP_Tensor:$result);
  let hasVerifier = 1;
  let staticNames = 0;
}

def MP_LpPoolOp : MP_Op<"lp_pool", [Pure]> {
  let roles = [RoleInnerSquares];
  let degree = "1";
  let summary = "(sum |x|^p)^(1/p) of each window";
  let description = [{
    `input` [N, C, D1...] or [C, D1...]; padding counts as 0. The sum of powers
    is what overflows first. Source: ONNX LpPool.
  }];
  let arguments = !con(kPoolArguments, (ins DefaultValuedAttr<F64Attr, "2.0">:$p));
  let results = (outs MP_Tensor:$result);
  let hasVerifier = 1;
  let onnx = ["LpPool"];
}

def MP_MaxUnpoolOp : MP_Op<"max_unpool", [Pure]> {
  let roles = [RolePicks, RoleMakesZeros];
  let degree = "1";
  let summary = "puts maxima back to where they were, 0 elsewhere";
  let description = [{
    The shape is `output_shape` if given, else what a `mp.max_pool` without
    ceil_mode came from at least: `stride (D - 1) + kernel - pads`.
    Source: ONNX MaxUnpool.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$indices,
    Optional<MP_Tensor>:$output_shape, DenseI64ArrayAttr:$kernel_shape,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$strides,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$pads);
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $indices (`shape` $output_shape^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let torch = ["max_unpool2d", "max_unpool3d", "max_unpool1d"];
  let onnx = ["MaxUnpool"];
}

//===----------------------------------------------------------------------===//
// All spatial dims, or as many windows as asked for
//===----------------------------------------------------------------------===//

def MP_GlobalAveragePoolOp : MP_Op<"global_average_pool", [Pure]> {
  let roles = [RoleSum, RoleMean];
  let degree = "1";
  let summary = "mean over all spatial dims, which become 1";
  let description = [{ Source: ONNX GlobalAveragePool. }];
  let arguments = (ins MP_Tensor:$input);
  let results = (outs MP_Tensor:$result);
  let torch = ["adaptive_avg_pool2d", "adaptive_avg_pool1d",
               "adaptive_avg_pool3d"];
  let tensorflow = ["Mean"];
  let onnx = ["GlobalAveragePool"];
}
def MP_GlobalMaxPoolOp : MP_Op<"global_max_pool", [Pure]> {
  let roles = [RolePicks];
  let degree = "1";
  let summary = "maximum over all spatial dims, which become 1";
  let description = [{ Source: ONNX GlobalMaxPool. }];
  let arguments = (ins MP_Tensor:$input);
  let results = (outs MP_Tensor:$result);
  let torch = ["adaptive_max_pool2d", "adaptive_max_pool1d",
               "adaptive_max_pool3d"];
  let tensorflow = ["Max"];
  let onnx = ["GlobalMaxPool"];
}
def MP_GlobalLpPoolOp : MP_Op<"global_lp_pool", [Pure]> {
  let roles = [RoleInnerSquares];
  let degree = "1";
  let summary = "(sum |x|^p)^(1/p) over all spatial dims, which become 1";
  let description = [{ Source: ONNX GlobalLpPool. }];
  let arguments = (ins MP_Tensor:$input, DefaultValuedAttr<F64Attr, "2.0">:$p);
  let results = (outs MP_Tensor:$result);
  let onnx = ["GlobalLpPool"];
}

def MP_AdaptiveAvgPoolOp : MP_Op<"adaptive_avg_pool", [Pure]> {
  let roles = [RoleSum, RoleMean];
  let degree = "1";
  let summary = "mean over windows that divide the input evenly";
  let description = [{
    Output i of O reads `[floor(i D / O), ceil((i + 1) D / O))` of a spatial dim
    of D. An `output_size` of -1 keeps the dim.
    Source: torch.nn.functional.adaptive_avg_pool2d.
  }];
  let arguments = (ins MP_Tensor:$input, DenseI64ArrayAttr:$output_size);
  let results = (outs MP_Tensor:$result);
  let hasVerifier = 1;
  let staticNames = 0;
}
def MP_AdaptiveMaxPoolOp : MP_Op<"adaptive_max_pool", [Pure]> {
  let roles = [RolePicks];
  let degree = "1";
  let summary = "maximum over windows that divide the input evenly";
  let description = [{
    Windows as in `mp.adaptive_avg_pool`; `indices` are flat positions in the
    spatial dims. Source: torch.nn.functional.adaptive_max_pool2d.
  }];
  let arguments = (ins MP_Tensor:$input, DenseI64ArrayAttr:$output_size);
  let results = (outs MP_Tensor:$result, Optional<MP_Tensor>:$indices);
  let hasVerifier = 1;
  let staticNames = 0;
}

//===----------------------------------------------------------------------===//
// Regions of interest
//===----------------------------------------------------------------------===//

def MP_MaxRoiPoolOp : MP_Op<"max_roi_pool", [Pure]> {
  let roles = [RolePicks];
  let degree = "1";
  let summary = "maximum over a grid of bins in each region";
  let description = [{
    `input` [N, C, H, W], `rois` [R, 5] of (batch, x1, y1, x2, y2); result
    [R, C, `pooled_shape`]. Box corners times `spatial_scale` are positions in
    the input, so boxes in 16 bits lose whole pixels. Source: ONNX MaxRoiPool.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$rois,
    DenseI64ArrayAttr:$pooled_shape,
    DefaultValuedAttr<F64Attr, "1.0">:$spatial_scale);
  let results = (outs MP_Tensor:$result);
  let hasVerifier = 1;
  let onnx = ["MaxRoiPool"];
}

def MP_RoiAlignOp : MP_Op<"roi_align", [Pure]> {
  let degree = "1";
  let summary = "mean or maximum of bilinear samples in each region's bins";
  let description = [{
    `input` [N, C, H, W], `rois` [R, 4] of (x1, y1, x2, y2), `batch_indices`
    [R]; result [R, C, output_height, output_width]. `mode` is `avg` or `max`;
    `sampling_ratio` 0 adapts to the region's size. `half_pixel` shifts by half a
    pixel. Source: ONNX RoiAlign, torchvision.ops.roi_align.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$rois,
    MP_Tensor:$batch_indices, I64Attr:$output_height, I64Attr:$output_width,
    DefaultValuedAttr<I64Attr, "0">:$sampling_ratio,
    DefaultValuedAttr<StrAttr, "\"avg\"">:$mode,
    DefaultValuedAttr<BoolAttr, "true">:$half_pixel,
    DefaultValuedAttr<F64Attr, "1.0">:$spatial_scale);
  let results = (outs MP_Tensor:$result);
  let hasVerifier = 1;
  let torch = ["roi_align"];
  let onnx = ["RoiAlign"];
}

#endif // MPOPT_DIALECT_OPS_POOLINGOPS_TD
