//===- Monitor.td - MP5xx: seen while a model trains ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_MONITOR_TD
#define MPOPT_PASSES_RULES_RULES_MONITOR_TD

include "passes/rules/RuleBase.td"

def GradientNorm : MonitorRule<"MP505", "gradient-norm"> {
  let severity = "error";
  let since = "0.2";
  let thresholds = [
    Threshold<"norm-error", "1000",
      "norm of all gradients over which the next update breaks the weights">,
    Threshold<"norm-high", "100", "norm of all gradients that is too large">,
    Threshold<"norm-low", "0.01",
      "norm of all gradients that is small where the loss has not fallen">,
    Threshold<"norm-vanished", "1e-6", "norm of all gradients that learns nothing">,
    Threshold<"norm-jump", "10", "times the median of the last norms">];
  let summary = "the norm of all gradients explodes, vanishes or jumps";
  let what = [{
    The norm of all unscaled gradients together is over 1000 (error) or over 100
    (warning) for three steps in a row; under 1e-6 (warning) for ten; under 0.01
    (note) for ten while the loss has not fallen to half of its first value; or
    over 1 and ten times the median of the last fifty steps (warning). Norms are
    taken when gradients have been accumulated, before they are clipped, and are
    divided by the loss scale.
  }];
  let why = [{
    A healthy norm lies between 0.1 and 10. Over 1000 the next update is about
    to break the weights; under 1e-6 nothing is learned, in any dtype.
  }];
  let example = [{
    ```python
    optimizer = torch.optim.SGD(model.parameters(), lr=30.0)
    ```
  }];
  let instead = [{
    A smaller learning rate or a warm-up, `clip_grad_norm_` after
    `scaler.unscale_`; for norms that vanish initialisation, normalisation and
    what the loss is divided by.
  }];
}

def LossScale : MonitorRule<"MP506", "loss-scale"> {
  let severity = "error";
  let since = "0.2";
  let dtypes = ["f16"];
  let thresholds = [
    Threshold<"scale-falling", "128", "loss scale that is low if it still falls">,
    Threshold<"scale-low", "1024", "loss scale that is low">,
    Threshold<"scale-usual", "10000",
      "loss scale that a run has in its usual state, without an overflow">];
  let summary = "the loss scale falls, and gradients do not fit at any";
  let what = [{
    The loss scale is 0, or 1 and does not rise (error); below 128 and falling,
    below a hundredth of its first value, below 1024, or has fallen five times
    without growing (warning). A scale that begins above 65536 counts from there;
    one that begins below a level is not reported for it. The message says when
    the scale will be 1 if it goes on.
  }];
  let why = [{
    A dynamic scale halves whenever a gradient overflows. One that settles has
    found its window. One that goes on falling tells that the forward pass or
    the loss itself is not finite: no scale helps, and no step is taken.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda", torch.float16):
        loss = (model(x) - y).square().sum()      # thousands of terms
    ```
  }];
  let instead = [{
    Find what overflows (`monitor.find_first_bad`), keep it in FP32, take the
    mean of the loss, or train in BF16, which needs no scale.
  }];
}

def SkippedSteps : MonitorRule<"MP507", "skipped-steps"> {
  let severity = "error";
  let since = "0.2";
  let dtypes = ["f16"];
  let thresholds = [
    Threshold<"skipped-share", "0.01", "share of 100 steps that may be left out">];
  let summary = "the scaler leaves out more steps than it has to";
  let what = [{
    More than 1 % of the steps in a window of 100 were skipped, or skipped steps
    become more frequent (a test of trend, at an error rate of 0.001 a look,
    every ten steps). The first descent of the scale, before a step was taken, does
    not count unless it goes below 1 or lasts over 20 steps; nor does one skipped
    step after each time that the scale grew.
  }];
  let why = [{
    A skipped step costs a batch. Overflows that become more frequent in the
    first hundred steps say that the run will not be stable later.
  }];
  let example = [{
    ```python
    scaler = torch.amp.GradScaler(growth_interval=10)   # tries too large a scale every 10 steps
    ```
  }];
  let instead = [{
    Look for the layer whose activations or gradients grow (MP502, MP505); the
    default growth interval of 2000; warm-up; the op that overflows in FP32.
  }];
}

def NoGradient : MonitorRule<"MP508", "no-gradient"> {
  let severity = "warning";
  let since = "0.2";
  let thresholds = [
    Threshold<"no-gradient", "1e-10",
      "magnitude that no element of a layer's gradient reaches">];
  let summary = "a layer gets no gradient";
  let what = [{
    The largest gradient of a layer, its weights and biases together, stays under
    1e-10 for twenty steps, or none comes although its parameters ask for one.
  }];
  let why = [{
    The layer stands still while the rest learns around it, and the loss looks
    healthy.
  }];
  let example = [{
    ```python
    features = self.backbone(x).detach()      # left from an experiment
    ```
  }];
  let instead = [{
    Look for `detach`, `no_grad`, units that are always 0, a factor of 0; freeze
    with `requires_grad_(False)` what is to stand still. Gradients that FP16
    flushed want a larger loss scale (MP503).
  }];
}

def WideRange : MonitorRule<"MP509", "wide-range"> {
  let severity = "warning";
  let since = "0.2";
  let thresholds = [
    Threshold<"wide-range", "10000",
      "99.9th percentile of magnitudes, in units of their median">];
  let summary = "a tensor's magnitudes lie so far apart that the small ones are lost";
  let what = [{
    In three samples in a row the 99.9th percentile of the non-zero magnitudes of
    an output or a gradient is over 10,000 times their median, and the 0.1th is
    subnormal in its dtype. A note; a warning when the ratio becomes ten times
    larger.
  }];
  let why = [{
    The few large values decide sums, norms and scales, and the many small ones
    lose their digits.
  }];
  let example = [{
    ```python
    features = torch.cat([raw_price, one_hot], dim=-1)      # 1e5 beside 1
    ```
  }];
  let instead = [{
    Normalise, take logarithms of what spans decades, or keep the module in FP32.
  }];
}

def ChannelImbalance : MonitorRule<"MP510", "channel-imbalance"> {
  let severity = "warning";
  let since = "0.2";
  let thresholds = [
    Threshold<"channel-ratio", "10000",
      "largest channel, in units of the median one">];
  let summary = "one channel of an output is far larger than the others";
  let what = [{
    In three samples in a row the root mean square of the largest channel of a
    layer's output is over 10,000 times that of the median channel that is not
    0. A note; a warning when the ratio becomes ten times larger. MP305 finds the
    like before the model runs.
  }];
  let why = [{
    A sum over channels holds the largest alone: in FP16 everything that is 2048
    times smaller is lost beside it.
  }];
  let example = [{
    ```python
    x = torch.stack([timestamp, speed], dim=-1)      # 1.7e9 beside 20
    ```
  }];
  let instead = [{
    Scale the inputs by channel, normalise over features, or keep in FP32 what
    sums over the channels.
  }];
}

def RanksDisagree : MonitorRule<"MP511", "ranks-disagree"> {
  let severity = "error";
  let since = "0.2";
  let thresholds = [
    Threshold<"rank-difference", "1e-5",
      "difference of a norm between ranks, as a share of it">];
  let summary = "replicas on different ranks hold different parameters";
  let what = [{
    The norm of a parameter that is replicated (DDP, or a group that the monitor
    is given) differs between ranks by more than 1e-5 of it.
  }];
  let why = [{
    Gradients are averaged over replicas that are no longer one model. Nothing
    fails; the result is that of none of them.
  }];
  let example = [{
    ```python
    if rank == 0:
        model.load_state_dict(torch.load("last.pt"))      # after DDP was made
    ```
  }];
  let instead = [{
    Load on every rank, or before DDP broadcasts; step every optimizer on every
    rank; no update of parameters outside of it.
  }];
}

def RunDiverges : MonitorRule<"MP512", "run-diverges"> {
  let severity = "warning";
  let since = "0.2";
  let summary = "two runs differ by more than their formats explain";
  let what = [{
    The first module (or gradient) in which two runs over the same batches with
    the same weights differ, in root mean square, mean or elements, by more than
    four unit roundoffs of the narrowest format on the way times the square root
    of the number of modules before, gradients by more than its root; or in which
    one holds NaN or Inf and the other does not. `mpopt.monitor.compare` tells.
  }];
  let why = [{
    Rounding changes elements at random and little, and averages out. What changes
    them much is another order of channels or heads, a sign, or a normalisation of
    values that are rounding alone; what changes a whole tensor is another epsilon,
    another kernel, another weight: a training engine and an inference engine that
    do not compute the same model.
  }];
  let example = [{
    ```python
    compare("train.mprec", "serve.mprec").alert      # rms_norm with eps=1e-5 there, 1e-6 here
    ```
  }];
  let instead = [{
    Compare weights, epsilons and fused kernels of the module that is named, and
    what it is given; keep it in FP32 in both where the format is why.
  }];
}

def InputRange : MonitorRule<"MP513", "input-range"> {
  let severity = "warning";
  let since = "0.2";
  let summary = "batches lie outside of the assumed ranges of the inputs";
  let what = [{
    A batch's least or greatest value is outside of the bounds that the monitor
    was given (`inputs=`), or of those under which a report was made
    (`report=`).
  }];
  let why = [{
    What the analysis proved, it proved under these bounds.
  }];
  let example = [{
    ```python
    Monitor(model, inputs={"image": "0:1"})      # and the loader gives 0 to 255
    ```
  }];
  let instead = [{
    Mend the preprocessing, or judge the model again with the bounds that the
    message names.
  }];
}

def LossCourse : MonitorRule<"MP514", "loss-course"> {
  let severity = "warning";
  let since = "0.2";
  let thresholds = [
    Threshold<"loss-rise", "0.5",
      "rise of the loss above its usual level, as a share of that">,
    Threshold<"loss-deviations", "8",
      "rise of the loss above its usual level, in deviations of single losses">,
    Threshold<"loss-patience", "200",
      "steps in which a loss has to fall by more than its noise">];
  let summary = "the loss jumps, rises or stays where it is";
  let what = [{
    A loss far above its usual level, both as a share of it and in deviations of
    single losses from the median of the last fifty: a note for a spike of one
    or two steps (if its logarithm is as far off), a warning for one that stays
    for three; a loss whose level
    rose above the least that it had, and has not come back (warning, error
    where it is over its first value); a loss that did not fall by more than its
    noise over the patience, from the start (warning, or a note where the
    learning rate explains it). Each says what else changed in these steps (scale,
    skipped steps, norm, inputs, learning rate, weights), or that precision
    shows no sign.
  }];
  let why = [{
    A spike that passes is an odd batch; one that stays has damaged the weights.
    A loss that rises over hundreds of steps is lost time, in every format.
  }];
  let example = [{
    ```python
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-2)   # no warm-up
    ```
  }];
  let instead = [{
    Keep the batch (`actions={"MP514": "keep"}`) and look at it; lower the learning
    rate, clip, go back to a checkpoint; where the scale or a norm changed first, fix
    what their findings say.
  }];
}

def StandingState : MonitorRule<"MP515", "standing-state"> {
  let severity = "error";
  let since = "0.2";
  let summary = "casts of weights or buffers stay unchanged during training";
  let what = [{
    The cast that autocast made of a weight is still used after the weight has
    changed (error): one region of autocast lies around several steps, and keeps
    its casts until it is left. Or the outputs on a batch that the monitor was
    given (`probe=`) are the same to the last bit while norms of weights changed
    (error). Or a float buffer, or an average of weights (`averages=`), changed in
    three looks and then has the same norm four times as long as ever before,
    twice as long when the monitor closes (note).
  }];
  let why = [{
    Weights are updated and the model goes on computing with those of the first
    step; the loss stays flat while gradients look healthy. A running statistic or
    an average of weights that stands still makes evaluation one of an older
    model.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda", torch.float16):
        for x, y in loader:                # the region is never left
            loss = criterion(model(x), y)
    ```
  }];
  let instead = [{
    A region in each step around forward pass and loss; `cache_enabled=False` where
    it has to be larger. `model.train()` behind each evaluation.
  }];
}

def OutgrownAmax : MonitorRule<"MP516", "outgrown-amax"> {
  let severity = "warning";
  let since = "0.3";
  let summary = "inputs are larger than the amax history of their FP8 scale";
  let what = [{
    A module with a delayed scale (TransformerEngine's `fp8_meta`, a buffer `amax_history`
    or `fp8_amax_history_input`) was given inputs more than twice as large as the largest
    magnitude of its history in four of the last sixteen steps. Passes of a training step
    count, evaluation and empty histories do not.
  }];
  let why = [{
    The scale maps the history's largest magnitude to the format's largest number: what is
    past it is clipped. A single batch of unlike data is; many steps are a history of one
    step, of the last pass of an accumulation, or of other ranks.
  }];
  let example = [{
    ```python
    self.amax_now = x.detach().abs().max()      # of the last pass; torch.maximum keeps the step's
    ```
  }];
  let instead = [{
    `torch.maximum` over the passes of a step, a history of 1024 steps with `max`, or a
    recipe that scales by the tensor itself.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_MONITOR_TD
