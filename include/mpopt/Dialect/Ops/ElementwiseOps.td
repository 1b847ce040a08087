//===- ElementwiseOps.td - Elementwise arithmetic ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_ELEMENTWISEOPS_TD
#define MPOPT_DIALECT_OPS_ELEMENTWISEOPS_TD

include "mpopt/Dialect/Ops/UnaryOps.td"

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

// Broadcasts as NumPy does. The result has the operands' common element type, or
// the one that `element` names.
class MP_BinaryOp<string mnemonic, string formula, list<string> torchNames,
                  list<string> tensorflowNames, list<string> onnxNames,
                  Type operand = MP_NumericTensor, list<Trait> traits = [],
                  Type result = operand, string element = "{}">
    : MP_Op<mnemonic, !listconcat([Pure], traits)> {
  let summary = formula;
  let description = [{
    Elementwise with NumPy broadcasting. The result has the dtype to which the
    operands' promote.
  }];
  let torch = torchNames;
  let tensorflow = tensorflowNames;
  let onnx = onnxNames;
  let arguments = (ins operand:$lhs, operand:$rhs);
  let results = (outs result:$result);
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mpopt::inferBroadcast(*this, (*this)->getOperands(), types, }]
    # element # [{);
    }
  }];
}

let roles = [RoleAddition, RoleJointlyHomogeneous] in
def MP_AddOp : MP_BinaryOp<"add", "a + b", ["add"], ["AddV2", "Add"], ["Add"],
  MP_NumericTensor, [MP_ElementInference]>;
let roles = [RoleSubtraction, RoleJointlyHomogeneous] in
def MP_SubOp : MP_BinaryOp<"sub", "a - b", ["sub"], ["Sub"], ["Sub"],
  MP_NumericTensor, [MP_ElementInference]>;
let roles = [RoleMultiplication, RoleBilinear] in
def MP_MulOp : MP_BinaryOp<"mul", "a * b", ["mul"], ["Mul"], ["Mul"],
  MP_NumericTensor, [MP_ElementInference]>;
let roles = [RoleDivision], divisor = 1 in
def MP_DivOp : MP_BinaryOp<"div", "a / b, toward zero for integers", ["div"],
  ["RealDiv", "Div"], ["Div"], MP_NumericTensor, [MP_ElementInference]>;
let divisor = 1 in
def MP_FloorDivOp : MP_BinaryOp<"floor_div", "floor(a / b)", ["floor_divide"],
  ["FloorDiv"], [], MP_NumericTensor, [MP_ElementInference]>;
def MP_Atan2Op : MP_BinaryOp<"atan2", "angle of the point (b, a)", ["atan2"],
  ["Atan2"], [], MP_FloatTensor>;

def MP_ModOp : MP_BinaryOp<"mod", "remainder of a / b", ["remainder", "fmod"],
  ["FloorMod"], ["Mod"], MP_NumericTensor, [MP_ElementInference]> {
  let divisor = 1;
  let description = [{
    Elementwise with NumPy broadcasting: a - b * floor(a / b), which has the
    sign of b (Python's `%`), or with `fmod` C's function, which has the sign of
    a. The result has the dtype to which the operands' promote.
  }];
  let arguments = (ins MP_NumericTensor:$lhs, MP_NumericTensor:$rhs,
    UnitAttr:$fmod);
}

def MP_PowOp : MP_BinaryOp<"pow", "a ^ b",
  ["pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar"], ["Pow"], ["Pow"],
  MP_NumericTensor, [MP_ElementInference], MP_NumericTensor,
  "::mpopt::getElementType(getLhs())"> {
  let roles = [RolePower];
  let description = [{
    Elementwise with NumPy broadcasting. The result has the base's dtype, as in
    ONNX; where a framework promotes instead, a cast of the base says so.
  }];
}

// Comparisons.
class MP_CompareOp<string mnemonic, string formula, list<string> torchNames,
                   list<string> tensorflowNames, list<string> onnxNames,
                   Type operand = MP_NumericTensor>
    : MP_BinaryOp<mnemonic, formula, torchNames, tensorflowNames, onnxNames,
        operand, [MP_ElementInference], MP_BoolTensor,
        "::mlir::IntegerType::get(getContext(), 1)"> {
  let description = "Elementwise with NumPy broadcasting; the result is `i1`.";
}

// Equality is defined for strings, too.
def MP_EqualOp : MP_CompareOp<"equal", "a == b", ["eq"], ["Equal"], ["Equal"],
  MP_Tensor>;
def MP_NotEqualOp : MP_CompareOp<"not_equal", "a != b", ["ne"], ["NotEqual"], [],
  MP_Tensor>;
def MP_LessOp : MP_CompareOp<"less", "a < b", ["lt"], ["Less"], ["Less"]>;
def MP_LessEqualOp : MP_CompareOp<"less_equal", "a <= b", ["le"], ["LessEqual"],
  ["LessOrEqual"]>;
def MP_GreaterOp : MP_CompareOp<"greater", "a > b", ["gt"], ["Greater"],
  ["Greater"]>;
def MP_GreaterEqualOp : MP_CompareOp<"greater_equal", "a >= b", ["ge"],
  ["GreaterEqual"], ["GreaterOrEqual"]>;

// Bits.
def MP_LogicalAndOp : MP_BinaryOp<"logical_and", "a and b", ["logical_and"],
  ["LogicalAnd"], ["And"], MP_BoolTensor, [MP_ElementInference]>;
def MP_LogicalOrOp : MP_BinaryOp<"logical_or", "a or b", ["logical_or"],
  ["LogicalOr"], ["Or"], MP_BoolTensor, [MP_ElementInference]>;
def MP_LogicalXorOp : MP_BinaryOp<"logical_xor", "a or b, not both",
  ["logical_xor"], ["LogicalXor"], ["Xor"], MP_BoolTensor, [MP_ElementInference]>;
def MP_BitwiseAndOp : MP_BinaryOp<"bitwise_and", "bits set in both",
  ["bitwise_and"], ["BitwiseAnd"], ["BitwiseAnd"], MP_IntegerTensor,
  [MP_ElementInference]>;
def MP_BitwiseOrOp : MP_BinaryOp<"bitwise_or", "bits set in either",
  ["bitwise_or"], ["BitwiseOr"], ["BitwiseOr"], MP_IntegerTensor,
  [MP_ElementInference]>;
def MP_BitwiseXorOp : MP_BinaryOp<"bitwise_xor", "bits set in one only",
  ["bitwise_xor"], ["BitwiseXor"], ["BitwiseXor"], MP_IntegerTensor,
  [MP_ElementInference]>;
def MP_ShiftLeftOp : MP_BinaryOp<"shift_left", "a * 2^b, bits above dropped",
  ["bitwise_left_shift"], ["LeftShift"], ["BitShift"], MP_IntegerTensor>;
def MP_ShiftRightOp : MP_BinaryOp<"shift_right", "floor(a / 2^b)",
  ["bitwise_right_shift"], ["RightShift"], ["BitShift"], MP_IntegerTensor>;

//===----------------------------------------------------------------------===//
// Any number of operands
//===----------------------------------------------------------------------===//

class MP_VariadicOp<string mnemonic, string formula, list<string> torchNames,
                    list<string> tensorflowNames, list<string> onnxNames,
                    list<Trait> traits = []>
    : MP_Op<mnemonic, !listconcat([Pure], traits)> {
  let summary = formula;
  let description = [{
    Of one or more operands, elementwise with NumPy broadcasting. The result has
    the dtype to which the operands' promote.
  }];
  let torch = torchNames;
  let tensorflow = tensorflowNames;
  let onnx = onnxNames;
  let arguments = (ins Variadic<MP_NumericTensor>:$inputs);
  let results = (outs MP_NumericTensor:$result);
  let hasVerifier = 1;
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mpopt::inferBroadcast(*this, getInputs(), types);
    }
    ::llvm::LogicalResult $cppClass::verify() {
      if (getInputs().empty())
        return emitOpError("needs an operand");
      return ::mlir::success();
    }
  }];
}

let roles = [RoleLimit, RoleLimitsBelow, RolePicks, RoleJointlyHomogeneous] in
def MP_MaxOp : MP_VariadicOp<"max", "the largest, NaN if one is",
  ["maximum", "max.other"], ["Maximum"], ["Max"], [MP_ElementInference]>;
let roles = [RoleLimit, RoleLimitsAbove, RolePicks, RoleJointlyHomogeneous] in
def MP_MinOp : MP_VariadicOp<"min", "the smallest, NaN if one is",
  ["minimum", "min.other"], ["Minimum"], ["Min"], [MP_ElementInference]>;
let roles = [RoleAddition, RoleJointlyHomogeneous] in
def MP_AddNOp : MP_VariadicOp<"add_n", "the sum", ["add"], ["AddN"], ["Sum"]>;
let roles = [RoleSum, RoleJointlyHomogeneous] in
def MP_MeanNOp : MP_VariadicOp<"mean_n", "the sum over the number of operands",
  ["mean"], [], ["Mean"]>;

//===----------------------------------------------------------------------===//
// Three operands
//===----------------------------------------------------------------------===//

def MP_WhereOp : MP_Op<"where", [Pure, MP_ElementInference]> {
  let roles = [RoleSelect, RolePicks, RoleJointlyHomogeneous];
  let summary = "condition ? a : b";
  let description = [{
    Elementwise with NumPy broadcasting of all three. The result has the dtype to
    which `a` and `b` promote.
  }];
  let arguments = (ins MP_BoolTensor:$condition, MP_Tensor:$lhs, MP_Tensor:$rhs);
  let results = (outs MP_Tensor:$result);
  let torch = ["where.self", "where"];
  let tensorflow = ["SelectV2", "Select"];
  let onnx = ["Where"];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index != 0; }
  }];
}

def MP_ClipOp : MP_Op<"clip", [Pure, AttrSizedOperandSegments,
                               MP_ElementInference]> {
  let roles = [RoleLimit, RoleLimitsBelow, RoleLimitsAbove, RolePicks,
    RoleJointlyHomogeneous];
  let summary = "min(max(x, lower), upper)";
  let description = [{
    Elementwise; an omitted bound does not limit. Bounds are scalars in ONNX and
    broadcast in PyTorch. NaN stays NaN. The result has the input's dtype.

    ```mlir
    %0 = mp.clip %x min %low max %high
           : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins MP_NumericTensor:$input,
    Optional<MP_NumericTensor>:$min, Optional<MP_NumericTensor>:$max);
  let results = (outs MP_NumericTensor:$result);
  let torch = ["clamp", "clamp.Tensor"];
  let tensorflow = ["ClipByValue"];
  let onnx = ["Clip"];
  let assemblyFormat = [{
    $input (`min` $min^)? (`max` $max^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

// Three broadcast operands and a factor.
class MP_FusedOp<string mnemonic, string formula, list<string> torchNames>
    : MP_Op<mnemonic, [Pure]> {
  let summary = formula;
  let description = [{
    Elementwise with NumPy broadcasting (PyTorch). The result has the dtype to
    which the operands' promote.
  }];
  let torch = torchNames;
  let arguments = (ins MP_NumericTensor:$input, MP_NumericTensor:$lhs,
    MP_NumericTensor:$rhs, DefaultValuedAttr<F64Attr, "1.0">:$value);
  let results = (outs MP_NumericTensor:$result);
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mpopt::inferBroadcast(*this, (*this)->getOperands(), types);
    }
  }];
}

def MP_AddcmulOp : MP_FusedOp<"addcmul", "x + value * a * b", ["addcmul"]>;
let divisor = 2 in
def MP_AddcdivOp : MP_FusedOp<"addcdiv", "x + value * a / b", ["addcdiv"]>;
def MP_LerpOp : MP_FusedOp<"lerp", "a + weight * (b - a)", ["lerp.Tensor", "lerp"]> {
  let arguments = (ins MP_NumericTensor:$lhs, MP_NumericTensor:$rhs,
    MP_NumericTensor:$weight);
}

#endif // MPOPT_DIALECT_OPS_ELEMENTWISEOPS_TD
