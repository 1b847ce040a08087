//===- ActivationOps.td - Activation functions -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_ACTIVATIONOPS_TD
#define MPOPT_DIALECT_OPS_ACTIVATIONOPS_TD

include "mpopt/Dialect/MPDialect.td"

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

// The result has the input's type. Formulas with numbers name them as attributes.
class MP_ActivationOp<string mnemonic, string formula, list<string> torchNames,
                      list<string> tensorflowNames, list<string> onnxNames,
                      dag attributes = (ins), Type operand = MP_FloatTensor>
    : MP_Op<mnemonic, [Pure]> {
  let summary = formula;
  let description = "Elementwise; the result has the input's shape and dtype.";
  let torch = torchNames;
  let tensorflow = tensorflowNames;
  let onnx = onnxNames;
  let arguments = !con((ins operand:$input), attributes);
  let results = (outs operand:$result);
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(getInput().getType());
      return ::mlir::success();
    }
  }];
}

// Piecewise linear.
let roles = [RoleRectifier, RoleMakesZeros, RolePicks, RoleLayer], degree = "1"
    in
def MP_ReluOp : MP_ActivationOp<"relu", "max(0, x)", ["relu"], ["Relu"],
  ["Relu"], (ins), MP_NumericTensor>;
let roles = [RoleRectifier, RoleMakesZeros, RoleLimitsAbove, RolePicks,
    RoleLayer] in
def MP_Relu6Op : MP_ActivationOp<"relu6", "min(max(0, x), 6)", ["relu6"],
  ["Relu6"], [], (ins), MP_NumericTensor>;
let roles = [RoleRectifier, RoleLayer], degree = "1" in
def MP_LeakyReluOp : MP_ActivationOp<"leaky_relu", "x < 0 ? alpha * x : x",
  ["leaky_relu"], ["LeakyRelu"], ["LeakyRelu"],
  (ins DefaultValuedAttr<F64Attr, "0.01">:$alpha)>;
let roles = [RoleRectifier, RoleMakesZeros, RolePicks, RoleLayer] in
def MP_ThresholdedReluOp : MP_ActivationOp<"thresholded_relu",
  "x > alpha ? x : 0", ["threshold"], [], ["ThresholdedRelu"],
  (ins DefaultValuedAttr<F64Attr, "1.0">:$alpha)>;
let roles = [RoleMakesZeros, RoleLimitsAbove, RoleSaturating] in
def MP_HardSigmoidOp : MP_ActivationOp<"hard_sigmoid",
  "min(max(0, alpha * x + beta), 1)", ["hardsigmoid"], [], ["HardSigmoid"],
  (ins DefaultValuedAttr<F64Attr, "0.2">:$alpha,
       DefaultValuedAttr<F64Attr, "0.5">:$beta)>;
let roles = [RoleMakesZeros, RoleLayer] in
def MP_HardSwishOp : MP_ActivationOp<"hard_swish",
  "x * min(max(0, x / 6 + 0.5), 1)", ["hardswish"], [], ["HardSwish"]>;
def MP_HardTanhOp : MP_ActivationOp<"hard_tanh", "min(max(low, x), high)",
  ["hardtanh"], [], [], (ins DefaultValuedAttr<F64Attr, "-1.0">:$low,
                             DefaultValuedAttr<F64Attr, "1.0">:$high)> {
  let roles = [RoleLimitsAbove, RolePicks, RoleSaturating];
  let hasVerifier = 1;
}
def MP_ShrinkOp : MP_ActivationOp<"shrink",
  "x < -lambd ? x + bias : x > lambd ? x - bias : 0",
  ["hardshrink", "softshrink"], [], ["Shrink"],
  (ins DefaultValuedAttr<F64Attr, "0.5">:$lambd,
       DefaultValuedAttr<F64Attr, "0.0">:$bias), MP_NumericTensor> {
  let roles = [RoleMakesZeros];
  let description = [{
    Elementwise; the result has the input's shape and dtype. PyTorch's hardshrink
    has bias 0, its softshrink has bias = lambd.
  }];
}

// With an exponential.
let roles = [RoleInnerExponential, RoleLayer] in
def MP_EluOp : MP_ActivationOp<"elu", "x < 0 ? alpha * (e^x - 1) : x", ["elu"],
  ["Elu"], ["Elu"], (ins DefaultValuedAttr<F64Attr, "1.0">:$alpha)>;
def MP_CeluOp : MP_ActivationOp<"celu",
  "max(0, x) + min(0, alpha * (e^(x / alpha) - 1))", ["celu"], [], ["Celu"],
  (ins DefaultValuedAttr<F64Attr, "1.0">:$alpha)> {
  let roles = [RoleInnerExponential, RoleLayer];
  let hasVerifier = 1;
}
let roles = [RoleInnerExponential, RoleLayer] in
def MP_SeluOp : MP_ActivationOp<"selu",
  "gamma * (x > 0 ? x : alpha * (e^x - 1))", ["selu"], ["Selu"], ["Selu"],
  (ins DefaultValuedAttr<F64Attr, "1.6732632423543772">:$alpha,
       DefaultValuedAttr<F64Attr, "1.0507009873554805">:$gamma)>;
let roles = [RoleInnerExponential, RoleSaturating, RoleProbability,
    RoleNeverZero] in
def MP_SigmoidOp : MP_ActivationOp<"sigmoid", "1 / (1 + e^-x)",
  ["sigmoid", "special_expit"], ["Sigmoid"], ["Sigmoid"]>;
let roles = [RoleInnerExponential] in
def MP_LogSigmoidOp : MP_ActivationOp<"log_sigmoid", "log(1 / (1 + e^-x))",
  ["log_sigmoid"], [], []>;
def MP_SoftplusOp : MP_ActivationOp<"softplus", "log(1 + e^(beta * x)) / beta",
  ["softplus"], ["Softplus"], ["Softplus"],
  (ins DefaultValuedAttr<F64Attr, "1.0">:$beta,
       OptionalAttr<F64Attr>:$threshold)> {
  let roles = [RoleInnerExponential, RoleNeverZero];
  let description = [{
    Elementwise; the result has the input's shape and dtype. Where `beta * x` is
    above `threshold` (PyTorch: 20), the result is x itself.
  }];
  let hasVerifier = 1;
}
let roles = [RoleSaturating] in
def MP_SoftsignOp : MP_ActivationOp<"softsign", "x / (1 + |x|)", ["softsign"],
  ["Softsign"], ["Softsign"]>;
def MP_TanhShrinkOp : MP_ActivationOp<"tanh_shrink", "x - tanh(x)", [], [], []>;
let roles = [RoleInnerExponential, RoleLayer] in
def MP_MishOp : MP_ActivationOp<"mish", "x * tanh(log(1 + e^x))", ["mish"], [],
  ["Mish"]>;
let roles = [RoleInnerExponential, RoleLayer] in
def MP_SiluOp : MP_ActivationOp<"silu", "x / (1 + e^(-alpha * x))", ["silu"],
  [], ["Swish"], (ins DefaultValuedAttr<F64Attr, "1.0">:$alpha)>;
let roles = [RoleInnerExponential, RoleLayer] in
def MP_QuickGeluOp : MP_ActivationOp<"quick_gelu", "x / (1 + e^(-alpha * x))",
  ["sigmoid", "mul"], [], ["com.microsoft::QuickGelu"],
  (ins DefaultValuedAttr<F64Attr, "1.702">:$alpha)>;
def MP_GeluOp : MP_ActivationOp<"gelu", "x * P(normal variable < x)", ["gelu"],
  [], ["Gelu"], (ins DefaultValuedAttr<StrAttr, "\"none\"">:$approximate)> {
  let roles = [RoleInnerExponential, RoleLayer];
  let description = [{
    Elementwise; the result has the input's shape and dtype. `approximate` is
    `none`, 0.5 x (1 + erf(x / sqrt(2))), or `tanh`,
    0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
  }];
  let hasVerifier = 1;
}

// Two operands.
def MP_PReluOp : MP_Op<"prelu", [Pure]> {
  let roles = [RoleRectifier, RoleLayer];
  let degree = "1";
  let summary = "x < 0 ? slope * x : x";
  let description = [{
    The slope broadcasts to the input's shape as in NumPy; the result has the
    input's shape and the dtype to which both promote.
  }];
  let arguments = (ins MP_NumericTensor:$input, MP_NumericTensor:$slope);
  let results = (outs MP_NumericTensor:$result);
  let torch = ["prelu"];
  let onnx = ["PRelu"];
}
def MP_SwigluOp : MP_Op<"swiglu", [Pure]> {
  let roles = [RoleInnerExponential, RoleLayer];
  let summary = "gate / (1 + e^(-alpha * gate)) * value";
  let description = [{
    Elementwise on two tensors of one shape (ONNX SwiGLU); the result has the
    dtype to which both promote.
  }];
  let arguments = (ins MP_FloatTensor:$gate, MP_FloatTensor:$value,
    DefaultValuedAttr<F64Attr, "1.0">:$alpha);
  let results = (outs MP_FloatTensor:$result);
  let torch = ["silu"];
  let onnx = ["SwiGLU"];
}

//===----------------------------------------------------------------------===//
// Along an axis
//===----------------------------------------------------------------------===//

// The result has the input's type. With `flatten` the input is first taken as a
// matrix, the dims from `axis` on being its columns, and each row is normalised
// as a whole (ONNX before opset 13).
class MP_SoftmaxLikeOp<string mnemonic, string formula, list<string> torchNames,
                       list<string> tensorflowNames, list<string> onnxNames>
    : MP_ActivationOp<mnemonic, formula, torchNames, tensorflowNames, onnxNames,
        (ins DefaultValuedAttr<I64Attr, "-1">:$axis, UnitAttr:$flatten)> {
  let description = [{
    Along `axis`; with `flatten` along that axis and all behind it as one (ONNX
    before opset 13). The result has the input's shape and dtype.
  }];
  let hasVerifier = 1;
}

let roles = [RoleSoftmax, RoleExponentialSum, RoleMaskable, RoleProbability,
    RoleNeverZero] in
def MP_SoftmaxOp : MP_SoftmaxLikeOp<"softmax", "e^x / sum(e^x)",
  ["softmax.int"], ["Softmax"], ["Softmax"]>;
let roles = [RoleSoftmax, RoleExponentialSum, RoleMaskable] in
def MP_LogSoftmaxOp : MP_SoftmaxLikeOp<"log_softmax", "x - log(sum(e^x))",
  ["log_softmax.int"], ["LogSoftmax"], ["LogSoftmax"]>;
let roles = [RoleSoftmax, RoleExponentialSum, RoleNeverZero] in
def MP_SoftminOp : MP_SoftmaxLikeOp<"softmin", "e^-x / sum(e^-x)",
  ["softmin", "softmax.int"], [], []>;
let roles = [RoleMakesZeros], degree = "0" in
def MP_HardmaxOp : MP_SoftmaxLikeOp<"hardmax",
  "1 at the first maximum, 0 elsewhere", [], [], ["Hardmax"]>;

#endif // MPOPT_DIALECT_OPS_ACTIVATIONOPS_TD
