//===- CreateOps.td - Shapes as values and new tensors -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the Shape family that reads shapes and makes tensors of them.
// ShapeOps.td includes it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_OPS_CREATEOPS_TD
#define MPOPT_DIALECT_OPS_CREATEOPS_TD

include "mpopt/Dialect/Ops/CheckedOp.td"

//===----------------------------------------------------------------------===//
// Shapes as values, and values from shapes
//===----------------------------------------------------------------------===//

def MP_ShapeOp : MP_FollowedOp<"shape", [Pure]> {
  let roles = [RoleCounting];
  let summary = "the operand's dims from `start` to `end`, as i64";
  let arguments = (ins MP_Tensor:$input,
    DefaultValuedAttr<I64Attr, "0">:$start, OptionalAttr<I64Attr>:$end);
  let results = (outs MP_Tensor:$result);
  let torch = ["size"];
  let tensorflow = ["Shape"];
  let onnx = ["Shape"];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned) { return false; }
    /// First dim and the one after the last, for an operand of this rank.
    std::pair<int64_t, int64_t> getBounds(int64_t rank);
  }];
}

def MP_SizeOp : MP_FollowedOp<"size", [Pure]> {
  let roles = [RoleCounting];
  let summary = "the operand's number of elements, as i64";
  let arguments = (ins MP_Tensor:$input);
  let results = (outs MP_Tensor:$result);
  let torch = ["numel"];
  let tensorflow = ["Size"];
  let onnx = ["Size"];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned) { return false; }
  }];
}

def MP_FillOp : MP_FollowedOp<"fill", [Pure]> {
  let roles = [RolePicks];
  let summary = "a shape filled with one value";
  let description = [{
    `value` has one element; its type is the result's (ONNX ConstantOfShape).

    ```mlir
    %0 = mp.fill %shape {value = dense<0.0> : tensor<1xf32>}
           : (tensor<2xi64>) -> tensor<?x?xf32>
    ```
  }];
  let arguments = (ins MP_Tensor:$shape, ElementsAttr:$value);
  let results = (outs MP_Tensor:$result);
  let torch = ["full", "zeros", "ones"];
  let tensorflow = ["Fill"];
  let onnx = ["ConstantOfShape"];
}

def MP_RangeOp : MP_FollowedOp<"range", [Pure]> {
  let roles = [RoleCounting];
  let summary = "start, start + delta, ... below limit";
  let description = [{
    max(ceil((limit - start) / delta), 0) elements, computed in their type.
  }];
  let arguments = (ins MP_Tensor:$start, MP_Tensor:$limit, MP_Tensor:$delta);
  let results = (outs MP_Tensor:$result);
  let torch = ["arange.start_step", "arange"];
  let tensorflow = ["Range"];
  let onnx = ["Range"];
}

def MP_EyeLikeOp : MP_CheckedOp<"eye_like", [Pure]> {
  let roles = [RoleMakesZeros];
  let summary = "ones on the `k`-th diagonal, in the operand's shape";
  let description = [{
    The result's element type is its own, the operand's if that is not known.
  }];
  let arguments = (ins MP_Tensor:$input, DefaultValuedAttr<I64Attr, "0">:$k);
  let results = (outs MP_Tensor:$result);
  let torch = ["eye"];
  let onnx = ["EyeLike"];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned) { return false; }
  }];
}

def MP_OneHotOp : MP_CheckedOp<"one_hot", [Pure]> {
  let roles = [RoleMakesZeros, RolePicks];
  let summary = "one of two values by comparison with an index";
  let description = [{
    A dim of size `depth` is put in at `axis`; `values` is [off, on]. Indices
    out of [-depth, depth) give a row of off values.
  }];
  let arguments = (ins MP_Tensor:$indices, MP_Tensor:$depth, MP_Tensor:$values,
    DefaultValuedAttr<I64Attr, "-1">:$axis);
  let results = (outs MP_Tensor:$result);
  let torch = ["one_hot"];
  let tensorflow = ["OneHot"];
  let onnx = ["OneHot"];
  // Indices and depth may be floats in ONNX; they count, and stay exact.
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index == 2; }
  }];
}

def MP_DetOp : MP_CheckedOp<"det", [Pure]> {
  let summary = "determinants of square matrices";
  let arguments = (ins MP_Tensor:$input);
  let results = (outs MP_Tensor:$result);
  let torch = ["det", "linalg_det"];
  let tensorflow = ["MatrixDeterminant"];
  let onnx = ["Det"];
}

#endif // MPOPT_DIALECT_OPS_CREATEOPS_TD
