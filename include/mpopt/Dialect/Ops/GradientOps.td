//===- GradientOps.td - Gradients of composites ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector-Jacobian products of ops that a framework differentiates by a kernel of
// its own, so that they are never a chain of small ops here either. Those that
// files of models have, too, are in TrainingOps.td. docs/adjoint.md derives the
// formulas.
//
// The families that are included lend the arguments of their ops; the generator
// is told to look at the ops whose mnemonic ends in `_grad`.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_OPS_GRADIENTOPS_TD
#define MPOPT_DIALECT_OPS_GRADIENTOPS_TD

include "mpopt/Dialect/Ops/ActivationOps.td"
include "mpopt/Dialect/Ops/AttentionOps.td"
include "mpopt/Dialect/Ops/LinearOps.td"
include "mpopt/Dialect/Ops/LossOps.td"
include "mpopt/Dialect/Ops/NormalizationOps.td"
include "mpopt/Dialect/Ops/PoolingOps.td"
include "mpopt/Dialect/Ops/QuantizationOps.td"
include "mpopt/Dialect/Ops/RecurrentOps.td"
include "mpopt/Dialect/Ops/ReductionOps.td"
include "mpopt/Dialect/Ops/ShapeOps.td"
include "mpopt/Dialect/Ops/SignalOps.td"

// Operands are the gradients of the op's float results (dY of the only one), then
// the op's own operands; attributes are the op's own. The results are the
// gradients of the operands that `wanted` numbers, counted among all operands of
// the gradient op, in rising order; each has its operand's type.
class MP_GradOp<Op forward, dag gradients = (ins MP_Tensor:$grad)>
    : MP_Op<forward.opName # "_grad", !listconcat([Pure], !filter(
        trait, forward.traits, !eq(trait, AttrSizedOperandSegments)))> {
  let gradientOf = forward.opName;
  let description = [{
    Operands: the gradients of the op's float results, then those of the op, whose
    attributes it has, too. Each result is the gradient of the operand that its
    element of `wanted` numbers, and has its type. Source: PyTorch's
    derivatives.yaml and the backward kernels that it names.
  }];
  let arguments = !con(gradients, forward.arguments,
                       (ins DenseI64ArrayAttr:$wanted));
  let results = (outs Variadic<MP_Tensor>:$gradients);
  let hasVerifier = 1;
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mpopt::mp::inferGradients(*this, getWanted(), types);
    }
    ::llvm::LogicalResult $cppClass::verify() {
      return ::mpopt::mp::verifyGradients(*this, getWanted());
    }
  }];
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

// dY f'(x); at a kink the slope that PyTorch's kernels take.
class MP_FunctionGradOp<Op forward, string formula,
                        list<string> torchNames = []> : MP_GradOp<forward> {
  let summary = formula;
  let torch = torchNames;
}

let roles = [RoleMakesZeros] in {
def MP_Relu6GradOp : MP_FunctionGradOp<MP_Relu6Op, "dY where 0 < x < 6, else 0",
  ["hardtanh_backward"]>;
def MP_ThresholdedReluGradOp : MP_FunctionGradOp<MP_ThresholdedReluOp,
  "dY where x > alpha, else 0", ["threshold_backward"]>;
def MP_HardSigmoidGradOp : MP_FunctionGradOp<MP_HardSigmoidOp,
  "alpha dY where 0 < alpha x + beta < 1, else 0", ["hardsigmoid_backward"]>;
def MP_HardSwishGradOp : MP_FunctionGradOp<MP_HardSwishOp,
  "dY (x / 3 + 1/2) where -3 < x < 3, 0 below, dY above",
  ["hardswish_backward"]>;
def MP_HardTanhGradOp : MP_FunctionGradOp<MP_HardTanhOp,
  "dY where low < x < high, else 0", ["hardtanh_backward"]>;
def MP_ShrinkGradOp : MP_FunctionGradOp<MP_ShrinkOp,
  "dY where |x| > lambd, else 0",
  ["hardshrink_backward", "softshrink_backward"]>;
}
def MP_EluGradOp : MP_FunctionGradOp<MP_EluOp,
  "dY where x > 0, else dY alpha e^x", ["elu_backward"]>;
def MP_CeluGradOp : MP_FunctionGradOp<MP_CeluOp,
  "dY where x > 0, else dY e^(x / alpha)", ["elu_backward"]>;
def MP_SeluGradOp : MP_FunctionGradOp<MP_SeluOp,
  "dY gamma where x > 0, else dY gamma alpha e^x", ["elu_backward"]>;
def MP_LogSigmoidGradOp : MP_FunctionGradOp<MP_LogSigmoidOp, "dY sigmoid(-x)",
  ["log_sigmoid_backward"]>;
def MP_SoftplusGradOp : MP_FunctionGradOp<MP_SoftplusOp,
  "dY sigmoid(beta x), dY above the threshold", ["softplus_backward"]>;
def MP_MishGradOp : MP_FunctionGradOp<MP_MishOp,
  "dY (t + x sigmoid(x) (1 - t^2)), t = tanh(log(1 + e^x))", ["mish_backward"]>;

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

// dL below is the loss's gradient times what its reduction does: 1 of a sum and
// of no reduction, 1/n of a mean.
class MP_LossGradOp<Op forward, string formula, list<string> torchNames = []>
    : MP_GradOp<forward> {
  let summary = formula;
  let torch = torchNames;
}

def MP_CrossEntropyGradOp : MP_LossGradOp<MP_CrossEntropyOp,
  "dL (w softmax(x) - w q), q the smoothed target", ["cross_entropy_loss"]>;
def MP_NllLossGradOp : MP_LossGradOp<MP_NllLossOp,
  "-dL w[t] at the target, else 0",
  ["nll_loss_backward", "nll_loss2d_backward"]>;
def MP_MultiMarginLossGradOp : MP_LossGradOp<MP_MultiMarginLossOp,
  "dL p w m^(p - 1) / C where the margin m is positive, less their sum "
  "at the target",
  ["multi_margin_loss_backward"]>;
def MP_MseLossGradOp : MP_LossGradOp<MP_MseLossOp, "2 dL (x - t)",
  ["mse_loss_backward", "mse_loss"]>;
def MP_L1LossGradOp : MP_LossGradOp<MP_L1LossOp, "dL sign(x - t)", ["l1_loss"]>;
def MP_SmoothL1LossGradOp : MP_LossGradOp<MP_SmoothL1LossOp,
  "dL min(max((x - t) / beta, -1), 1)",
  ["smooth_l1_loss_backward", "smooth_l1_loss"]>;
def MP_HuberLossGradOp : MP_LossGradOp<MP_HuberLossOp,
  "dL min(max(x - t, -delta), delta)", ["huber_loss_backward", "huber_loss"]>;
def MP_KlDivGradOp : MP_LossGradOp<MP_KlDivOp, "-dL t, -dL e^t with log_target",
  ["kl_div"]>;
def MP_PoissonNllLossGradOp : MP_LossGradOp<MP_PoissonNllLossOp,
  "dL (e^x - t), or dL (1 - t / (x + epsilon))", ["poisson_nll_loss"]>;
def MP_SoftMarginLossGradOp : MP_LossGradOp<MP_SoftMarginLossOp,
  "-dL t sigmoid(-t x)", ["soft_margin_loss_backward", "soft_margin_loss"]>;
def MP_HingeEmbeddingLossGradOp : MP_LossGradOp<MP_HingeEmbeddingLossOp,
  "dL where t = 1, -dL where t = -1 and x < margin", ["hinge_embedding_loss"]>;
def MP_BinaryCrossEntropyGradOp : MP_LossGradOp<MP_BinaryCrossEntropyOp,
  "dL w (x - t) / max(x (1 - x), 1e-12)", ["binary_cross_entropy_backward"]>;
def MP_BinaryCrossEntropyWithLogitsGradOp
    : MP_LossGradOp<MP_BinaryCrossEntropyWithLogitsOp,
  "dL w (sigmoid(x) (1 + (p - 1) t) - p t)",
  ["binary_cross_entropy_with_logits"]>;
def MP_GaussianNllLossGradOp : MP_LossGradOp<MP_GaussianNllLossOp,
  "dL (x - t) / v; by v: dL (1 - (x - t)^2 / v) / (2 v)">;
def MP_MultilabelMarginLossGradOp : MP_LossGradOp<MP_MultilabelMarginLossOp,
  "dL / C for each positive margin, less their sum at its target",
  ["multilabel_margin_loss_backward"]>;
def MP_MarginRankingLossGradOp : MP_LossGradOp<MP_MarginRankingLossOp,
  "-dL t and dL t where the margin is positive, else 0",
  ["margin_ranking_loss"]>;
def MP_CosineEmbeddingLossGradOp : MP_LossGradOp<MP_CosineEmbeddingLossOp,
  "-+dL (b / |b| - cos a / |a|) / |a|", ["cosine_embedding_loss"]>;
def MP_TripletMarginLossGradOp : MP_LossGradOp<MP_TripletMarginLossOp,
  "dL of the two distances' directions where the margin is positive",
  ["triplet_margin_loss"]>;
def MP_CtcLossGradOp : MP_LossGradOp<MP_CtcLossOp,
  "dL (e^x - the paths' posterior of each class)",
  ["_ctc_loss_backward", "ctc_loss.IntList"]>;

// Distances.
def MP_CosineSimilarityGradOp : MP_LossGradOp<MP_CosineSimilarityOp,
  "dY (b / |b| - y a / |a|) / |a|", ["cosine_similarity"]>;
def MP_PdistGradOp : MP_LossGradOp<MP_PdistOp,
  "sums of dY (a - b) |a - b|^(p - 2) / y^(p - 1)",
  ["_pdist_backward", "pdist"]>;
def MP_CdistGradOp : MP_LossGradOp<MP_CdistOp,
  "sums of dY (a - b) |a - b|^(p - 2) / y^(p - 1)",
  ["_cdist_backward", "cdist"]>;
def MP_DistGradOp : MP_LossGradOp<MP_DistOp,
  "dY (a - b) |a - b|^(p - 2) / y^(p - 1)", ["dist"]>;
def MP_RenormGradOp : MP_LossGradOp<MP_RenormOp,
  "dY, and in slices that are scaled m / |x| (dY - x (x . dY) / |x|^2) for p = 2",
  ["renorm"]>;

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

def MP_InstanceNormGradOp : MP_GradOp<MP_InstanceNormOp> {
  let summary = "r (g - mean(g) - n mean(g n)), g = scale dY, n the normalised x; "
                "scale: sum(dY n); bias: sum(dY)";
  let torch = ["native_batch_norm_backward", "instance_norm"];
}
def MP_GroupNormGradOp : MP_GradOp<MP_GroupNormOp> {
  let summary = "r (g - mean(g) - n mean(g n)), g = scale dY, n the normalised x; "
                "scale: sum(dY n); bias: sum(dY)";
  let torch = ["native_group_norm_backward", "group_norm"];
}
def MP_LRNGradOp : MP_GradOp<MP_LRNOp> {
  let summary = "dY s^-beta - 2 alpha beta / size x sum(dY x s^(-beta - 1)), s the "
                "sum that divides";
  let tensorflow = ["LRNGrad"];
}
def MP_LpNormalizeGradOp : MP_GradOp<MP_LpNormalizeOp> {
  let summary = "(dY - n' sum(dY y)) / norm, n' the norm's own gradient";
}
def MP_MeanVarianceNormGradOp : MP_GradOp<MP_MeanVarianceNormOp> {
  let summary = "(dY - mean(dY) - n mean(dY n)) / deviation";
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

class MP_PoolGradOp<Op forward, string formula, list<string> torchNames = []>
    : MP_GradOp<forward> {
  let summary = formula;
  let torch = torchNames;
}

let roles = [RoleMakesZeros] in {
def MP_MaxPoolGradOp : MP_PoolGradOp<MP_MaxPoolOp,
  "dY added up at the first maximum of each window",
  ["max_pool2d_with_indices_backward"]>;
def MP_AdaptiveMaxPoolGradOp : MP_PoolGradOp<MP_AdaptiveMaxPoolOp,
  "dY added up at the first maximum of each window",
  ["adaptive_max_pool2d_backward"]>;
}
def MP_AveragePoolGradOp : MP_PoolGradOp<MP_AveragePoolOp,
  "dY over the window's divisor, added up over windows",
  ["avg_pool2d_backward"]>;
def MP_AdaptiveAvgPoolGradOp : MP_PoolGradOp<MP_AdaptiveAvgPoolOp,
  "dY over the window's size, added up over windows",
  ["_adaptive_avg_pool2d_backward"]>;
def MP_LpPoolGradOp : MP_PoolGradOp<MP_LpPoolOp,
  "x |x|^(p - 2) dY y^(1 - p), added up over windows">;

// Boxes get none, as in torchvision.
def MP_RoiAlignGradOp : MP_PoolGradOp<MP_RoiAlignOp,
  "dY times the weights of the samples over their number", ["roi_align"]>;
def MP_MaxRoiPoolGradOp : MP_PoolGradOp<MP_MaxRoiPoolOp,
  "dY added up at the first maximum of each bin">;

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

def MP_NormGradOp : MP_GradOp<MP_NormOp> {
  let summary = "dY x |x|^(ord - 2) y^(1 - ord), 0 where y is 0";
  let torch = ["linalg_vector_norm"];
}
def MP_ReduceProdGradOp : MP_GradOp<MP_ReduceProdOp> {
  let summary = "dY times the product of the other elements";
  let torch = ["prod.dim_int", "prod"];
}
def MP_CumProdGradOp : MP_GradOp<MP_CumProdOp> {
  let summary = "sums of dY times products without the element";
  let torch = ["cumprod"];
}

//===----------------------------------------------------------------------===//
// Attention and recurrent cells
//===----------------------------------------------------------------------===//

def MP_AttentionGradOp : MP_GradOp<MP_AttentionOp> {
  let summary = "dS = P (dY v^T - rows' sum of P dY v^T); q: scale dS k, "
                "k: scale dS^T q, v: P^T dY";
  let torch = ["_scaled_dot_product_flash_attention_backward",
               "scaled_dot_product_attention"];
}

defvar kStateGradients = (ins Optional<MP_Tensor>:$grad,
  Optional<MP_Tensor>:$last_h_grad);
defvar kCellGradients = (ins Optional<MP_Tensor>:$grad,
  Optional<MP_Tensor>:$next_cell_grad);

// Backward through time. Gradients of results that nothing uses are left out.
def MP_RNNGradOp : MP_GradOp<MP_RNNOp, kStateGradients> {
  let roles = [RoleRecurrent];
  let summary = "f'(a) (dY + R^T of the next step's), step by step";
  let torch = ["_cudnn_rnn_backward", "rnn_tanh.input"];
}
def MP_LSTMGradOp : MP_GradOp<MP_LSTMOp,
    !con(kStateGradients, (ins Optional<MP_Tensor>:$last_c_grad))> {
  let roles = [RoleRecurrent];
  let summary = "backward through time of a long short-term memory";
  let torch = ["_cudnn_rnn_backward", "lstm.input"];
}
def MP_GRUGradOp : MP_GradOp<MP_GRUOp, kStateGradients> {
  let roles = [RoleRecurrent];
  let summary = "backward through time of a gated recurrent unit";
  let torch = ["_cudnn_rnn_backward", "gru.input"];
}
def MP_RNNCellGradOp : MP_GradOp<MP_RNNCellOp> {
  let roles = [RoleRecurrent];
  let summary = "gradients of one step of a simple recurrent network";
  let torch = ["rnn_tanh_cell"];
}
def MP_LSTMCellGradOp : MP_GradOp<MP_LSTMCellOp,
    kCellGradients> {
  let roles = [RoleRecurrent];
  let summary = "gradients of one step of an LSTM";
  let torch = ["_thnn_fused_lstm_cell_backward", "lstm_cell"];
}
def MP_GRUCellGradOp : MP_GradOp<MP_GRUCellOp> {
  let roles = [RoleRecurrent];
  let summary = "gradients of one step of a GRU";
  let torch = ["_thnn_fused_gru_cell_backward", "gru_cell"];
}

//===----------------------------------------------------------------------===//
// Data movement and interpolation
//===----------------------------------------------------------------------===//

def MP_PadGradOp : MP_GradOp<MP_PadOp> {
  let summary = "dY added up at the elements that were copied";
  let torch = ["reflection_pad2d_backward", "replication_pad2d_backward"];
}
def MP_ResizeGradOp : MP_GradOp<MP_ResizeOp> {
  let summary = "dY times the weights of the samples, added up at the elements";
  let torch = ["upsample_bilinear2d_backward", "upsample_nearest2d_backward"];
}
def MP_GridSampleGradOp : MP_GradOp<MP_GridSampleOp> {
  let summary = "dY times the weights of the samples; grid: times their slopes";
  let torch = ["grid_sampler_2d_backward", "grid_sampler"];
}
def MP_DetGradOp : MP_GradOp<MP_DetOp> {
  let summary = "dY det(x) x^-T";
  let torch = ["linalg_det", "det"];
}
def MP_DFTGradOp : MP_GradOp<MP_DFTOp> {
  let summary = "the transform of the opposite sign, of dY";
  let torch = ["fft_fft", "fft_rfft"];
}

//===----------------------------------------------------------------------===//
// Quantisation
//===----------------------------------------------------------------------===//

def MP_FakeQuantizeGradOp : MP_GradOp<MP_FakeQuantizeOp> {
  let roles = [RoleMakesZeros];
  let summary = "dY where x is not clamped, else 0";
  let torch = ["fake_quantize_per_tensor_affine_cachemask_backward",
               "fake_quantize_per_channel_affine_cachemask_backward"];
}
def MP_MatMulNBitsGradOp : MP_GradOp<MP_MatMulNBitsOp> {
  let roles = [RoleContraction];
  let summary = "dY times the dequantised weights; bias: sum(dY)";
  let torch = ["matmul"];
}

//===----------------------------------------------------------------------===//
// Transforms and products of samples
//===----------------------------------------------------------------------===//

def MP_STFTGradOp : MP_GradOp<MP_STFTOp> {
  let summary = "the frames' transforms of the opposite sign, of dY, added up where "
                "the frames were, times the window";
  let torch = ["stft"];
}
def MP_DeformConvGradOp : MP_GradOp<MP_DeformConvOp> {
  let roles = [RoleContraction];
  let summary = "gradients of a convolution's samples, passed on by their weights; "
                "offset: by the slopes of those";
  let torch = ["deform_conv2d"];
}

#endif // MPOPT_DIALECT_OPS_GRADIENTOPS_TD
