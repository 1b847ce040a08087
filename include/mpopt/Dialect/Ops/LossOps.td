//===- LossOps.td - Losses ---------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_LOSSOPS_TD
#define MPOPT_DIALECT_OPS_LOSSOPS_TD

include "mpopt/Dialect/MPDialect.td"

def MP_Reduction : ConfinedAttr<StrAttr, [AttrConstraint<
  CPred<"::llvm::is_contained({\"none\", \"mean\", \"sum\", \"batchmean\"}, "
        "::llvm::cast<::mlir::StringAttr>($_self).getValue())">,
  "none, mean, sum or batchmean">]>;
defvar MP_MeanReduction = DefaultValuedStrAttr<MP_Reduction, "mean">;

//===----------------------------------------------------------------------===//
// Losses over classes
//===----------------------------------------------------------------------===//

// Input [N, C, d...], class numbers [N, d...], an optional weight a class [C].
// Without reduction the result has the target's shape, else it is a scalar: the
// sum, or the sum over the weights' sum.

class MP_ClassLossOp<string mnemonic, list<Trait> traits = []>
    : MP_Op<mnemonic, !listconcat([Pure], traits)> {
  let assemblyFormat = [{
    $input `,` $target (`weight` $weight^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index != 1; }
  }];
}

def MP_SoftmaxCrossEntropyOp : MP_ClassLossOp<"softmax_cross_entropy",
    [AttrSizedOperandSegments]> {
  let roles = [RoleLoss];
  let summary = "cross entropy of scores, and their log-softmax";
  let description = [{
    log_prob = log_softmax(input, axis = 1), of the input's shape;
    loss = -weight[t] * log_prob[t]. Targets of `ignore_index` count nothing; it
    may be an operand in ONNX Runtime's training graphs. Source: ONNX
    SoftmaxCrossEntropyLoss.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$target,
    Optional<MP_Tensor>:$weight, Optional<MP_Tensor>:$ignore,
    MP_MeanReduction:$reduction, OptionalAttr<I64Attr>:$ignore_index,
    OptionalAttr<TypeAttr>:$output_type);
  let results = (outs MP_Tensor:$loss, MP_Tensor:$log_prob);
  let assemblyFormat = [{
    $input `,` $target (`weight` $weight^)? (`ignore` $ignore^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) {
      return index == 0 || (index == 2 && getWeight());
    }
  }];
  let torch = ["cross_entropy_loss", "nn.functional.cross_entropy"];
  let tensorflow = ["SparseSoftmaxCrossEntropyWithLogits",
                    "SoftmaxCrossEntropyWithLogits"];
  let onnx = ["SoftmaxCrossEntropyLoss"];
}

def MP_CrossEntropyOp : MP_ClassLossOp<"cross_entropy"> {
  let roles = [RoleLoss];
  let summary = "cross entropy of scores";
  let description = [{
    As mp.softmax_cross_entropy, with PyTorch's options: a target of floats is a
    distribution over the classes, of the input's shape; `label_smoothing` mixes
    the uniform one in. Without a batch, input [C] and a scalar target.
    Source: PyTorch cross_entropy.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$target,
    Optional<MP_Tensor>:$weight, MP_MeanReduction:$reduction,
    OptionalAttr<I64Attr>:$ignore_index,
    DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing);
  let results = (outs MP_Tensor:$loss);
  let torch = ["cross_entropy_loss", "nn.functional.cross_entropy"];
  let tensorflow = ["SoftmaxCrossEntropyWithLogits",
                    "SparseSoftmaxCrossEntropyWithLogits"];
  let onnx = ["SoftmaxCrossEntropyLoss"];
}

def MP_NllLossOp : MP_ClassLossOp<"nll_loss"> {
  let roles = [RoleLoss];
  let summary = "negative log likelihood of log-probabilities";
  let description = [{
    loss = -weight[t] * input[t]. Without a batch, input [C] and a scalar target.
    Source: ONNX NegativeLogLikelihoodLoss, PyTorch nll_loss.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$target,
    Optional<MP_Tensor>:$weight, MP_MeanReduction:$reduction,
    OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs MP_Tensor:$loss);
  let torch = ["nll_loss", "nll_loss2d", "nll_loss_nd"];
  let onnx = ["NegativeLogLikelihoodLoss"];
}

def MP_MultiMarginLossOp : MP_ClassLossOp<"multi_margin_loss"> {
  let roles = [RoleLoss];
  let summary = "hinge loss over classes";
  let description = [{
    sum over i != t of max(0, weight[t] * (margin - x[t] + x[i]))^p / C.
    Source: PyTorch multi_margin_loss.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$target,
    Optional<MP_Tensor>:$weight, MP_MeanReduction:$reduction,
    DefaultValuedAttr<F64Attr, "1.0">:$p,
    DefaultValuedAttr<F64Attr, "1.0">:$margin);
  let results = (outs MP_Tensor:$loss);
  let torch = ["multi_margin_loss"];
}

//===----------------------------------------------------------------------===//
// Losses of two tensors of one shape
//===----------------------------------------------------------------------===//

// PyTorch's: input and target broadcast; `reduction` none keeps the shape.
class MP_TorchLossOp<string mnemonic, dag options = (ins)>
    : MP_Op<mnemonic, [Pure]> {
  let arguments = !con((ins MP_Tensor:$input, MP_Tensor:$target,
                            MP_MeanReduction:$reduction), options);
  let results = (outs MP_Tensor:$loss);
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mpopt::mp::inferBroadcastLoss(*this, getReduction(), types);
    }
  }];
}

// The same with weights that broadcast.
class MP_WeightedLossOp<string mnemonic, dag weights, dag options, list<Trait> traits = []>
    : MP_Op<mnemonic, !listconcat([Pure], traits)> {
  let arguments = !con((ins MP_Tensor:$input, MP_Tensor:$target), weights,
                       (ins MP_MeanReduction:$reduction), options);
  let results = (outs MP_Tensor:$loss);
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mpopt::mp::inferBroadcastLoss(*this, getReduction(), types);
    }
  }];
}

def MP_MseLossOp : MP_TorchLossOp<"mse_loss"> {
  let roles = [RoleLoss];
  let summary = "(x - t)^2";
  let torch = ["mse_loss"];
  let tensorflow = ["SquaredDifference"];
}
def MP_L1LossOp : MP_TorchLossOp<"l1_loss"> {
  let roles = [RoleLoss];
  let summary = "|x - t|";
  let torch = ["l1_loss"];
}
def MP_SmoothL1LossOp : MP_TorchLossOp<"smooth_l1_loss",
    (ins DefaultValuedAttr<F64Attr, "1.0">:$beta)> {
  let roles = [RoleLoss];
  let summary = "d^2 / (2 beta) where d = |x - t| < beta, else d - beta / 2";
  let torch = ["smooth_l1_loss"];
}
def MP_HuberLossOp : MP_TorchLossOp<"huber_loss",
    (ins DefaultValuedAttr<F64Attr, "1.0">:$delta)> {
  let roles = [RoleLoss];
  let summary = "d^2 / 2 where d = |x - t| <= delta, else delta (d - delta / 2)";
  let torch = ["huber_loss"];
}
def MP_KlDivOp : MP_TorchLossOp<"kl_div",
    (ins DefaultValuedAttr<BoolAttr, "false">:$log_target)> {
  let roles = [RoleLoss];
  let summary = "t (log t - x), of log-probabilities x";
  let description = [{
    With `log_target`, exp(t) (t - x). `batchmean` is the sum over the batch size.
    Source: PyTorch kl_div.
  }];
  let torch = ["kl_div"];
}
def MP_PoissonNllLossOp : MP_TorchLossOp<"poisson_nll_loss",
    (ins DefaultValuedAttr<BoolAttr, "true">:$log_input,
     DefaultValuedAttr<BoolAttr, "false">:$full,
     DefaultValuedAttr<F64Attr, "1e-8">:$epsilon)> {
  let roles = [RoleLoss];
  let summary = "e^x - t x, or x - t log(x + epsilon) without log_input";
  let description = [{
    `full` adds Stirling's term for t > 1. Source: PyTorch poisson_nll_loss.
  }];
  let torch = ["poisson_nll_loss"];
}
def MP_SoftMarginLossOp : MP_TorchLossOp<"soft_margin_loss"> {
  let roles = [RoleLoss];
  let summary = "log(1 + e^(-t x))";
  let torch = ["soft_margin_loss"];
}
def MP_HingeEmbeddingLossOp : MP_TorchLossOp<"hinge_embedding_loss",
    (ins DefaultValuedAttr<F64Attr, "1.0">:$margin)> {
  let roles = [RoleLoss];
  let summary = "x where t = 1, max(0, margin - x) where t = -1";
  let torch = ["hinge_embedding_loss"];
}
def MP_BinaryCrossEntropyOp : MP_WeightedLossOp<"binary_cross_entropy",
    (ins Optional<MP_Tensor>:$weight), (ins)> {
  let roles = [RoleLoss];
  let summary = "-w (t log x + (1 - t) log(1 - x)), of probabilities x";
  let description = [{
    Logarithms are clamped to -100 from below. Source: PyTorch
    binary_cross_entropy.
  }];
  let torch = ["binary_cross_entropy"];
  let assemblyFormat = [{
    $input `,` $target (`weight` $weight^)? attr-dict `:`
    functional-type(operands, results)
  }];
}
def MP_BinaryCrossEntropyWithLogitsOp
    : MP_WeightedLossOp<"binary_cross_entropy_with_logits",
    (ins Optional<MP_Tensor>:$weight, Optional<MP_Tensor>:$pos_weight), (ins),
    [AttrSizedOperandSegments]> {
  let roles = [RoleLoss];
  let summary = "binary cross entropy of sigmoid(x)";
  let description = [{
    w ((1 - t) x + (1 + (p - 1) t) log(1 + e^-x)), p the weight of positives.
    Source: PyTorch binary_cross_entropy_with_logits.
  }];
  let torch = ["binary_cross_entropy_with_logits"];
  let assemblyFormat = [{
    $input `,` $target (`weight` $weight^)? (`positives` $pos_weight^)?
    attr-dict `:` functional-type(operands, results)
  }];
}
def MP_GaussianNllLossOp : MP_WeightedLossOp<"gaussian_nll_loss",
    (ins MP_Tensor:$variance),
    (ins DefaultValuedAttr<BoolAttr, "false">:$full,
     DefaultValuedAttr<F64Attr, "1e-6">:$epsilon)> {
  let roles = [RoleLoss];
  let summary = "(log v + (x - t)^2 / v) / 2, v = max(variance, epsilon)";
  let torch = ["gaussian_nll_loss"];
}

//===----------------------------------------------------------------------===//
// Losses of other shapes
//===----------------------------------------------------------------------===//

def MP_MultilabelMarginLossOp : MP_Op<"multilabel_margin_loss", [Pure]> {
  let roles = [RoleLoss];
  let summary = "hinge loss over classes with several targets";
  let description = [{
    sum over targets j and other classes i of max(0, 1 - x[j] + x[i]) / C, of
    [N, C] or [C]; targets are class numbers, ended by -1. Source: PyTorch
    multilabel_margin_loss.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$target,
    MP_MeanReduction:$reduction);
  let results = (outs MP_Tensor:$loss);
  let torch = ["multilabel_margin_loss", "multilabel_margin_loss_forward"];
}

def MP_MarginRankingLossOp : MP_Op<"margin_ranking_loss", [Pure]> {
  let roles = [RoleLoss];
  let summary = "max(0, -t (a - b) + margin)";
  let arguments = (ins MP_Tensor:$first, MP_Tensor:$second, MP_Tensor:$target,
    MP_MeanReduction:$reduction, DefaultValuedAttr<F64Attr, "0.0">:$margin);
  let results = (outs MP_Tensor:$loss);
  let torch = ["margin_ranking_loss"];
}

def MP_CosineEmbeddingLossOp : MP_Op<"cosine_embedding_loss", [Pure]> {
  let roles = [RoleLoss];
  let summary = "1 - cos(a, b) where t = 1, max(0, cos(a, b) - margin) else";
  let description = [{
    Over the last axis of [N, D] or [D]. Source: PyTorch cosine_embedding_loss.
  }];
  let arguments = (ins MP_Tensor:$first, MP_Tensor:$second, MP_Tensor:$target,
    MP_MeanReduction:$reduction, DefaultValuedAttr<F64Attr, "0.0">:$margin);
  let results = (outs MP_Tensor:$loss);
  let torch = ["cosine_embedding_loss"];
}

def MP_TripletMarginLossOp : MP_Op<"triplet_margin_loss", [Pure]> {
  let roles = [RoleLoss];
  let summary = "max(0, |a - p| - |a - n| + margin), p-norms over the last axis";
  let description = [{ Source: PyTorch triplet_margin_loss. }];
  let arguments = (ins MP_Tensor:$anchor, MP_Tensor:$positive,
    MP_Tensor:$negative, MP_MeanReduction:$reduction,
    DefaultValuedAttr<F64Attr, "1.0">:$margin,
    DefaultValuedAttr<F64Attr, "2.0">:$p,
    DefaultValuedAttr<F64Attr, "1e-6">:$epsilon,
    DefaultValuedAttr<BoolAttr, "false">:$swap);
  let results = (outs MP_Tensor:$loss);
  let torch = ["triplet_margin_loss"];
}

def MP_CtcLossOp : MP_Op<"ctc_loss", [Pure]> {
  let roles = [RoleLoss];
  let summary = "connectionist temporal classification";
  let description = [{
    Log-probabilities [T, N, C] or [T, C], targets, and the lengths of both;
    result [N] or a scalar. Source: PyTorch ctc_loss.
  }];
  let arguments = (ins MP_Tensor:$log_probs, MP_Tensor:$targets,
    MP_Tensor:$input_lengths, MP_Tensor:$target_lengths,
    MP_MeanReduction:$reduction, DefaultValuedAttr<I64Attr, "0">:$blank,
    DefaultValuedAttr<BoolAttr, "false">:$zero_infinity);
  let results = (outs MP_Tensor:$loss);
  let torch = ["ctc_loss.IntList", "ctc_loss.Tensor"];
  let hasVerifier = 1;
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index == 0; }
  }];
}

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

def MP_CosineSimilarityOp : MP_Op<"cosine_similarity", [Pure]> {
  let roles = [RoleInnerSquares];
  let summary = "a . b / (|a| |b|) along an axis, norms of at least epsilon";
  let arguments = (ins MP_Tensor:$first, MP_Tensor:$second,
    DefaultValuedAttr<I64Attr, "1">:$axis,
    DefaultValuedAttr<F64Attr, "1e-8">:$epsilon);
  let results = (outs MP_Tensor:$result);
  let torch = ["cosine_similarity"];
}

def MP_PdistOp : MP_Op<"pdist", [Pure]> {
  let roles = [RoleInnerSquares];
  let summary = "p-norm distances of all pairs of rows, [N, M] to [N (N - 1) / 2]";
  let arguments = (ins MP_Tensor:$input, DefaultValuedAttr<F64Attr, "2.0">:$p);
  let results = (outs MP_Tensor:$result);
  let torch = ["pdist"];
  let hasVerifier = 1;
}

def MP_CdistOp : MP_Op<"cdist", [Pure]> {
  let roles = [RoleInnerSquares];
  let summary = "p-norm distances of rows of two tensors";
  let description = [{
    [..., P, M] and [..., R, M] to [..., P, R], leading dims broadcast. For p = 2
    and many rows PyTorch goes through a matrix product.
    Source: PyTorch cdist; com.microsoft CDist (`squared` for sqeuclidean).
  }];
  let arguments = (ins MP_Tensor:$first, MP_Tensor:$second,
    DefaultValuedAttr<F64Attr, "2.0">:$p,
    DefaultValuedAttr<BoolAttr, "false">:$squared);
  let results = (outs MP_Tensor:$result);
  let torch = ["cdist"];
  let onnx = ["CDist"];
  let hasVerifier = 1;
}

def MP_DistOp : MP_Op<"dist", [Pure]> {
  let roles = [RoleInnerSquares];
  let summary = "p-norm of a - b as a scalar";
  let arguments = (ins MP_Tensor:$first, MP_Tensor:$second,
    DefaultValuedAttr<F64Attr, "2.0">:$p);
  let results = (outs MP_Tensor:$result);
  let torch = ["dist"];
}

def MP_RenormOp : MP_Op<"renorm", [Pure]> {
  let roles = [RoleInnerSquares];
  let summary = "slices along an axis scaled down to a p-norm of at most max_norm";
  let arguments = (ins MP_Tensor:$input, F64Attr:$p, I64Attr:$axis,
    F64Attr:$max_norm);
  let results = (outs MP_Tensor:$result);
  let torch = ["renorm"];
}

#endif // MPOPT_DIALECT_OPS_LOSSOPS_TD
