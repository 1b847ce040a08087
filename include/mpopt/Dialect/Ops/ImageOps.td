//===- ImageOps.td - Blocks, windows and resampling --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the Shape family that is about images. ShapeOps.td includes it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_OPS_IMAGEOPS_TD
#define MPOPT_DIALECT_OPS_IMAGEOPS_TD

include "mpopt/Dialect/Ops/CheckedOp.td"

//===----------------------------------------------------------------------===//
// Blocks and windows
//===----------------------------------------------------------------------===//

def MP_DepthToSpaceOp : MP_CheckedOp<"depth_to_space", [Pure]> {
  let roles = [RoleRearranges];
  let degree = "1";
  let summary = "channels moved into blocks of pixels";
  let description = [{
    (N, C, H, W) to (N, C / b², H·b, W·b). `mode` "DCR" takes the block index
    from the outer part of the channels, "CRD" (pixel shuffle) from the inner.
  }];
  let arguments = (ins MP_Tensor:$input, I64Attr:$block_size,
    DefaultValuedStrAttr<StrAttr, "DCR">:$mode);
  let results = (outs MP_Tensor:$result);
  let torch = ["pixel_shuffle"];
  let tensorflow = ["DepthToSpace"];
  let onnx = ["DepthToSpace"];
}

def MP_SpaceToDepthOp : MP_CheckedOp<"space_to_depth", [Pure]> {
  let roles = [RoleRearranges];
  let degree = "1";
  let summary = "blocks of pixels moved into channels";
  let description = [{
    (N, C, H, W) to (N, C·b², H / b, W / b), the inverse of `mp.depth_to_space`
    of the same `mode`.
  }];
  let arguments = (ins MP_Tensor:$input, I64Attr:$block_size,
    DefaultValuedStrAttr<StrAttr, "DCR">:$mode);
  let results = (outs MP_Tensor:$result);
  let torch = ["pixel_unshuffle"];
  let tensorflow = ["SpaceToDepth"];
  let onnx = ["SpaceToDepth"];
}

def MP_Im2ColOp : MP_CheckedOp<"im2col", [Pure]> {
  let roles = [RolePicks];
  let degree = "1";
  let summary = "sliding windows as columns";
  let description = [{
    (N, C, d1 ...) to (N, C·∏kernel, L) with L windows (torch unfold).
  }];
  let arguments = (ins MP_Tensor:$input, DenseI64ArrayAttr:$kernel_shape,
    OptionalAttr<DenseI64ArrayAttr>:$dilations,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs MP_Tensor:$result);
  let torch = ["im2col"];
  let tensorflow = ["ExtractImagePatches"];
}

def MP_Col2ImOp : MP_CheckedOp<"col2im", [Pure]> {
  let roles = [RoleSum];
  let degree = "1";
  let summary = "columns added up where their windows were";
  let description = [{
    (N, C·∏block, L) to (N, C, image...): overlapping windows are summed (ONNX
    Col2Im, torch fold).
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$image_shape,
    MP_Tensor:$block_shape,
    OptionalAttr<DenseI64ArrayAttr>:$dilations,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs MP_Tensor:$result);
  let torch = ["col2im"];
  let onnx = ["Col2Im"];
}

//===----------------------------------------------------------------------===//
// Interpolation
//===----------------------------------------------------------------------===//

def MP_ResizeOp : MP_CheckedOp<"resize", [Pure, AttrSizedOperandSegments]> {
  let degree = "1";
  let summary = "resampled to another size";
  let description = [{
    Each result dim is floor(dim · scale), or `sizes`. `mode` is "nearest",
    "linear" or "cubic"; "cubic" overshoots its operand's range. `axes` says
    which dims `roi`, `scales` and `sizes` are about, all without them. The
    other attributes are those of ONNX Resize.
  }];
  let arguments = (ins MP_Tensor:$input, Optional<MP_Tensor>:$roi,
    Optional<MP_Tensor>:$scales, Optional<MP_Tensor>:$sizes,
    DefaultValuedStrAttr<StrAttr, "nearest">:$mode,
    DefaultValuedStrAttr<StrAttr, "half_pixel">:$coordinate_transformation,
    DefaultValuedStrAttr<StrAttr, "round_prefer_floor">:$nearest_mode,
    DefaultValuedStrAttr<StrAttr, "stretch">:$keep_aspect_ratio_policy,
    DefaultValuedAttr<F64Attr, "-0.75">:$cubic_coeff_a,
    DefaultValuedAttr<F64Attr, "0.0">:$extrapolation_value,
    UnitAttr:$exclude_outside, UnitAttr:$antialias,
    OptionalAttr<DenseI64ArrayAttr>:$axes);
  let results = (outs MP_Tensor:$result);
  let staticNames = 0;
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index == 0; }
  }];
  let assemblyFormat = [{
    $input (`roi` $roi^)? (`scales` $scales^)? (`sizes` $sizes^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def MP_GridSampleOp : MP_CheckedOp<"grid_sample", [Pure]> {
  let degree = "1";
  let summary = "sampled at the positions of a grid";
  let description = [{
    (N, C, D1 ... Dr) at `grid` (N, o1 ... or, r) gives (N, C, o1 ... or).
    `mode` is "linear", "nearest" or "cubic", `padding_mode` "zeros", "border"
    or "reflection".
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$grid,
    DefaultValuedStrAttr<StrAttr, "linear">:$mode,
    DefaultValuedStrAttr<StrAttr, "zeros">:$padding_mode,
    UnitAttr:$align_corners);
  let results = (outs MP_Tensor:$result);
  let torch = ["grid_sampler", "grid_sampler_2d", "grid_sampler_3d"];
  let onnx = ["GridSample"];
}

def MP_AffineGridOp : MP_CheckedOp<"affine_grid", [Pure]> {
  let summary = "the sampling grid of affine maps";
  let description = [{
    `theta` (N, r, r + 1) and `size` [N, C, d1 ... dr] give (N, d1 ... dr, r).
  }];
  let arguments = (ins MP_Tensor:$theta, MP_Tensor:$size,
    UnitAttr:$align_corners);
  let results = (outs MP_Tensor:$result);
  let torch = ["affine_grid_generator"];
  let onnx = ["AffineGrid"];
}

#endif // MPOPT_DIALECT_OPS_IMAGEOPS_TD
