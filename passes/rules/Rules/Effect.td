//===- Effect.td - Rules that ask what reaches the outputs ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No pass of its own reports them: lib/Effects/Severity.cpp does, which adds up
// what the findings of all rules do to each output.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_RULES_RULES_EFFECT_TD
#define MPOPT_PASSES_RULES_RULES_EFFECT_TD

include "passes/rules/RuleBase.td"

def OutputError : EffectRule<"MP215", "output-error"> {
  let severity = "error";
  let since = "0.2";
  let thresholds = [
    Threshold<"effect-error", "0.25",
              "expected error of an output, of its largest value, from which a "
              "finding is an error">,
    Threshold<"effect-warning", "0.02",
              "the same from which it is a warning">,
  ];
  let summary = "all roundings together change an output by more than the threshold";
  let what = [{
    Many small roundings add up, or grow on their way: an output is expected to be
    off by more than 2 % of its largest value (an error from 25 % on, or where it
    becomes Inf or NaN), and no single finding says so. The estimate carries the
    rounding errors of all tensors, what flushes and what overflows through the
    model's derivatives to each output. The causes are the tensors whose storage
    does most.
  }];
  let why = [{
    Half of FP16's 11 bits are gone after a few hundred layers, or one layer that
    subtracts large numbers. Tests on a tensor see none of that: each of them is
    in range, and as exact as its format is.
  }];
  let example = [{
    ```python
    y = (x + 4096.0) - 4096.0      # off by 2 where x is of order 1
    ```
  }];
  let instead = [{
    Keep the tensors that cause most in FP32. Where they share nothing, the model
    wants BF16 less and FP32 more: convert only its matrix products.
  }];
}

def ChangedDecisions : EffectRule<"MP309", "changed-decisions"> {
  let family = "precision";
  let severity = "error";
  let since = "0.3";
  let thresholds = [
    Threshold<"decision-error", "0.25",
              "share of an output's integers or truth values that change from "
              "which it is an error">,
    Threshold<"decision-warning", "0.05",
              "the same from which it is a warning">,
  ];
  let summary = "rounding changes more of an output's integers or truth values than the threshold";
  let what = [{
    An output of ArgMax, TopK, a comparison, a sort or a rounding to whole numbers
    holds no error that a tolerance could compare: an element is the same or another
    one. The share that is expected to change follows from the errors of the floats
    that decide and from the gap between the candidates.
  }];
  let why = [{
    Two candidates that are closer than a rounding change places. Of many
    candidates the best are close to each other: of 64 normal numbers in BF16 the
    fifth and the sixth largest change places in one row of a hundred.
  }];
  let example = [{
    ```python
    indices = scores.bfloat16().topk(5).indices    # other ranks than in FP32
    ```
  }];
  let instead = [{
    Keep in FP32 the scores and the product that makes them. Where candidates are
    as close as their noise is, compare what is chosen by its score, not by its index.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_EFFECT_TD
