//===- Fp8.td - MP42x and MP43x: training in FP8 ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts of a configuration (lib/Train) and of the layers under it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_RULES_RULES_FP8_TD
#define MPOPT_PASSES_RULES_RULES_FP8_TD

include "passes/rules/RuleBase.td"

def Mxfp8E5m2 : ConfigRule<"MP421", "mxfp8-e5m2"> {
  let severity = "error";
  let summary = "gradients are in E5M2 under scales of 32 elements";
  let what = [{
    A configuration trains in MXFP8 with the hybrid format: E4M3 forward, E5M2 for
    gradients.
  }];
  let why = [{
    A scale for 32 elements has the range that E5M2's exponent is for, so that its two
    bits buy nothing: each product of gradients has 4 dB less signal to noise than with
    E4M3, and large runs diverge.
  }];
  let example = [{
    ```
    --fp8-recipe mxfp8 --fp8-format hybrid
    ```
  }];
  let instead = [{
    `--fp8-format e4m3`; in TransformerEngine `MXFP8BlockScaling(fp8_format=Format.E4M3)`.
  }];
}

def ShortAmaxHistory : ConfigRule<"MP422", "short-amax-history"> {
  let summary = "scales of delayed scaling are those of the last step alone";
  let what = [{
    Delayed scaling takes its scales from a history of one step, or from the most recent
    of its steps: by a setting, or by a framework's default (Megatron-LM's).
  }];
  let why = [{
    Whatever grows from one step to the next is clipped in the next: of activations at
    the beginning of a training, of gradients at any time, a batch of unlike data is
    enough.
  }];
  let example = [{
    ```
    --fp8-format hybrid --fp8-recipe delayed      # history 1, most_recent
    ```
  }];
  let instead = [{
    `--fp8-amax-history-len 1024 --fp8-amax-compute-algo max`, TransformerEngine's own
    defaults, or a recipe that scales by the tensor itself (`tensorwise`).
  }];
}

def Fp8Sizes : ConfigRule<"MP426", "fp8-sizes"> {
  let summary = "sizes of linear layers are no multiples of the number that FP8 kernels need";
  let what = [{
    Linear layers of the model, or sizes that a configuration gives, are no multiples of
    16 (scales of tensors and rows, FP4), 32 (MXFP8) or 128 (blocks). Said where kernels
    refuse them, and where at least half of all layers are passed over.
  }];
  let why = [{
    Tensor cores read FP8 operands in pieces of 16 bytes, scales of blocks belong to whole
    blocks. A framework either stops with an error or leaves the layer in BF16 without a
    word, and nothing is faster.
  }];
  let example = [{
    ```
    --hidden-size 1000 --fp8-format hybrid
    ```
  }];
  let instead = [{
    Pad the sizes (a vocabulary to a multiple of 128), or switch padding on
    (`pad_inner_dim`).
  }];
}

def Fp8WithoutBf16 : ConfigRule<"MP427", "fp8-without-bf16"> {
  let summary = "FP8 without a base of BF16";
  let what = [{
    A configuration asks for FP8 and leaves everything else in FP32.
  }];
  let why = [{
    FP8 is for the products of linear layers. Attention, norms and what is sent between
    ranks have the base's dtype, twice as many bytes in FP32 as in BF16; several kernels
    take BF16 only.
  }];
  let example = [{
    ```
    --fp8-format hybrid            # and no --bf16
    ```
  }];
  let instead = [{
    Add `--bf16`.
  }];
}

def RefusedFp8Setting : ConfigRule<"MP428", "refused-fp8-setting"> {
  let severity = "error";
  let summary = "a framework refuses an FP8 setting, or passes it over";
  let what = [{
    A setting of FP8 goes with another one that is missing, or excludes one that is
    there: the framework stops, reads another value than the file's, or trains in BF16.
  }];
  let why = [{
    A job that waited for its nodes stops in the first minute, or a run that is taken for
    FP8 is none.
  }];
  let example = [{
    ```toml
    [float8]
    recipe_name = "rowwise"
    enable_fsdp_float8_all_gather = true      # tensorwise only
    ```
  }];
  let instead = [{
    The finding names the setting that is missing or in the way.
  }];
}

def Fp8Moments : ConfigRule<"MP429", "fp8-moments"> {
  let severity = "error";
  let summary = "second moments of the optimizer are in FP8";
  let what = [{
    A configuration keeps the second moments of Adam in FP8.
  }];
  let why = [{
    They are squares of gradients: what spans 2^9 there spans 2^18 here, more than E4M3
    holds under one scale. Where the second moment is 0 the step is divided by epsilon.
  }];
  let example = [{
    ```
    --use-precision-aware-optimizer --exp-avg-sq-dtype fp8
    ```
  }];
  let instead = [{
    FP32 or BF16 for second moments; first moments may be in FP8 with scales.
  }];
}

def Fp8ScaleSetting : ConfigRule<"MP430", "fp8-scale-setting"> {
  let summary = "a setting of FP8 clips, flushes or biases numbers";
  let what = [{
    A margin below 0 or above 6; E5M2 on the way forward; amax that is not reduced over
    ranks that share a tensor; gradients in FP4 without stochastic rounding and without
    rotations.
  }];
  let why = [{
    A margin divides the format's range by a power of two. Two bits of E5M2 double the
    error of each activation. Ranks with scales of their own read each other's codes by
    the wrong one. Roundings to nearest of four bits do not cancel over steps.
  }];
  let example = [{
    ```
    --fp8-margin 10
    ```
  }];
  let instead = [{
    The defaults: margin 0, HYBRID or E4M3, `reduce_amax`, stochastic rounding.
  }];
}

def Fp8Layers : ConfigRule<"MP431", "fp8-layers"> {
  let summary = "a configuration leaves other layers in BF16 than it means to";
  let what = [{
    A filter is in the name of no linear layer, takes all of them, or is the name of one
    module and a part of another's; as many layers at both ends stay in BF16 as there
    are; or all layers are in FP4.
  }];
  let why = [{
    Filters are parts of names. `mlp.gate`, a router, is in `mlp.gate_proj`, too: a layer
    that a server has in FP8 was trained in BF16. One that misses leaves the output layer
    in FP8.
  }];
  let example = [{
    ```toml
    filter_fqns = ["mlp.gate", "lm_head"]     # the output layer is called output
    ```
  }];
  let instead = [{
    Names that end with the module (`mlp.gate.`), or as the finding says.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_FP8_TD
