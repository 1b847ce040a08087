//===- ShapeOps.td - Shape changes and data movement -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter that is constant in nearly every model is an attribute, and an
// optional operand `dynamic_<name>` where the model computes it: one of the two
// is set. Shapes (reshape, expand, fill), repeats and a resize's scales and
// sizes are always operands.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_OPS_SHAPEOPS_TD
#define MPOPT_DIALECT_OPS_SHAPEOPS_TD

include "mpopt/Dialect/Ops/CheckedOp.td"
include "mpopt/Dialect/Ops/ImageOps.td"

//===----------------------------------------------------------------------===//
// The same elements under another shape
//===----------------------------------------------------------------------===//

def MP_ReshapeOp : MP_FollowedOp<"reshape", [Pure]> {
  let roles = [RoleRearranges];
  let degree = "1";
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    One element of `shape` may be -1, computed from the number of elements; 0
    copies the input's dim at its place unless `allow_zero` (ONNX Reshape).
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$shape, UnitAttr:$allow_zero);
  let results = (outs MP_Tensor:$result);
  let torch = ["reshape", "view"];
  let tensorflow = ["Reshape"];
  let onnx = ["Reshape"];
}

def MP_FlattenOp : MP_FollowedOp<"flatten", [Pure]> {
  let roles = [RoleRearranges];
  let degree = "1";
  let summary = "a matrix: the dims before `axis`, and the ones from it";
  let arguments = (ins MP_Tensor:$input, DefaultValuedAttr<I64Attr, "1">:$axis);
  let results = (outs MP_Tensor:$result);
  let torch = ["flatten.using_ints"];
  let tensorflow = ["Reshape"];
  let onnx = ["Flatten"];
}

def MP_TransposeOp : MP_FollowedOp<"transpose", [Pure]> {
  let roles = [RoleRearranges];
  let degree = "1";
  let summary = "dims in another order";
  let description = [{
    Dim i of the result is dim `perm`[i] of the input; without `perm` the order
    is reversed.
  }];
  let arguments = (ins MP_Tensor:$input,
    OptionalAttr<DenseI64ArrayAttr>:$perm);
  let results = (outs MP_Tensor:$result);
  let torch = ["permute", "transpose.int", "t"];
  let tensorflow = ["Transpose"];
  let onnx = ["Transpose"];
}

def MP_SqueezeOp : MP_FollowedOp<"squeeze", [Pure]> {
  let roles = [RoleRearranges];
  let degree = "1";
  let summary = "without dims of size 1";
  let description = [{
    Drops `axes`, each of size 1; every such dim if there are none.
  }];
  let arguments = (ins MP_Tensor:$input, Optional<MP_Tensor>:$dynamic_axes,
    OptionalAttr<DenseI64ArrayAttr>:$axes);
  let results = (outs MP_Tensor:$result);
  let torch = ["squeeze.dims", "squeeze.dim", "squeeze"];
  let tensorflow = ["Squeeze"];
  let onnx = ["Squeeze"];
  let assemblyFormat = [{
    $input (`axes` $dynamic_axes^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def MP_UnsqueezeOp : MP_FollowedOp<"unsqueeze", [Pure]> {
  let roles = [RoleRearranges];
  let degree = "1";
  let summary = "with dims of size 1 added";
  let description = [{ The result has a dim of size 1 at each of `axes`. }];
  let arguments = (ins MP_Tensor:$input, Optional<MP_Tensor>:$dynamic_axes,
    OptionalAttr<DenseI64ArrayAttr>:$axes);
  let results = (outs MP_Tensor:$result);
  let torch = ["unsqueeze"];
  let tensorflow = ["ExpandDims"];
  let onnx = ["Unsqueeze"];
  let assemblyFormat = [{
    $input (`axes` $dynamic_axes^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Repetition
//===----------------------------------------------------------------------===//

def MP_ExpandOp : MP_FollowedOp<"expand", [Pure]> {
  let roles = [RoleRearranges];
  let degree = "1";
  let summary = "broadcast to a shape";
  let description = [{
    NumPy broadcasting of the input against `shape`, in both directions: 1 and
    -1 in `shape` keep the input's dim.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$shape);
  let results = (outs MP_Tensor:$result);
  let torch = ["expand"];
  let tensorflow = ["BroadcastTo"];
  let onnx = ["Expand"];
}

def MP_TileOp : MP_FollowedOp<"tile", [Pure]> {
  let roles = [RoleRearranges];
  let degree = "1";
  let summary = "copies side by side";
  let description = [{ `repeats` has one element per dim of the input. }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$repeats);
  let results = (outs MP_Tensor:$result);
  let torch = ["repeat", "tile"];
  let tensorflow = ["Tile"];
  let onnx = ["Tile"];
}

//===----------------------------------------------------------------------===//
// Parts and their sum
//===----------------------------------------------------------------------===//

def MP_ConcatOp : MP_FollowedOp<"concat", [Pure]> {
  let roles = [RoleConcatenation, RolePicks, RoleJointlyHomogeneous];
  let summary = "operands one after another along `axis`";
  let arguments = (ins Variadic<MP_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs MP_Tensor:$result);
  let torch = ["cat", "stack"];
  let tensorflow = ["ConcatV2", "Concat", "Pack"];
  let onnx = ["Concat"];
}

def MP_SplitOp : MP_CheckedOp<"split", [Pure,
    DeclareOpInterfaceMethods<ElementInferenceOpInterface,
                              ["inferElementsOf"]>]> {
  let roles = [RoleGathers];
  let degree = "1";
  let summary = "consecutive parts along `axis`";
  let description = [{
    One result per part. `sizes` gives their lengths; without it they are equal,
    the last one smaller if need be (ONNX Split with `num_outputs`).
  }];
  let arguments = (ins MP_Tensor:$input, Optional<MP_Tensor>:$dynamic_sizes,
    DefaultValuedAttr<I64Attr, "0">:$axis,
    OptionalAttr<DenseI64ArrayAttr>:$sizes);
  let results = (outs Variadic<MP_Tensor>:$parts);
  let torch = ["split.Tensor", "split_with_sizes", "chunk"];
  let tensorflow = ["SplitV", "Split"];
  let onnx = ["Split"];
  let assemblyFormat = [{
    $input (`sizes` $dynamic_sizes^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def MP_SliceOp : MP_FollowedOp<"slice", [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleGathers];
  let degree = "1";
  let summary = "every `step`-th element from start to end along some axes";
  let description = [{
    NumPy slices: negative starts and ends count from the back, both are clamped
    to the dim. `axes` defaults to the leading ones, `steps` to 1.

    ```mlir
    %0 = mp.slice %x {starts = array<i64: 1>, ends = array<i64: -1>,
                      axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2x6xf32>
    %1 = mp.slice %x ends %e {starts = array<i64: 0>}
           : (tensor<2x8xf32>, tensor<1xi64>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins MP_Tensor:$input,
    Optional<MP_Tensor>:$dynamic_starts, Optional<MP_Tensor>:$dynamic_ends,
    Optional<MP_Tensor>:$dynamic_axes, Optional<MP_Tensor>:$dynamic_steps,
    OptionalAttr<DenseI64ArrayAttr>:$starts,
    OptionalAttr<DenseI64ArrayAttr>:$ends,
    OptionalAttr<DenseI64ArrayAttr>:$axes,
    OptionalAttr<DenseI64ArrayAttr>:$steps);
  let results = (outs MP_Tensor:$result);
  let torch = ["slice.Tensor", "select.int", "narrow"];
  let tensorflow = ["StridedSlice", "Slice"];
  let onnx = ["Slice"];
  let assemblyFormat = [{
    $input (`starts` $dynamic_starts^)? (`ends` $dynamic_ends^)?
    (`axes` $dynamic_axes^)? (`steps` $dynamic_steps^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def MP_PadOp : MP_CheckedOp<"pad", [Pure, AttrSizedOperandSegments]> {
  let roles = [RolePicks];
  let summary = "with a border; a negative pad crops";
  let description = [{
    `pads` is all begins, then all ends, of `axes` (of every dim without them).
    `mode` is "constant" (`value`, 0 without one), "reflect", "edge" or "wrap".
  }];
  let arguments = (ins MP_Tensor:$input, Optional<MP_Tensor>:$dynamic_pads,
    Optional<MP_Tensor>:$value, Optional<MP_Tensor>:$dynamic_axes,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    OptionalAttr<DenseI64ArrayAttr>:$axes,
    DefaultValuedStrAttr<StrAttr, "constant">:$mode);
  let results = (outs MP_Tensor:$result);
  let staticNames = 0;
  let assemblyFormat = [{
    $input (`pads` $dynamic_pads^)? (`value` $value^)? (`axes` $dynamic_axes^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def MP_CenterCropPadOp : MP_CheckedOp<"center_crop_pad", [Pure]> {
  let roles = [RolePicks];
  let summary = "cropped or padded with zeros around the centre to a shape";
  let description = [{
    `shape` has one element per axis of `axes`, per dim without them.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$shape,
    OptionalAttr<DenseI64ArrayAttr>:$axes);
  let results = (outs MP_Tensor:$result);
  let onnx = ["CenterCropPad"];
}

def MP_TensorScatterOp : MP_CheckedOp<"tensor_scatter", [Pure]> {
  let roles = [RolePicks];
  let summary = "a cache with an update written at a position per batch row";
  let description = [{
    `update` replaces `past` along `axis` from `indices`[batch] (from 0 without
    them); `mode` "circular" wraps around, "linear" does not (ONNX
    TensorScatter).
  }];
  let arguments = (ins MP_Tensor:$past, MP_Tensor:$update,
    Optional<MP_Tensor>:$indices, DefaultValuedAttr<I64Attr, "-2">:$axis,
    DefaultValuedStrAttr<StrAttr, "linear">:$mode);
  let results = (outs MP_Tensor:$result);
  let torch = ["slice_scatter"];
  let onnx = ["TensorScatter"];
}

//===----------------------------------------------------------------------===//
// Reordering
//===----------------------------------------------------------------------===//

def MP_ReverseOp : MP_CheckedOp<"reverse", [Pure]> {
  let roles = [RoleRearranges];
  let degree = "1";
  let summary = "back to front along `axes`";
  let arguments = (ins MP_Tensor:$input, DenseI64ArrayAttr:$axes);
  let results = (outs MP_Tensor:$result);
  let torch = ["flip"];
  let tensorflow = ["ReverseV2"];
}

def MP_RollOp : MP_CheckedOp<"roll", [Pure]> {
  let roles = [RoleRearranges];
  let degree = "1";
  let summary = "shifted around along `axes`";
  let description = [{
    Element i moves to (i + shift) mod dim; without `axes` the flattened tensor
    is rolled by the one shift.
  }];
  let arguments = (ins MP_Tensor:$input, DenseI64ArrayAttr:$shifts,
    OptionalAttr<DenseI64ArrayAttr>:$axes);
  let results = (outs MP_Tensor:$result);
  let torch = ["roll"];
  let tensorflow = ["Roll"];
}

def MP_ReverseSequenceOp : MP_CheckedOp<"reverse_sequence", [Pure]> {
  let roles = [RoleRearranges];
  let degree = "1";
  let summary = "the first `lengths`[batch] steps back to front";
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$lengths,
    DefaultValuedAttr<I64Attr, "1">:$batch_axis,
    DefaultValuedAttr<I64Attr, "0">:$time_axis);
  let results = (outs MP_Tensor:$result);
  let tensorflow = ["ReverseSequence"];
  let onnx = ["ReverseSequence"];
}

def MP_TriluOp : MP_CheckedOp<"trilu", [Pure]> {
  let roles = [RoleMakesZeros, RolePicks];
  let degree = "1";
  let summary = "the upper or lower triangle of matrices, zero elsewhere";
  let description = [{
    Keeps what is on or above (`upper`) or on or below the `k`-th diagonal of
    the last two dims.
  }];
  let arguments = (ins MP_Tensor:$input, Optional<MP_Tensor>:$dynamic_k,
    DefaultValuedAttr<I64Attr, "0">:$k,
    DefaultValuedAttr<BoolAttr, "true">:$upper);
  let results = (outs MP_Tensor:$result);
  let torch = ["triu", "tril"];
  let tensorflow = ["MatrixBandPart"];
  let onnx = ["Trilu"];
  let assemblyFormat = [{
    $input (`k` $dynamic_k^)? attr-dict `:` functional-type(operands, results)
  }];
}

include "mpopt/Dialect/Ops/CreateOps.td"

#endif // MPOPT_DIALECT_OPS_SHAPEOPS_TD
