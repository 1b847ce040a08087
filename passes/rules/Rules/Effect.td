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
  let summary = "all roundings together move an output by more than the threshold";
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

#endif // MPOPT_PASSES_RULES_RULES_EFFECT_TD
