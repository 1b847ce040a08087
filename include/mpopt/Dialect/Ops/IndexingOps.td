//===- IndexingOps.td - Gather, scatter and other indexing -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_INDEXINGOPS_TD
#define MPOPT_DIALECT_OPS_INDEXINGOPS_TD

include "mpopt/Dialect/Ops/CheckedOp.td"

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

def MP_GatherOp : MP_FollowedOp<"gather", [Pure]> {
  let roles = [RoleGathers];
  let degree = "1";
  let summary = "slices of `axis` by index";
  let description = [{
    The indices' shape takes the place of the dim at `axis`. Negative indices
    count from the back.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$indices,
    DefaultValuedAttr<I64Attr, "0">:$axis);
  let results = (outs MP_Tensor:$result);
  let torch = ["index_select", "index.Tensor"];
  let tensorflow = ["GatherV2", "Gather"];
  let onnx = ["Gather"];
}

def MP_EmbeddingOp : MP_CheckedOp<"embedding", [Pure]> {
  let roles = [RoleGathers];
  let degree = "1";
  let summary = "rows of a table by index";
  let description = [{
    `mp.gather` of axis 0 where the model says that it is an embedding. Rows of
    index `padding_index` take no gradient.
  }];
  let arguments = (ins MP_Tensor:$table, MP_Tensor:$indices,
    OptionalAttr<I64Attr>:$padding_index);
  let results = (outs MP_Tensor:$result);
  let torch = ["embedding"];
  let tensorflow = ["GatherV2", "Gather"];
  let onnx = ["Gather"];
}

def MP_GatherElementsOp : MP_CheckedOp<"gather_elements", [Pure]> {
  let roles = [RoleGathers];
  let degree = "1";
  let summary = "elements along `axis` by index";
  let description = [{
    Index tensor and result have one shape: out[i][j] = input[index[i][j]][j]
    for axis 0.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$indices,
    DefaultValuedAttr<I64Attr, "0">:$axis);
  let results = (outs MP_Tensor:$result);
  let torch = ["gather"];
  let tensorflow = ["GatherV2"];
  let onnx = ["GatherElements"];
}

def MP_GatherNDOp : MP_CheckedOp<"gather_nd", [Pure]> {
  let roles = [RoleGathers];
  let degree = "1";
  let summary = "slices by index tuples";
  let description = [{
    The last dim of `indices` holds tuples that index the dims after the first
    `batch_dims`, which both operands share.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$indices,
    DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs MP_Tensor:$result);
  let torch = ["index.Tensor"];
  let tensorflow = ["GatherNd"];
  let onnx = ["GatherND"];
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

def MP_ScatterElementsOp : MP_CheckedOp<"scatter_elements", [Pure]> {
  let roles = [RolePicks];
  let summary = "with elements along `axis` replaced or combined by index";
  let description = [{
    `reduction` is "none", "add", "mul", "max" or "min": how an update meets
    what is there, duplicates included.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$indices, MP_Tensor:$updates,
    DefaultValuedAttr<I64Attr, "0">:$axis,
    DefaultValuedStrAttr<StrAttr, "none">:$reduction);
  let results = (outs MP_Tensor:$result);
  let staticNames = 0;
}

def MP_ScatterNDOp : MP_CheckedOp<"scatter_nd", [Pure]> {
  let roles = [RolePicks];
  let summary = "with slices replaced or combined by index tuples";
  let description = [{ `reduction` as in `mp.scatter_elements`. }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$indices, MP_Tensor:$updates,
    DefaultValuedStrAttr<StrAttr, "none">:$reduction);
  let results = (outs MP_Tensor:$result);
  let torch = ["index_put"];
  let tensorflow = ["TensorScatterUpdate"];
  let onnx = ["ScatterND"];
}

def MP_MaskedFillOp : MP_CheckedOp<"masked_fill", [Pure]> {
  let roles = [RoleSelect, RolePicks, RoleJointlyHomogeneous];
  let summary = "`value` where the mask is set, the input elsewhere";
  let description = [{
    Broadcasts. `value` is converted to the input's element type, so -1e9 in an
    f16 tensor is -Inf.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$mask, MP_Tensor:$value);
  let results = (outs MP_Tensor:$result);
  let torch = ["masked_fill.Scalar", "masked_fill.Tensor"];
  let tensorflow = ["SelectV2"];
  let onnx = ["Where"];
}

//===----------------------------------------------------------------------===//
// Results whose length depends on values
//===----------------------------------------------------------------------===//

def MP_CompressOp : MP_CheckedOp<"compress", [Pure]> {
  let roles = [RoleGathers];
  let degree = "1";
  let summary = "slices of `axis` where the condition holds";
  let description = [{ Of the flattened input without `axis`. }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$condition,
    OptionalAttr<I64Attr>:$axis);
  let results = (outs MP_Tensor:$result);
  let torch = ["masked_select"];
  let onnx = ["Compress"];
}

def MP_NonZeroOp : MP_CheckedOp<"non_zero", [Pure]> {
  let roles = [RoleCounting];
  let summary = "indices of what is not zero, as i64";
  let description = [{ (rank, count), one index tuple a column. }];
  let arguments = (ins MP_Tensor:$input);
  let results = (outs MP_Tensor:$result);
  let torch = ["nonzero"];
  let tensorflow = ["Where"];
  let onnx = ["NonZero"];
}

def MP_UniqueOp : MP_CheckedOp<"unique", [Pure]> {
  let roles = [RolePicks];
  let summary = "distinct elements, or slices of `axis`";
  let description = [{
    Beside the values the index of their first occurrence, the index of each
    input element among the values, and how often each occurs, all i64.
  }];
  let arguments = (ins MP_Tensor:$input, OptionalAttr<I64Attr>:$axis,
    DefaultValuedAttr<BoolAttr, "true">:$sorted);
  let results = (outs MP_Tensor:$values, MP_Tensor:$indices,
    MP_Tensor:$inverse, MP_Tensor:$counts);
  let torch = ["unique_dim", "_unique2"];
  let tensorflow = ["UniqueWithCountsV2"];
  let onnx = ["Unique"];
}

def MP_NonMaxSuppressionOp : MP_CheckedOp<"non_max_suppression", [Pure,
    AttrSizedOperandSegments]> {
  let summary = "the boxes that overlap no better one";
  let description = [{
    `boxes` (batch, n, 4) and `scores` (batch, class, n) give triples (batch,
    class, box), (count, 3) as i64. Boxes are corners, or centre and size if
    `center_point_box`.
  }];
  let arguments = (ins MP_Tensor:$boxes, MP_Tensor:$scores,
    Optional<MP_Tensor>:$max_output_boxes, Optional<MP_Tensor>:$iou_threshold,
    Optional<MP_Tensor>:$score_threshold, UnitAttr:$center_point_box);
  let results = (outs MP_Tensor:$result);
  let tensorflow = ["NonMaxSuppressionV3", "CombinedNonMaxSuppression"];
  let onnx = ["NonMaxSuppression"];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index < 2; }
  }];
  let assemblyFormat = [{
    $boxes `,` $scores (`max` $max_output_boxes^)? (`iou` $iou_threshold^)?
    (`score` $score_threshold^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

#endif // MPOPT_DIALECT_OPS_INDEXINGOPS_TD
