//===- Fp8.td - MP42x and MP43x: training in FP8 ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts of a configuration (lib/Train) and of the layers under it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_RULES_RULES_FP8_TD
#define MPOPT_PASSES_RULES_RULES_FP8_TD

include "passes/rules/RuleBase.td"

def Fp8GradientFlush : ConfigRule<"MP420", "fp8-gradient-flush"> {
  let summary = "a recipe of FP8 reads gradients of a layer as 0";
  let what = [{
    A tenth or more of the non-zero elements of a layer's gradient is expected to be read
    as 0 in a product of gradients, and that layer alone changes a parameter's gradient by
    more than `--max-gradient-error`. Layers that a file keeps in BF16 do not count.
  }];
  let why = [{
    One scale holds 2^15 in E4M3 and 2^32 in E5M2. Where the rows or channels of a gradient
    span more, those far below the largest are lost for all that is behind them.
  }];
  let example = [{
    ```
    --precision fp8:rowwise      # the gradient's columns span 2^20
    ```
  }];
  let instead = [{
    The recipe that the finding names, whose scales have finer groups, or the layer in
    BF16.
  }];
}

def Mxfp8E5m2 : ConfigRule<"MP421", "mxfp8-e5m2"> {
  let severity = "error";
  let summary = "gradients are in E5M2 under scales of blocks";
  let what = [{
    A configuration trains with scales of blocks (MXFP8, 1 x 128) and the hybrid format:
    E4M3 forward, E5M2 for gradients.
  }];
  let why = [{
    A scale for a block has the range that E5M2's exponent is for, so that its two
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

def Fp8WeightGrowth : ConfigRule<"MP423", "fp8-weight-growth"> {
  let summary = "a step changes a weight past the scale of the step before";
  let what = [{
    A recipe takes the scales of weights from earlier steps, and a step of Adam changes a
    weight by more than the largest magnitude of all.
  }];
  let why = [{
    Adam's first step is the learning rate for each weight. Weights that begin at 0, those
    of adapters, are all clipped to the scale of the step before.
  }];
  let example = [{
    ```
    --fp8-recipe delayed --lr 1e-3      # weights of an adapter, all 0
    ```
  }];
  let instead = [{
    A recipe that scales by the tensor itself (`current`), a smaller learning rate while
    it warms up, or the layer in BF16.
  }];
}

def Fp8ZeroScale : ConfigRule<"MP424", "fp8-zero-scale"> {
  let severity = "error";
  let summary = "groups of zeros have no scale";
  let what = [{
    A recipe says that the least amax is 0 (`least`), or so small that the largest code
    over it leaves FP32 (1.7e-34), and rows, blocks or tensors of an operand are expected to
    be all zeros: padding, experts without tokens, weights that begin at 0.
  }];
  let why = [{
    The scale is amax / 448: 0 / 0 is NaN, and one NaN of a block makes the whole product
    NaN.
  }];
  let example = [{
    ```json
    {"schema": "mpopt-fp8-recipe/1", "recipe": "rowwise", "least": 0}
    ```
  }];
  let instead = [{
    An epsilon (`least`: 1e-12, torchao's), or 1 as the scale of such groups.
  }];
}

def Fp8SumLength : ConfigRule<"MP425", "fp8-sum-length"> {
  let summary = "a sum of FP8 products is longer than its accumulator holds";
  let what = [{
    The weight's gradient is added without a second accumulator
    (`use_split_accumulator` is false), over so many rows that what 14 bits cut off is
    more than the rounding of the operands.
  }];
  let why = [{
    Hopper's FP8 instructions add 32 products at a time to a sum of 14 bits, and cut off.
    Each cut is half a unit to one side on average, so that m products lose m / 32 halves
    of 2^-14.
  }];
  let example = [{
    ```json
    {"schema": "mpopt-fp8-recipe/1", "fp8_gemm_wgrad": {"use_split_accumulator": false}}
    ```
  }];
  let instead = [{
    `use_split_accumulator` true for gradients, TransformerEngine's default.
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
    A margin below 0 or above 6; E5M2 on the way forward; E4M3 for gradients under one
    scale a tensor; amax that is not reduced over
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

def Fp8GradientError : ConfigRule<"MP432", "fp8-gradient-error"> {
  let severity = "error";
  let summary = "FP8 changes half of all gradients by a third or more";
  let what = [{
    Under the recipe half of the parameters have gradients that are expected to be off by
    35 % or more (root mean square) of those of the same step in FP32. Layers that a file keeps
    in BF16 have errors of BF16.
  }];
  let why = [{
    Roundings of each layer add up over depth, where no norm bounds them, and a difference
    of numbers that nearly cancel has the error of both. The update then points elsewhere.
  }];
  let example = [{
    ```
    --precision fp8:nvfp4      # all layers of a small network
    ```
  }];
  let instead = [{
    The cheapest recipe that the finding names, or the layers that it names in BF16.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_FP8_TD
