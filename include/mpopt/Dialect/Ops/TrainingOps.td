//===- TrainingOps.td - Gradients and optimisers ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_TRAININGOPS_TD
#define MPOPT_DIALECT_OPS_TRAININGOPS_TD

include "mpopt/Dialect/MPDialect.td"

// Policy tables list no backward op: autograd runs it in the dtype that autocast
// chose for the forward op. So the `torch` names of a gradient end in the name of
// its forward op where that one is on a list.

//===----------------------------------------------------------------------===//
// Gradients of elementwise functions
//===----------------------------------------------------------------------===//

// dY is the gradient of the op's result, dX the one of its input. The result has
// dY's type: formulas over dY and a tensor kept from the forward pass.
class MP_ElementGradOp<string mnemonic, dag others, list<Trait> traits = []>
    : MP_Op<mnemonic, !listconcat([Pure], traits)> {
  let arguments = !con((ins MP_Tensor:$grad), others);
  let results = (outs MP_Tensor:$result);
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(getGrad().getType());
      return ::mlir::success();
    }
  }];
}

def MP_ReluGradOp : MP_ElementGradOp<"relu_grad", (ins MP_Tensor:$input)> {
  let roles = [RoleMakesZeros];
  let gradientOf = "relu";
  let summary = "dY where x > 0, else 0";
  let description = [{ The operand may be relu's input or result. }];
  let torch = ["threshold_backward"];
  let tensorflow = ["ReluGrad"];
  let onnx = ["ReluGrad"];
}
def MP_LeakyReluGradOp : MP_ElementGradOp<"leaky_relu_grad",
    (ins MP_Tensor:$output, F64Attr:$alpha)> {
  let gradientOf = "leaky_relu";
  let summary = "dY where y > 0, else alpha dY";
  let torch = ["leaky_relu_backward"];
  let tensorflow = ["LeakyReluGrad"];
  let onnx = ["LeakyReluGrad"];
}
def MP_SigmoidGradOp : MP_ElementGradOp<"sigmoid_grad", (ins MP_Tensor:$output)> {
  let gradientOf = "sigmoid";
  let summary = "dY y (1 - y), y = sigmoid(x)";
  let torch = ["sigmoid_backward"];
  let tensorflow = ["SigmoidGrad"];
  let onnx = ["SigmoidGrad"];
}
def MP_TanhGradOp : MP_ElementGradOp<"tanh_grad", (ins MP_Tensor:$output)> {
  let gradientOf = "tanh";
  let summary = "dY (1 - y^2), y = tanh(x)";
  let torch = ["tanh_backward"];
  let tensorflow = ["TanhGrad"];
  let onnx = ["TanhGrad"];
}
def MP_GeluGradOp : MP_ElementGradOp<"gelu_grad",
    (ins MP_Tensor:$input, Optional<MP_Tensor>:$bias,
     DefaultValuedStrAttr<StrAttr, "none">:$approximate)> {
  let gradientOf = "gelu";
  let summary = "gradient of GELU";
  let description = [{
    `approximate` is none (dY (cdf(x) + x pdf(x)) of the normal distribution) or
    tanh; x is the input plus `bias`. Source: PyTorch gelu_backward; com.microsoft
    GeluGrad, FastGeluGrad, BiasGeluGrad_dX, BiasFastGeluGrad_dX.
  }];
  let torch = ["gelu_backward"];
  let onnx = ["GeluGrad", "FastGeluGrad", "BiasGeluGrad_dX", "BiasFastGeluGrad_dX"];
  let hasVerifier = 1;
  let assemblyFormat = [{
    $grad `,` $input (`bias` $bias^)? attr-dict `:`
    functional-type(operands, results)
  }];
}
def MP_QuickGeluGradOp : MP_ElementGradOp<"quick_gelu_grad",
    (ins MP_Tensor:$input, DefaultValuedAttr<F64Attr, "1.702">:$alpha)> {
  let gradientOf = "quick_gelu";
  let summary = "gradient of x sigmoid(alpha x)";
  let torch = ["silu_backward"];
  let onnx = ["QuickGeluGrad"];
}
def MP_SoftmaxGradOp : MP_ElementGradOp<"softmax_grad",
    (ins MP_Tensor:$output, I64Attr:$axis,
     DefaultValuedAttr<BoolAttr, "false">:$coerced)> {
  let gradientOf = "softmax";
  let summary = "y (dY - sum(y dY)), y = softmax(x)";
  let description = [{
    The sum goes along `axis`; if `coerced`, over it and all axes behind it, as
    Softmax did before opset 13. Source: com.microsoft SoftmaxGrad,
    SoftmaxGrad_13.
  }];
  let torch = ["_softmax_backward_data", "softmax.int"];
  let onnx = ["SoftmaxGrad", "SoftmaxGrad_13"];
  let hasVerifier = 1;
}
def MP_LogSoftmaxGradOp : MP_ElementGradOp<"log_softmax_grad",
    (ins MP_Tensor:$output, I64Attr:$axis,
     DefaultValuedAttr<BoolAttr, "false">:$coerced)> {
  let gradientOf = "log_softmax";
  let summary = "dY - e^y sum(dY), y = log_softmax(x)";
  let description = [{
    Axes as in mp.softmax_grad. Source: com.microsoft LogSoftmaxGrad,
    LogSoftmaxGrad_13.
  }];
  let torch = ["_log_softmax_backward_data", "log_softmax.int"];
  let onnx = ["LogSoftmaxGrad", "LogSoftmaxGrad_13"];
  let hasVerifier = 1;
}
def MP_DropoutGradOp : MP_ElementGradOp<"dropout_grad",
    (ins MP_Tensor:$mask, Optional<MP_Tensor>:$ratio,
     Optional<MP_Tensor>:$training_mode), [AttrSizedOperandSegments]> {
  let roles = [RoleMakesZeros];
  let gradientOf = "dropout";
  let summary = "dY mask / (1 - ratio)";
  let description = [{ Source: com.microsoft DropoutGrad. }];
  let torch = ["native_dropout_backward"];
  let onnx = ["DropoutGrad"];
  let assemblyFormat = [{
    $grad `,` $mask (`ratio` $ratio^)? (`training` $training_mode^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index == 0; }
  }];
}

//===----------------------------------------------------------------------===//
// Gradients of layers
//===----------------------------------------------------------------------===//

def MP_SoftmaxCrossEntropyGradOp
    : MP_Op<"softmax_cross_entropy_grad", [Pure, AttrSizedOperandSegments]> {
  let gradientOf = "softmax_cross_entropy";
  let summary = "(softmax(x) - onehot(t)) dY, weighted as the loss was";
  let description = [{
    From log_prob [N, C, d...] and class numbers [N, d...]. The loss's gradient is
    1 where it is left out (a loss that nothing follows); `bias` is added to the
    result. Source: com.microsoft SoftmaxCrossEntropyLossGrad and
    SoftmaxCrossEntropyLossInternalGrad.
  }];
  let arguments = (ins Optional<MP_Tensor>:$grad, MP_Tensor:$log_prob,
    MP_Tensor:$target, Optional<MP_Tensor>:$weight, Optional<MP_Tensor>:$ignore,
    Optional<MP_Tensor>:$bias, DefaultValuedStrAttr<StrAttr, "mean">:$reduction,
    OptionalAttr<I64Attr>:$ignore_index, OptionalAttr<TypeAttr>:$output_type);
  let results = (outs MP_Tensor:$result);
  let tensorflow = ["SparseSoftmaxCrossEntropyWithLogits"];
  let torch = ["nll_loss_backward", "cross_entropy_loss"];
  let onnx = ["SoftmaxCrossEntropyLossGrad"];
  let hasVerifier = 1;
  let assemblyFormat = [{
    (`grad` $grad^ `,`)? $log_prob `,` $target (`weight` $weight^)?
    (`ignore` $ignore^)? (`bias` $bias^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index);
  }];
}

def MP_LayerNormGradOp : MP_Op<"layer_norm_grad", [Pure, AttrSizedOperandSegments]> {
  let gradientOf = "layer_norm";
  let summary = "gradients of layer normalisation: input, scale, bias";
  let description = [{
    Normalised axes are those from `axis` on. Mean and inverse deviation come from
    the forward pass, or are computed again from the input with `epsilon`; an
    invertible one is given its output and bias instead of input and mean
    (`from_output`). Source: com.microsoft LayerNormalizationGrad,
    InvertibleLayerNormalizationGrad.
  }];
  let arguments = (ins MP_Tensor:$grad, MP_Tensor:$input, MP_Tensor:$scale,
    Optional<MP_Tensor>:$mean, Optional<MP_Tensor>:$inverse_deviation,
    Optional<MP_Tensor>:$bias, DefaultValuedAttr<I64Attr, "-1">:$axis,
    OptionalAttr<F64Attr>:$epsilon,
    DefaultValuedAttr<BoolAttr, "false">:$from_output);
  let results = (outs MP_Tensor:$input_grad, MP_Tensor:$scale_grad,
    MP_Tensor:$bias_grad);
  let torch = ["native_layer_norm_backward", "native_layer_norm"];
  let onnx = ["LayerNormalizationGrad", "InvertibleLayerNormalizationGrad"];
  let hasVerifier = 1;
  let assemblyFormat = [{
    $grad `,` $input `,` $scale (`mean` $mean^)?
    (`inverse_deviation` $inverse_deviation^)? (`bias` $bias^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def MP_RmsNormGradOp : MP_Op<"rms_norm_grad", [Pure]> {
  let gradientOf = "rms_norm";
  let summary = "gradients of RMS normalisation: input, scale";
  let description = [{
    The inverse root of the mean square comes from the forward pass, or is
    computed again from the input with `epsilon`. Source: com.microsoft
    SimplifiedLayerNormalizationGrad.
  }];
  let arguments = (ins MP_Tensor:$grad, MP_Tensor:$input, MP_Tensor:$scale,
    Optional<MP_Tensor>:$inverse_deviation,
    DefaultValuedAttr<I64Attr, "-1">:$axis, OptionalAttr<F64Attr>:$epsilon);
  let results = (outs MP_Tensor:$input_grad, MP_Tensor:$scale_grad);
  let torch = ["_fused_rms_norm_backward", "rms_norm"];
  let onnx = ["SimplifiedLayerNormalizationGrad"];
  let hasVerifier = 1;
}

def MP_BatchNormGradOp : MP_Op<"batch_norm_grad", [Pure]> {
  let gradientOf = "batch_norm";
  let summary = "gradients of batch normalisation: input, scale, bias";
  let description = [{
    With the batch's mean and variance (or inverse deviation) of the forward pass.
    `frozen`: they are constants, not the batch's, so that dX = dY scale / root.
    Source: com.microsoft BatchNormalizationGrad; PyTorch
    native_batch_norm_backward without `train` for `frozen`.
  }];
  let arguments = (ins MP_Tensor:$grad, MP_Tensor:$input, MP_Tensor:$scale,
    MP_Tensor:$mean, MP_Tensor:$variance, F64Attr:$epsilon, UnitAttr:$frozen);
  let results = (outs MP_Tensor:$input_grad, MP_Tensor:$scale_grad,
    MP_Tensor:$bias_grad);
  let torch = ["native_batch_norm_backward"];
  let tensorflow = ["FusedBatchNormGradV3", "FusedBatchNormGradV2"];
  let onnx = ["BatchNormalizationGrad"];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index < 2; }
  }];
}

def MP_ConvGradOp : MP_Op<"conv_grad", [Pure]> {
  let roles = [RoleContraction];
  let gradientOf = "conv";
  let summary = "gradients of a convolution: input, filter, bias";
  let description = [{
    Attributes as in mp.conv. Source: com.microsoft ConvGrad.
  }];
  let arguments = (ins MP_Tensor:$grad, MP_Tensor:$input, MP_Tensor:$filter,
    OptionalAttr<DenseI64ArrayAttr>:$strides,
    OptionalAttr<DenseI64ArrayAttr>:$dilations,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    DefaultValuedStrAttr<StrAttr, "NOTSET">:$auto_pad,
    DefaultValuedAttr<I64Attr, "1">:$group);
  let results = (outs MP_Tensor:$input_grad, MP_Tensor:$filter_grad,
    MP_Tensor:$bias_grad);
  let torch = ["convolution_backward", "convolution"];
  let tensorflow = ["Conv2DBackpropInput", "Conv2DBackpropFilter"];
  let onnx = ["ConvGrad"];
  let hasVerifier = 1;
}

// Gradients that scatter dY into zeros of a shape given as a tensor.
class MP_ScatterGradOp<string mnemonic, dag others>
    : MP_Op<mnemonic, [Pure]> {
  let arguments = !con((ins MP_Tensor:$grad, MP_Tensor:$shape), others);
  let results = (outs MP_Tensor:$result);
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index == 0; }
  }];
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &facts, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mpopt::mp::inferFromShapeOperand(
          *this, getShape(), getGrad(), facts, types);
    }
  }];
}

def MP_GatherGradOp : MP_ScatterGradOp<"gather_grad",
    (ins MP_Tensor:$indices, DefaultValuedAttr<I64Attr, "0">:$axis,
     DefaultValuedStrAttr<StrAttr, "gather">:$kind,
     DefaultValuedAttr<I64Attr, "0">:$batch_dims,
     OptionalAttr<I64Attr>:$padding_index)> {
  let gradientOf = "gather";
  let summary = "gradient of a gather: dY added up at the indices";
  let description = [{
    `kind` is gather (slices along `axis`), elements (GatherElements) or nd
    (GatherND, with `batch_dims`). Rows of `padding_index` stay 0. Source:
    com.microsoft GatherGrad, GatherElementsGrad, GatherNDGrad; PyTorch
    embedding_dense_backward.
  }];
  let torch = ["embedding_dense_backward", "gather_backward"];
  let onnx = ["GatherGrad", "GatherElementsGrad", "GatherNDGrad"];
  let hasVerifier = 1;
}

def MP_SliceGradOp : MP_ScatterGradOp<"slice_grad",
    (ins Variadic<MP_Tensor>:$bounds)> {
  let gradientOf = "slice";
  let summary = "gradient of a slice: dY among zeros";
  let description = [{
    `bounds` are starts, ends, and where given axes and steps. Source:
    com.microsoft SliceGrad.
  }];
  let torch = ["slice_backward"];
  let tensorflow = ["StridedSliceGrad"];
  let onnx = ["SliceGrad"];
}

def MP_BroadcastGradientArgsOp : MP_Op<"broadcast_gradient_args", [Pure]> {
  let summary = "axes along which operands of two shapes were broadcast";
  let description = [{ Source: com.microsoft BroadcastGradientArgs. }];
  let arguments = (ins MP_Tensor:$first, MP_Tensor:$second);
  let results = (outs MP_Tensor:$first_axes, MP_Tensor:$second_axes);
  let onnx = ["BroadcastGradientArgs"];
}

def MP_GradientOp : MP_Op<"gradient", [Pure]> {
  let summary = "gradients of a graph with respect to some of its tensors";
  let description = [{
    dy/dx for the first `count` operands, each of its operand's type; the others
    are what y depends on too. `of` names y. Source: ONNX
    ai.onnx.preview.training Gradient.
  }];
  let arguments = (ins Variadic<MP_Tensor>:$inputs, I64Attr:$count, StrAttr:$of);
  let results = (outs Variadic<MP_Tensor>:$gradients);
  let onnx = ["Gradient"];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Optimisers
//===----------------------------------------------------------------------===//

// One step of one weight, or of a sequence of weights. `signal` says whether the
// step is done at all (false after an overflow under loss scaling); gradients
// are divided by `loss_scale` and clipped by `norm` where these are given. States
// and weights keep their types.
class MP_OptimizerOp<string mnemonic, dag options = (ins)>
    : MP_Op<mnemonic, [Pure, AttrSizedOperandSegments]> {
  let arguments = !con((ins Optional<MP_Tensor>:$rate, Optional<MP_Tensor>:$step,
      MP_Value:$weight, MP_Value:$gradient, Variadic<MP_Value>:$states,
      Optional<MP_Tensor>:$signal, Optional<MP_Tensor>:$loss_scale,
      Optional<MP_Tensor>:$norm), options);
  let results = (outs MP_Value:$new_weight, Variadic<MP_Value>:$new_states);
  let assemblyFormat = [{
    $weight `,` $gradient (`states` `(` $states^ `)`)? (`rate` $rate^)?
    (`step` $step^)? (`signal` $signal^)? (`loss_scale` $loss_scale^)?
    (`norm` $norm^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let moreDeclarations = [{
    // Master weights and states are what mixed precision keeps wide.
    bool isPrecisionOperand(unsigned) { return false; }
  }];
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(getWeight().getType());
      ::llvm::append_range(types, getStates().getTypes());
      return ::mlir::success();
    }
    ::llvm::LogicalResult $cppClass::verify() {
      return ::mpopt::mp::verifyOptimizer(*this, getWeight(), getGradient(),
                                          getStates(), getNewStates());
    }
  }];
}

def MP_SgdOp : MP_OptimizerOp<"sgd",
    (ins OptionalAttr<F64Attr>:$learning_rate)> {
  let summary = "w - rate g";
  let description = [{
    Source: com.microsoft SGDOptimizer, SGDOptimizerV2; SGD of other exporters.
  }];
  let tensorflow = ["ApplyGradientDescent"];
  let onnx = ["SGD", "SGDOptimizer", "SGDOptimizerV2"];
}

def MP_MomentumOp : MP_OptimizerOp<"momentum",
    (ins F64Attr:$alpha, F64Attr:$beta, F64Attr:$weight_decay,
     DefaultValuedStrAttr<StrAttr, "standard">:$mode)> {
  let summary = "v' = alpha v + beta g; w - rate v'";
  let description = [{
    In the first step beta counts as 1. `mode` nesterov: w - rate (g + alpha v').
    Source: ONNX ai.onnx.preview.training Momentum.
  }];
  let tensorflow = ["ApplyMomentum"];
  let onnx = ["Momentum"];
}

def MP_AdagradOp : MP_OptimizerOp<"adagrad",
    (ins F64Attr:$decay_factor, F64Attr:$epsilon, F64Attr:$weight_decay)> {
  let summary = "h' = h + g^2; w - rate g / (sqrt(h') + epsilon)";
  let description = [{ Source: ONNX ai.onnx.preview.training Adagrad. }];
  let tensorflow = ["ApplyAdagradV2"];
  let onnx = ["Adagrad"];
}

def MP_AdamOp : MP_OptimizerOp<"adam",
    (ins F64Attr:$alpha, F64Attr:$beta, F64Attr:$epsilon, F64Attr:$weight_decay,
     DefaultValuedAttr<BoolAttr, "false">:$decoupled,
     DefaultValuedAttr<BoolAttr, "true">:$correct_bias)> {
  let summary = "m' = alpha m + (1 - alpha) g; v' = beta v + (1 - beta) g^2; "
                "w - rate m' / (sqrt(v') + epsilon)";
  let description = [{
    States m and v. `weight_decay` adds to the gradient, or with `decoupled`
    (AdamW) shrinks the weight. Source: ONNX ai.onnx.preview.training Adam;
    com.microsoft AdamOptimizer, AdamWOptimizer.
  }];
  let tensorflow = ["ApplyAdam"];
  let onnx = ["Adam", "AdamOptimizer", "AdamWOptimizer"];
}

def MP_LambOp : MP_OptimizerOp<"lamb",
    (ins F64Attr:$alpha, F64Attr:$beta, F64Attr:$epsilon, F64Attr:$weight_decay,
     F64Attr:$ratio_min, F64Attr:$ratio_max, F64Attr:$max_norm,
     DefaultValuedAttr<BoolAttr, "true">:$correct_bias)> {
  let summary = "Adam whose step is scaled by |w| / |step|";
  let description = [{ Source: com.microsoft LambOptimizer. }];
  let onnx = ["LambOptimizer"];
}

//===----------------------------------------------------------------------===//
// Loss scaling and gradient accumulation
//===----------------------------------------------------------------------===//

def MP_AccumulateOp : MP_Op<"accumulate", [Pure]> {
  let summary = "sum + value in the sum's dtype, or value if overwriting";
  let description = [{
    The flag is InPlaceAccumulator's `update_signal` (false: the sum stays) or, if
    `overwrites`, InPlaceAccumulatorV2's `overwrite_flag`. Source: com.microsoft
    InPlaceAccumulator, InPlaceAccumulatorV2.
  }];
  let arguments = (ins MP_Tensor:$sum, MP_Tensor:$value,
    Optional<MP_Tensor>:$flag, DefaultValuedAttr<BoolAttr, "false">:$overwrites);
  let results = (outs MP_Tensor:$result);
  let onnx = ["InPlaceAccumulator", "InPlaceAccumulatorV2"];
  let hasVerifier = 1;
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned) { return false; }
  }];
}

def MP_ZeroGradientOp : MP_Op<"zero_gradient", [Pure]> {
  let summary = "zeros of the gradient's type";
  let description = [{ Source: com.microsoft ZeroGradient. }];
  let arguments = (ins MP_Tensor:$grad, MP_Tensor:$signal);
  let results = (outs MP_Tensor:$result);
  let onnx = ["ZeroGradient"];
}

def MP_LossScaleOp : MP_Op<"loss_scale", [Pure]> {
  let degree = "1";
  let summary = "x scale, or x / scale, of a scalar scale";
  let description = [{
    The element type is `output_type`, else the input's: the scale's does not
    promote. Source: com.microsoft Scale, MixedPrecisionScale.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$scale,
    DefaultValuedAttr<BoolAttr, "false">:$divide,
    OptionalAttr<TypeAttr>:$output_type);
  let results = (outs MP_Tensor:$result);
  let onnx = ["Scale", "MixedPrecisionScale"];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index == 0; }
  }];
}

def MP_AllFiniteOp : MP_Op<"all_finite", [Pure]> {
  let summary = "whether no element of any operand is NaN or infinite";
  let description = [{ Source: com.microsoft IsAllFinite. }];
  let arguments = (ins Variadic<MP_Tensor>:$inputs,
    DefaultValuedAttr<BoolAttr, "false">:$only_inf,
    DefaultValuedAttr<BoolAttr, "false">:$only_nan);
  let results = (outs MP_Tensor:$result);
  let tensorflow = ["IsFinite"];
  let onnx = ["IsAllFinite"];
}

def MP_GlobalNormOp : MP_Op<"global_norm", [Pure]> {
  let roles = [RoleInnerSquares];
  let summary = "Euclidean norm of all elements of all operands, as a scalar";
  let description = [{
    In f32 unless the result's dtype is given. Source: com.microsoft ReduceAllL2.
  }];
  let arguments = (ins Variadic<MP_Tensor>:$inputs);
  let results = (outs MP_Tensor:$result);
  let torch = ["linalg_vector_norm"];
  let tensorflow = ["L2Loss"];
  let onnx = ["ReduceAllL2"];
}

def MP_ClipGradNormOp : MP_Op<"clip_grad_norm", [Pure]> {
  let roles = [RoleInnerSquares];
  let summary = "gradients scaled down to a common norm of at most max_norm";
  let description = [{ Source: com.microsoft InplaceClipGradNorm. }];
  let arguments = (ins MP_Value:$gradients, F64Attr:$max_norm);
  let results = (outs MP_Value:$result);
  let onnx = ["InplaceClipGradNorm"];
}

#endif // MPOPT_DIALECT_OPS_TRAININGOPS_TD
