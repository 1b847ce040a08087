//===- Run.td - MP5xx: seen at run time --------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_RUN_TD
#define MPOPT_PASSES_RULES_RULES_RUN_TD

include "passes/rules/RuleBase.td"

def NonFiniteValue : RunRule<"MP501", "non-finite-value"> {
  let severity = "error";
  let since = "0.1";
  let byRange = 1;
  let decision = "non-finite";
  let observable = "NaN and infinities of a tensor, and values that its judged "
    "dtype does not hold; seen when there is one";
  let summary = "a tensor held NaN or Inf, or values that its dtype stores as Inf";
  let what = [{
    A probe saw NaN or Inf, or values that are past the edge of the dtype in
    which the tensor was judged, and no finding of the analysis says so. An
    error where it begins; where it was handed on, a consequence. Not reported:
    infinities that the model puts there itself (a mask of -Inf that an op
    selects or adds), and what an input of the model brings along, which is
    listed under the assumptions that did not hold. Recorded gradients are
    judged by this and the rules that follow, too.
  }];
  let why = [{
    The record needs no assumption: it happened. Where the analysis said that it
    could not, either an assumption did not hold, which the report names, or
    the op is not modelled.
  }];
  let example = [{
    ```
    mpopt --confirm run.mprec --ledger model.probed.onnx.probes.json
    ```
  }];
  let instead = [{
    Look at the operands that the finding names with their extremes: what the op
    cannot take shows there. Guard it (a clamp, an epsilon that the dtype
    holds), or keep the op in FP32 if only the dtype is too narrow.
  }];
}

def ObservedNearOverflow : RunRule<"MP502", "observed-near-overflow"> {
  let severity = "warning";
  let since = "0.1";
  let byRange = 1;
  let decision = "near-overflow";
  let decisionThreshold = "near-overflow";
  let observable = "absolute maximum of a tensor; seen when it is within the "
    "margin of MP211";
  let summary = "values seen come close to the largest one of the dtype";
  let what = [{
    The largest magnitude that a probe saw lies between the margin (60000 for
    FP16, in proportion for other dtypes) and the edge of the dtype in which
    the tensor was judged, and no finding of the analysis says so.
  }];
  let why = [{
    One run is a sample. Another input, a longer sequence or a few more training
    steps are enough for the rest of the way.
  }];
  let example = [{
    ```python
    h = h + self.mlp(h)        # 63100 on the data at hand
    ```
  }];
  let instead = [{
    Leave a binade of room: the table of scales in the report has the power of
    two. Or keep the op in FP32.
  }];
}

def UnderflowRate : RunRule<"MP503", "underflow-rate"> {
  let severity = "warning";
  let since = "0.1";
  let byRange = 1;
  let decision = "flush-share";
  let decisionThreshold = "underflow-rate";
  let observable = "share of a tensor's non-zero values that round to zero in the "
    "dtype; seen from the threshold on";
  let thresholds = [
    Threshold<"underflow-rate", "0.5",
      "share of the non-zero values seen that must round to zero">,
    Threshold<"flushed-share", "0.05",
      "share of a gradient's elements that FP16 flushes while it trains">];
  let summary = "most of the values seen round to zero in the dtype";
  let what = [{
    Of the non-zero values that a probe saw, the threshold's share or more are
    zero in the dtype in which the tensor was judged, and no finding of the
    analysis says so. A run in the dtype itself cannot show it: there the zeros
    are like any other. A note where values of order 1 and more stay beside
    them, as in a confident softmax.

    While a model trains, the monitor estimates which share of each gradient FP16
    flushes, by what is left above the least number and by the zeros that lie in
    no row or column of zeros, and tells of one over its own threshold in two
    samples.
  }];
  let why = [{
    What is rounded to zero is gone: gradients that stop, divisors that are 0,
    logarithms of 0.
  }];
  let example = [{
    ```python
    err = (pred - target) ** 2       # differences of 1e-4: squares of 1e-8
    ```
  }];
  let instead = [{
    Scale by a power of two (the table of scales in the report has it), or keep
    the op and what reads it in FP32. Gradients want a larger loss scale.
  }];
}

def DeadLayer : RunRule<"MP504", "dead-layer"> {
  let severity = "warning";
  let since = "0.1";
  let decision = "dead";
  let decisionThreshold = "dead-layer";
  let observable = "absolute maximum of a layer's result; seen when it stays below "
    "the threshold in the whole run";
  let thresholds = [
    Threshold<"dead-layer", "1e-10",
      "magnitude that no value of a layer's result reaches">];
  let summary = "a layer gave zeros, or next to it, for the whole run";
  let what = [{
    No value that a layer (convolution, matrix product, recurrent cell,
    activation, normalisation) computed in the run reached 1e-10.
  }];
  let why = [{
    Such a layer passes nothing on, forward or backward. Weights that were
    flushed to zero, a ReLU that died, a normalisation behind an overflow
    (x / Inf is 0) or inputs that never reach it look like this.
  }];
  let example = [{
    ```python
    h = torch.relu(x @ w - 1e3)      # never positive
    ```
  }];
  let instead = [{
    Look upstream for the first tensor that is zero: a flushed constant (MP203),
    an overflow that was absorbed (MP212), or data that were not fed.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_RUN_TD
