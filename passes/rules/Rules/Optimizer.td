//===- Optimizer.td - MP4xx: updates, reduction and losses ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_OPTIMIZER_TD
#define MPOPT_PASSES_RULES_RULES_OPTIMIZER_TD

include "passes/rules/RuleBase.td"

def OptimizerEpsilon : TrainingRule<"MP407", "optimizer-epsilon"> {
  let severity = "error";
  let since = "0.2";
  let dtypes = ["f16", "bf16", "f32"];
  let summary = "the optimizer's epsilon is 0 in its state, or larger than the "
    "gradient";
  let what = [{
    Error: the epsilon of Adam, AdamW, LAMB, RMSprop or Adagrad is 0 in the
    dtype of the optimizer's state, and the second moment of some weights is 0,
    too. Warning: the epsilon is above the root mean square of a parameter's
    gradient. The state has the declared dtype, else that of the weights, FP32
    where FP32 copies are updated. Nothing is said without an optimizer and its
    learning rate.
  }];
  let why = [{
    The update is m / (sqrt(v) + eps). In FP16 1e-8 is 0, and so is the v of
    gradients below 0.0055 (beta2 0.999): the first step is Inf, or NaN where
    the gradient is 0. An epsilon far above the gradient makes the update lr g /
    eps, and a layer with tiny gradients stands still in any dtype.
  }];
  let example = [{
    ```python
    model.half()
    torch.optim.Adam(model.parameters(), lr=1e-3)   # eps=1e-8 is 0 in FP16
    ```
  }];
  let instead = [{
    FP32 weights and state: autocast keeps them. Else `eps=1e-4` in FP16. For
    tiny gradients a smaller `eps` in FP32, or a loss that is not divided so
    often; unscale before the step.
  }];
}

def SecondMoment : TrainingRule<"MP408", "second-moment"> {
  let severity = "warning";
  let since = "0.2";
  let thresholds = [
    Threshold<"second-moment-share", "0.1",
      "share of a parameter's second moment that may be 0 in its dtype">];
  let summary = "the second moment flushes, or does not decay";
  let what = [{
    A tenth of the running mean of squares of a parameter is 0 in FP16 at the
    first step, or multiplying it by beta2 gives it back in the dtype: (1 -
    beta2) v is below half an ulp. The latter is a fact of the declared
    optimizer. Where epsilon is 0 in the dtype, too, MP407 tells.
  }];
  let why = [{
    FP16 keeps (1 - beta2) g^2 from 2^-25 on; below that epsilon alone divides,
    and the update is g / eps learning rates. In BF16 1.0 * 0.999 is 1.0: v only
    grows, and one large gradient makes a weight's updates small for good. It
    stops at 0.98 of a power of two with beta2 0.998, at 0.65 with 0.997, and
    decays from 0.996 on.
  }];
  let example = [{
    ```python
    model.bfloat16()
    torch.optim.AdamW(model.parameters(), betas=(0.9, 0.999))
    ```
  }];
  let instead = [{
    FP32 state (FP32 weights under autocast, or an optimizer that keeps its own
    copies), or beta2 of 0.95 to 0.99 with BF16.
  }];
}

def LostUpdate : TrainingRule<"MP409", "lost-update"> {
  let severity = "warning";
  let since = "0.2";
  let thresholds = [
    Threshold<"lost-update-share", "0.5",
      "share of a parameter's weights that may keep their value when they are "
      "updated">];
  let summary = "16-bit weights do not take the optimizer's update";
  let what = [{
    Half of the weights of a parameter or more that have a gradient are expected
    to keep their value at the first step, as they are stored in 16 bits and no
    FP32 copy is updated. A note where that is so of the weight decay alone. Nothing is said
    without an optimizer and its learning rate.
  }];
  let why = [{
    w - u is w if u is below half an ulp of w: |u| < |w| / 512 to / 256 in BF16,
    / 4096 to / 2048 in FP16. Adam's first update is the learning rate, so that
    1e-3 does not change a BF16 weight above 0.5, whatever the gradient is. A
    decay of lr * weight_decay = 1e-5 of the weight never does.
  }];
  let example = [{
    ```python
    model.bfloat16()
    torch.optim.AdamW(model.parameters(), lr=1e-4)
    ```
  }];
  let instead = [{
    FP32 weights with autocast, or an optimizer that keeps FP32 copies. Else
    stochastic rounding (`bf16_stochastic_round` of torchao.optim) or Kahan sums
    (`kahan_sum` of optimi); a larger learning rate, fewer and larger steps.
  }];
}

def LargeUpdate : TrainingRule<"MP415", "large-update"> {
  let severity = "error";
  let since = "0.3";
  let dtypes = ["f16", "bf16", "f32"];
  let thresholds = [
    Threshold<"large-update-ratio", "1",
      "size of an update, as a multiple of the weights' root mean square, from "
      "which it is reported">];
  let summary = "the optimizer's first update is larger than the weights, or "
    "than their dtype's largest number";
  let what = [{
    Error: weights pass the largest number of the dtype in which they are stored
    or multiplied (65504 in FP16) by the first step. Warning: the update is
    larger than the weights themselves. Parameters that are 0 throughout (fresh
    biases) have no size to compare with. Nothing is said without an optimizer
    and its learning rate.
  }];
  let why = [{
    Adam, AdamW and Lion change every weight by about the learning rate,
    whatever the gradient is; SGD by the gradient times the rate. A step of
    Adam at lr = 1e6 leaves Inf in all FP16 weights; one at lr = 0.1 on weights
    of 0.02 leaves nothing of them.
  }];
  let example = [{
    ```python
    torch.optim.Adam(model.half().parameters(), lr=1.0)
    ```
  }];
  let instead = [{
    A learning rate of which a step is at most a hundredth of the weights (1e-3
    to 1e-5 for Adam), with a warm-up; clip the gradients of SGD.
  }];
}

def Reduction : TrainingRule<"MP410", "reduction"> {
  let severity = "error";
  let dtypes = ["f16", "bf16", "f32"];
  let since = "0.2";
  let thresholds = [
    Threshold<"reduction-underflow", "0.1",
      "share of the gradients' elements that dividing before the sum may make "
      "0">,
    Threshold<"reduction-error", "0.1",
      "share of a sum of gradients that the roundings of its additions may "
      "reach">];
  let summary = "gradients are added in 16 or 8 bits over workers or passes";
  let what = [{
    The sum over workers and accumulated passes overflows in FP16 before it is
    divided, at the loss scale in use; dividing before the sum makes a tenth of
    the elements 0; or there are so many terms that the last ones are lost. An
    error where no dynamic scaler gives way; a note where roundings only add up
    to a tenth of the sum. FSDP without a reduce dtype reduces in that of the
    parameters.
  }];
  let why = [{
    A hook that casts gradients for the sum (DDP's `fp16_compress_hook`, FP8) makes 0 of
    what its dtype flushes: in E4M3 all below 2^-10 of the scale. N workers that add before they divide reach N times the scaled gradient, and
    65520 is Inf in FP16: the top of the window of loss scales comes down by
    log2(N) bits. Dividing by N first raises its bottom by as many. In a BF16
    buffer the 256th of equal terms is below half an ulp of the sum.
  }];
  let example = [{
    ```json
    {"fp16": {"enabled": true}, "communication_data_type": "fp16"}
    ```
  }];
  let instead = [{
    Reduce in FP32: `reduce_dtype=torch.float32`, `communication_data_type:
    fp32`, `accumulate_allreduce_grads_in_fp32`. Else divide by about sqrt(N)
    before the sum (`gradient_predivide_factor`) and by the rest after it.
  }];
}

def ParallelPrecision : TrainingRule<"MP413", "parallel-precision"> {
  let severity = "warning";
  let since = "0.2";
  let summary = "a sharding policy casts values that need more than 16 bits";
  let what = [{
    The declared FSDP or ZeRO policy casts buffers, among them running
    statistics, or parameters that are few and need more (weights of norms: a
    note; routers of experts) to 16 bits, or reduces gradients in 16 bits, if
    only because no reduce dtype is set (BF16: a note).
  }];
  let why = [{
    A running mean takes a tenth of what is new, which is below half an ulp in
    16 bits as soon as it has settled. Scores of a router that differ in the
    ninth digit are equal in BF16. FSDP takes param_dtype where reduce_dtype is
    None.
  }];
  let example = [{
    ```python
    MixedPrecision(param_dtype=torch.float16, buffer_dtype=torch.float16)
    ```
  }];
  let instead = [{
    `buffer_dtype=torch.float32` and `reduce_dtype=torch.float32`; wrap norms
    and routers with a policy of their own, in FP32.
  }];
}

def LossForm : TrainingRule<"MP414", "loss-form"> {
  let severity = "warning";
  let since = "0.2";
  let dtypes = ["f16", "bf16", "f32"];
  let summary = "the loss has a stable form and is not in it";
  let what = [{
    The model's loss takes the logarithm of a softmax or sigmoid, of 1 - sigmoid,
    or the binary cross entropy of a sigmoid, as it was written or as an exporter
    left it. Logarithms of a sum with an epsilon, and of clipped values, are left
    out.
  }];
  let why = [{
    A sigmoid is 1 from 17 on in FP32 (8.3 in FP16) and a softmax has zeros: the
    logarithm is -Inf and its gradient 0 * Inf = NaN. The form that takes scores
    has neither.
  }];
  let example = [{
    ```python
    loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()   # p = sigmoid(x)
    ```
  }];
  let instead = [{
    `binary_cross_entropy_with_logits(x, y)`, `cross_entropy(x, y)`,
    `log_softmax`, `logsigmoid`. For an exported training graph attach the loss
    with `--loss` to the model without it.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_OPTIMIZER_TD
