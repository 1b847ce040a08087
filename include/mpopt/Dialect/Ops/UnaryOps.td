//===- UnaryOps.td - Elementwise functions -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the Elementwise family that has one operand. ElementwiseOps.td
// includes it. Importers find the functions of one number by the names that
// their records have (Import/FunctionOps.h).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_OPS_UNARYOPS_TD
#define MPOPT_DIALECT_OPS_UNARYOPS_TD

include "mpopt/Dialect/MPDialect.td"

defvar MP_ElementInference = DeclareOpInterfaceMethods<ElementInferenceOpInterface>;

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

// The result has the operand's type.
class MP_UnaryOp<string mnemonic, string formula, list<string> torchNames,
                 list<string> tensorflowNames, list<string> onnxNames,
                 Type operand = MP_FloatTensor, list<Trait> traits = []>
    : MP_Op<mnemonic, !listconcat([Pure], traits)> {
  let summary = formula;
  let description = "Elementwise; the result has the operand's shape and dtype.";
  let torch = torchNames;
  let tensorflow = tensorflowNames;
  let onnx = onnxNames;
  let arguments = (ins operand:$input);
  let results = (outs operand:$result);
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(getInput().getType());
      return ::mlir::success();
    }
  }];
}

// Sign and rounding.
let roles = [RoleKeepsMagnitude, RoleKeepsZeros], degree = "1" in
def MP_AbsOp : MP_UnaryOp<"abs", "|x|", ["abs", "absolute"], ["Abs"], ["Abs"],
  MP_NumericTensor, [MP_ElementInference]>;
let roles = [RoleNegation, RoleKeepsMagnitude, RoleKeepsZeros], degree = "1" in
def MP_NegOp : MP_UnaryOp<"neg", "-x", ["neg", "negative"], ["Neg"], ["Neg"],
  MP_NumericTensor, [MP_ElementInference]>;
let roles = [RoleMakesZeros], degree = "0" in
def MP_SignOp : MP_UnaryOp<"sign", "-1, 0 or 1", ["sign", "sgn"], ["Sign"], ["Sign"],
  MP_NumericTensor, [MP_ElementInference]>;
let roles = [RoleMakesZeros] in
def MP_FloorOp : MP_UnaryOp<"floor", "the next integer below", ["floor"],
  ["Floor"], ["Floor"], MP_NumericTensor, [MP_ElementInference]>;
let roles = [RoleMakesZeros] in
def MP_CeilOp : MP_UnaryOp<"ceil", "the next integer above", ["ceil"], ["Ceil"],
  ["Ceil"], MP_NumericTensor, [MP_ElementInference]>;
let roles = [RoleMakesZeros] in
def MP_RoundOp : MP_UnaryOp<"round", "the nearest integer, ties to even",
  ["round"], ["Round"], ["Round"], MP_NumericTensor, [MP_ElementInference]>;
let roles = [RoleMakesZeros] in
def MP_TruncOp : MP_UnaryOp<"trunc", "the next integer toward zero",
  ["trunc", "fix"],
  [], [], MP_NumericTensor, [MP_ElementInference]>;

// Powers and roots.
let roles = [RoleRoot, RoleKeepsZeros], degree = "0.5" in
def MP_SqrtOp : MP_UnaryOp<"sqrt", "square root", ["sqrt"], ["Sqrt"], ["Sqrt"]>;
let roles = [RoleRoot, RoleReciprocal, RolePoleAtZero, RoleNeverZero], degree =
    "-0.5" in
def MP_RsqrtOp : MP_UnaryOp<"rsqrt", "1 / sqrt(x)", ["rsqrt"], ["Rsqrt"], []>;
let roles = [RoleReciprocal, RolePoleAtZero, RoleNeverZero], divisor = 0,
    degree = "-1" in
def MP_ReciprocalOp : MP_UnaryOp<"reciprocal", "1 / x", ["reciprocal"],
  ["Reciprocal", "Inv"], ["Reciprocal"]>;
let roles = [RoleSquare], degree = "2" in
def MP_SquareOp : MP_UnaryOp<"square", "x^2", ["square"], ["Square"], [],
  MP_NumericTensor>;

// Exponentials and logarithms.
let roles = [RoleExponential, RoleNeverZero, RoleMaskable] in
def MP_ExpOp : MP_UnaryOp<"exp", "e^x", ["exp"], ["Exp"], ["Exp"]>;
let roles = [RoleExponential, RoleNeverZero, RoleMaskable] in
def MP_Exp2Op : MP_UnaryOp<"exp2", "2^x", ["exp2", "special_exp2"], [], []>;
let roles = [RoleExponential] in
def MP_Expm1Op : MP_UnaryOp<"expm1", "e^x - 1",
  ["expm1", "special_expm1"], ["Expm1"], []>;
let roles = [RoleLogarithm, RolePoleAtZero] in
def MP_LogOp : MP_UnaryOp<"log", "natural logarithm", ["log"], ["Log"], ["Log"]>;
let roles = [RoleLogarithm, RolePoleAtZero] in
def MP_Log2Op : MP_UnaryOp<"log2", "binary logarithm", ["log2"], [], []>;
let roles = [RoleLogarithm, RolePoleAtZero] in
def MP_Log10Op : MP_UnaryOp<"log10", "decimal logarithm", ["log10"], [], []>;
let roles = [RoleLogarithm] in
def MP_Log1pOp : MP_UnaryOp<"log1p", "log(1 + x)",
  ["log1p", "special_log1p"], ["Log1p"], []>;

// Trigonometry.
let roles = [RolePeriodic] in
def MP_SinOp : MP_UnaryOp<"sin", "sine", ["sin"], ["Sin"], ["Sin"]>;
let roles = [RolePeriodic] in
def MP_CosOp : MP_UnaryOp<"cos", "cosine", ["cos"], ["Cos"], ["Cos"]>;
let roles = [RolePeriodic, RoleSteep] in
def MP_TanOp : MP_UnaryOp<"tan", "tangent", ["tan"], ["Tan"], ["Tan"]>;
let roles = [RoleSteep, RoleArc] in
def MP_AsinOp : MP_UnaryOp<"asin", "arc sine",
  ["asin", "arcsin"], ["Asin"], ["Asin"]>;
let roles = [RoleSteep, RoleArc] in
def MP_AcosOp : MP_UnaryOp<"acos", "arc cosine",
  ["acos", "arccos"], ["Acos"], ["Acos"]>;
let roles = [RoleSaturating] in
def MP_AtanOp : MP_UnaryOp<"atan", "arc tangent",
  ["atan", "arctan"], ["Atan"], ["Atan"]>;
let roles = [RoleExponential] in
def MP_SinhOp : MP_UnaryOp<"sinh", "hyperbolic sine", ["sinh"], ["Sinh"], ["Sinh"]>;
let roles = [RoleExponential, RoleNeverZero] in
def MP_CoshOp : MP_UnaryOp<"cosh", "hyperbolic cosine", ["cosh"], ["Cosh"], ["Cosh"]>;
let roles = [RoleSaturating] in
def MP_TanhOp : MP_UnaryOp<"tanh", "hyperbolic tangent", ["tanh"], ["Tanh"], ["Tanh"]>;
def MP_AsinhOp : MP_UnaryOp<"asinh", "inverse of sinh",
  ["asinh", "arcsinh"], ["Asinh"], ["Asinh"]>;
def MP_AcoshOp : MP_UnaryOp<"acosh", "inverse of cosh",
  ["acosh", "arccosh"], ["Acosh"], ["Acosh"]>;
let roles = [RoleSteep, RoleArc] in
def MP_AtanhOp : MP_UnaryOp<"atanh", "inverse of tanh",
  ["atanh", "arctanh"], ["Atanh"], ["Atanh"]>;

// The error function; ONNX has it for integers too.
let roles = [RoleSaturating] in
def MP_ErfOp : MP_UnaryOp<"erf", "2/sqrt(pi) * integral of e^(-t^2) from 0 to x",
  ["erf", "special_erf"], ["Erf"], ["Erf"], MP_NumericTensor>;
let roles = [RoleSaturating, RoleNeverZero] in
def MP_ErfcOp : MP_UnaryOp<"erfc", "1 - erf(x)",
  ["erfc", "special_erfc"], ["Erfc"], []>;
let roles = [RoleSteep] in
def MP_ErfinvOp : MP_UnaryOp<"erfinv", "inverse of erf",
  ["erfinv", "special_erfinv"], ["Erfinv"], []>;
def MP_LogNdtrOp : MP_UnaryOp<"log_ndtr", "log(P(normal variable < x))",
  ["special_log_ndtr"], [], []>;

// Bits.
def MP_LogicalNotOp : MP_UnaryOp<"logical_not", "not x", ["logical_not"],
  ["LogicalNot"], ["Not"], MP_BoolTensor, [MP_ElementInference]>;
def MP_BitwiseNotOp : MP_UnaryOp<"bitwise_not", "every bit inverted",
  ["bitwise_not"], ["Invert"], ["BitwiseNot"], MP_IntegerTensor,
  [MP_ElementInference]>;

// A property of the operand, as a boolean of its shape.
class MP_PredicateOp<string mnemonic, string text, list<string> torchNames,
                     list<string> tensorflowNames, list<string> onnxNames>
    : MP_Op<mnemonic, [Pure]> {
  let summary = text;
  let description = "Elementwise; the result is `i1` of the operand's shape.";
  let torch = torchNames;
  let tensorflow = tensorflowNames;
  let onnx = onnxNames;
  let arguments = (ins MP_NumericTensor:$input);
  let results = (outs MP_BoolTensor:$result);
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &facts,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mpopt::inferBroadcast(*this, getInput(), types,
          ::mlir::IntegerType::get(getContext(), 1));
    }
  }];
}

def MP_IsNanOp : MP_PredicateOp<"is_nan", "whether x is NaN", ["isnan"],
  ["IsNan"], ["IsNaN"]>;
def MP_IsFiniteOp : MP_PredicateOp<"is_finite", "whether x is neither Inf nor NaN",
  ["isfinite"], ["IsFinite"], []>;
def MP_IsInfOp : MP_PredicateOp<"is_inf", "whether x is infinite", ["isinf"],
  ["IsInf"], ["IsInf"]> {
  let description = [{
    Elementwise; the result is `i1` of the operand's shape. Infinities of a sign
    whose attribute is false do not count.
  }];
  let arguments = (ins MP_NumericTensor:$input,
    DefaultValuedAttr<BoolAttr, "true">:$detect_negative,
    DefaultValuedAttr<BoolAttr, "true">:$detect_positive);
}

def MP_BitCastOp : MP_Op<"bit_cast", [Pure]> {
  let summary = "the same bits read as another element type";
  let description = [{
    Both element types are equally wide, so that the shape stays (ONNX BitCast).
  }];
  let arguments = (ins MP_NumericTensor:$input);
  let results = (outs MP_NumericTensor:$result);
  let torch = ["view.dtype"];
  let tensorflow = ["Bitcast"];
  let onnx = ["BitCast"];
  let hasVerifier = 1;
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned) { return false; }
  }];
}

#endif // MPOPT_DIALECT_OPS_UNARYOPS_TD
