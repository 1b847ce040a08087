//===- Training.td - MP4xx: training -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_TRAINING_TD
#define MPOPT_PASSES_RULES_RULES_TRAINING_TD

include "passes/rules/RuleBase.td"

def GradientUnderflow : TrainingRule<"MP401", "gradient-underflow"> {
  let severity = "error";
  let since = "0.2";
  let dtypes = ["f16", "bf16"];
  let decision = "gradient-flush";
  let decisionThreshold = "gradient-underflow";
  let observable = "histogram of the gradient's magnitudes; seen when the "
    "threshold's share of those that are not 0 is 0 in the dtype, at the loss "
    "scale that was judged";
  let thresholds = [
    Threshold<"gradient-underflow", "0.1",
      "share of a gradient's non-zero elements that may be lost, and of those "
      "of all parameters before no loss scale is good enough">];
  let summary = "a share of a parameter's gradient becomes 0 at the loss scale "
    "in use";
  let what = [{
    At the loss scale in use, a tenth or more of the elements of some parameters'
    gradients are expected to be 0 in FP16 or FP8 (in BF16 below 1e-40) although
    they are not: in the gradient itself, or in one that it is made of. The
    scale is that of a fixed scaler, the one at which a dynamic one takes its first steps (its
    start, or the greatest that does not overflow), or 1 without a scaler. What
    is lost at every scale is left out. One finding names the parameter that
    loses most, the others, and the scale to choose. An error if half of all
    elements are lost, else a warning.
  }];
  let why = [{
    FP16 stores what is at most 2^-25 as 0, and a gradient of a mean over many
    values is soon there: 1/(V N) for a vocabulary of V and N tokens. The
    weights behind it get no update. What is lost at the logits is lost for
    everything behind them, whatever its own size.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda", torch.float16):
        loss = F.cross_entropy(model(x), y)      # 50,000 classes, 4096 rows
    loss.backward()                              # without a scaler
    ```
  }];
  let instead = [{
    `torch.amp.GradScaler(init_scale=2.0**k)` with the scale that the finding
    names, and leave its growth alone; BF16 needs none. Without a scaler,
    multiply the loss. For a large vocabulary: logits in FP32.
  }];
}

def GradientOverflow : TrainingRule<"MP402", "gradient-overflow"> {
  let severity = "error";
  let since = "0.2";
  let dtypes = ["f16", "bf16"];
  let decision = "gradient-overflow";
  let observable = "absolute maximum of the gradient; seen when it is Inf in "
    "the dtype at the loss scale that was judged";
  let thresholds = [
    Threshold<"skipped-steps", "20",
      "steps that a scaler may skip at the start before that is a warning">];
  let summary = "gradients overflow at the loss scale in use";
  let what = [{
    A gradient in 16 bits or FP8 is expected to overflow at the scale of a fixed
    scaler or without one (an error: no step is ever taken), or at that from
    which a dynamic scaler starts: it then skips steps until its scale has come down,
    and the finding says how many. That is a note, a warning for more than 20.
    The finding is about the tensor that overflows first. If there is no scale
    of 1 or more that works, MP403 says so.
  }];
  let why = [{
    One Inf anywhere has the whole step skipped: each costs a batch. A start of
    2^16 is meant to come down a few times; one of 2^32 costs sixteen steps
    more, each of which looks like a fault in the log.
  }];
  let example = [{
    ```python
    scaler = torch.amp.GradScaler(init_scale=2.0**32)
    ```
  }];
  let instead = [{
    Start from the scale that the finding names. A sum over the batch as loss
    needs a mean instead; clipping does not help, since it comes after the
    gradients are computed.
  }];
}

def NoLossScale : TrainingRule<"MP403", "no-loss-scale"> {
  let severity = "error";
  let since = "0.2";
  let dtypes = ["f16", "bf16"];
  let summary = "no loss scale keeps both small and large gradients";
  let what = [{
    The greatest loss scale at which no gradient in 16 bits or FP8 overflows is
    below 1, or
    below the least one that keeps nine tenths of all elements of the parameters'
    gradients. The finding is about the tensor that overflows first, and names
    the parameter that loses most. An error if the greatest scale is below 1 or
    loses half of all elements, else a warning.
  }];
  let why = [{
    FP16 spans 40 powers of two, and one scale shifts all gradients by the same
    number of them. A scaler then runs down to where nothing overflows, and a
    part of the model never learns; below 1 DeepSpeed and Megatron stop at their
    least scale.
  }];
  let example = [{
    ```python
    loss = F.mse_loss(image, target, reduction="sum")   # 10^6 pixels
    ```
  }];
  let instead = [{
    A mean in place of a sum. Else keep the ops at the two ends in FP32
    (`torch.autocast("cuda", enabled=False)` around them, inputs `.float()`),
    or train in BF16.
  }];
}

def VanishingGradient : TrainingRule<"MP404", "vanishing-gradient"> {
  let severity = "warning";
  let since = "0.2";
  let fix = "none";
  let dtypes = ["f16", "bf16", "f32"];
  let decision = "gradient-ratio";
  let observable = "root mean square of the gradients of the two weights; seen "
    "when their ratio is below that of the finding";
  let thresholds = [
    Threshold<"vanishing-gradient", "1e-4",
      "ratio of a weight's gradient to that of the last weight, below which it "
      "vanishes">,
    Threshold<"least-gradient-norm", "1e-6",
      "total norm of the gradients below which they vanish">];
  let summary = "gradients of early layers are far smaller than those of the "
    "last one";
  let what = [{
    The root mean square, over the elements that are not 0, of the gradients of
    some weights (two axes or more) is expected to be less than 1e-4 of that of
    the last weight that has a gradient; or the norm of all gradients is below
    1e-6. Precision is not the cause: it is so in FP32, too. One finding names
    the smallest and the others.
  }];
  let why = [{
    With SGD the layers do not learn. Adam divides by the size, until gradients
    come near its epsilon (1e-8) or are lost in FP16, which they are first.
  }];
  let example = [{
    ```python
    layers = [nn.Sequential(nn.Linear(n, n), nn.Sigmoid()) for _ in range(20)]
    ```
  }];
  let instead = [{
    An initialisation that keeps the variance (He for rectifiers), residual
    connections, norms; for a small loss weight, a larger one.
  }];
}

def ExplodingGradient : TrainingRule<"MP405", "exploding-gradient"> {
  let severity = "warning";
  let since = "0.2";
  let fix = "none";
  let dtypes = ["f16", "bf16", "f32"];
  let decision = "gradient-ratio";
  let observable = "root mean square of the gradients of the two weights; seen "
    "when their ratio is above that of the finding";
  let thresholds = [
    Threshold<"exploding-gradient", "1e3",
      "ratio of a weight's gradient to that of the last weight, above which it "
      "explodes">,
    Threshold<"most-gradient-norm", "1000",
      "total norm of the gradients above which they explode">];
  let summary = "gradients of early layers are far larger than those of the "
    "last one";
  let what = [{
    The root mean square, over the elements that are not 0, of the gradients of
    some weights (two axes or more) is expected to be more than 1000 times that
    of the last weight that has a gradient; or the norm of all gradients is
    above 1000. Precision is not the cause: it is so in FP32, too. One finding
    names the largest and the others.
  }];
  let why = [{
    A step of usual length then throws the weights far off, and a clipped one
    hardly changes the layers whose gradients are of usual size.
  }];
  let example = [{
    ```python
    for layer in layers:
        nn.init.normal_(layer.weight, std=0.1)    # width 1024: gain 3.2 a layer
    ```
  }];
  let instead = [{
    An initialisation that keeps the variance, residual branches scaled by
    1/sqrt(2 L), a mean in place of a sum as loss; `clip_grad_norm_` after
    `scaler.unscale_(optimizer)`.
  }];
}

def DeadParameters : TrainingRule<"MP406", "dead-parameters"> {
  let severity = "warning";
  let since = "0.2";
  let fix = "none";
  let dtypes = ["f16", "bf16", "f32"];
  let decision = "gradient-zero";
  let observable = "absolute maximum of the gradient; seen when it is 0 in a "
    "run without FP16 gradients";
  let thresholds = [
    Threshold<"dead-units", "0.5",
      "share of a rectifier's units that are never positive, from which it is "
      "reported">];
  let summary = "the gradient of parameters is exactly 0";
  let what = [{
    Parameters whose gradient is 0 in exact arithmetic, by what makes it so: a
    factor that is 0 throughout (a zero-initialised head or gain: a note, since
    its own gradient is not 0 and the others are from the second step on),
    rectifiers that never let anything pass, sums that cancel by algebra (a bias
    in front of a norm or softmax over the same axis: a note), a graph that is
    detached. And rectifiers half of whose units are never positive. A gradient
    of which nothing is known is not reported.
  }];
  let why = [{
    What has no gradient does not learn: it costs memory and optimizer state.
    A gradient that cancels is not 0 but rounding noise in a run, which Adam
    scales up to full steps.
  }];
  let example = [{
    ```python
    nn.Sequential(nn.Conv2d(3, 64, 3), nn.BatchNorm2d(64))  # the bias cancels
    ```
  }];
  let instead = [{
    `bias=False` in front of a norm; `requires_grad_(False)` for what is frozen
    on purpose; LeakyReLU, a smaller step or another initialisation of biases for
    dead units. A head that starts from 0 on purpose needs nothing.
  }];
}

def Scaler : TrainingRule<"MP411", "scaler"> {
  let severity = "error";
  let since = "0.2";
  let dtypes = ["f16", "bf16", "f32"];
  let summary = "the loss scaler cannot do its work";
  let what = [{
    FP16 or FP8 gradients without a scaler, or with a fixed scale that is too
    small, of which a tenth or more is lost; a dynamic scaler whose least scale
    overflows, or whose growth, backoff or interval cannot work; a forward pass that
    overflows in FP16, so that every gradient is NaN at any scale; and a scaler
    for gradients in BF16 and FP32 (a note: it does nothing but cost time). A
    scale that overflows is MP402's.
  }];
  let why = [{
    At its least scale DeepSpeed raises an error, and Megatron skips every step.
    GradScaler has no least scale: it halves down to 0, and no step is taken.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda", torch.float16):
        loss = model(x, y)
    loss.backward()                      # no GradScaler
    ```
  }];
  let instead = [{
    `torch.amp.GradScaler()` for FP16, nothing for BF16. Where the forward pass
    overflows, fix that first (MP201 and its like).
  }];
}

def InfiniteDerivative : TrainingRule<"MP412", "infinite-derivative"> {
  let severity = "error";
  let since = "0.2";
  let dtypes = ["f16", "bf16", "f32"];
  let decision = "gradient-non-finite";
  let observable = "NaN and infinities of the operand's gradient; seen when "
    "there are some although the result's gradient had none";
  let summary = "a derivative is Inf or NaN where the value itself is fine";
  let what = [{
    An op whose argument may be where its derivative is infinite although its
    value is finite: sqrt, and powers between 0 and 1, at 0, asin and acos at -1
    and 1, acosh at 1, atan2 at (0, 0). And functions with a pole (log, 1/x,
    rsqrt) whose result a `where` selects only beside the pole: the branch that
    is not taken has the gradient 0, and 0 times Inf is NaN.
  }];
  let why = [{
    One NaN in a gradient is NaN in all parameters behind it, and after one
    step in the weights. A scaler skips the step, and takes it for an overflow.
  }];
  let example = [{
    ```python
    distance = (a - b).pow(2).sum(-1).sqrt()      # a row of a equals that of b
    y = torch.where(x > 0, x.log(), 0.0)          # NaN where x is 0
    ```
  }];
  let instead = [{
    Add an epsilon inside of the root that the dtype holds, or clamp the
    argument. With `where`, make the argument harmless before the function:
    `torch.where(x > 0, x, 1.0).log()`.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_TRAINING_TD
