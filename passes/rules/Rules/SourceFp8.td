//===- SourceFp8.td - MP7xx: FP8 in scripts ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_SOURCEFP8_TD
#define MPOPT_PASSES_RULES_RULES_SOURCEFP8_TD

include "passes/rules/RuleBase.td"

// About TransformerEngine's and torchao's FP8.
class Fp8Rule<string ruleId, string ruleName>
    : SourceRule<ruleId, ruleName, "fp8">;

def Fp8BackwardInRegion : Fp8Rule<"MP781", "fp8-backward-in-region"> {
  let severity = "warning";
  let fix = "sometimes";
  let summary = "backward() is called inside of an FP8 region";
  let what = [{
    A backward pass inside of TransformerEngine's `fp8_autocast` (`te.autocast`). A note
    where the recipe is not known, or is another one than delayed scaling.
  }];
  let why = [{
    The formats of the backward pass are those of the forward pass, whatever is around
    it. The end of the region takes the largest magnitudes of the forward pass over all
    ranks and makes the next scales of them; TransformerEngine's guide asks for the
    backward pass after that.
  }];
  let example = [{
    ```python
    with te.fp8_autocast(fp8_recipe=recipe):
        loss = model(x).mean()
        loss.backward()
    ```
  }];
  let instead = [{
    `loss.backward()` behind the `with`, which `--fix` writes.
  }];
}

def Fp8OddSize : Fp8Rule<"MP782", "fp8-odd-size"> {
  let severity = "error";
  let summary = "a layer runs in FP8 whose sizes are no multiple of 16";
  let what = [{
    A linear layer of TransformerEngine runs in an FP8 region, or one of a model is
    converted by torchao without a filter, with a number of features that 16 does not
    divide; 32 under `MXFP8BlockScaling`.
  }];
  let why = [{
    The kernels for FP8 products have no other sizes: the first step raises an error.
  }];
  let example = [{
    ```python
    head = te.Linear(768, 50257)
    with te.fp8_autocast(fp8_recipe=recipe):
        logits = head(x)
    ```
  }];
  let instead = [{
    A size that is padded to the next multiple (50304), or this layer outside of the
    region, or left out by torchao's `module_filter_fn`.
  }];
}

def Fp8GradientsInE4m3 : Fp8Rule<"MP783", "fp8-gradients-in-e4m3"> {
  let severity = "warning";
  let summary = "a training whose FP8 gradients are E4M3, with one scale a tensor";
  let what = [{
    `fp8_format=Format.E4M3` in `DelayedScaling`, `Float8CurrentScaling` or Accelerate's
    `TERecipeKwargs`, in a script that trains.
  }];
  let why = [{
    With one scale for a tensor, E4M3 holds numbers down to 2^-18 of the largest one,
    and E5M2 down to 2^-32. Gradients of a layer span more than 2^18: the small ones
    become 0. Recipes with a scale for each block (`MXFP8BlockScaling`,
    `Float8BlockScaling`) are E4M3 throughout, and not meant.
  }];
  let example = [{
    ```python
    recipe = DelayedScaling(fp8_format=Format.E4M3)
    ```
  }];
  let instead = [{
    `Format.HYBRID`, the default: E4M3 in the forward pass, E5M2 for gradients.
  }];
}

def Fp8ShortHistory : Fp8Rule<"MP784", "fp8-short-history"> {
  let severity = "warning";
  let summary = "FP8 scales follow the largest magnitude of one step";
  let what = [{
    `DelayedScaling` or Accelerate's `TERecipeKwargs` with `amax_history_len=1`, or with
    `amax_compute_algo="most_recent"`, in a script that trains.
  }];
  let why = [{
    Delayed scaling casts by magnitudes of earlier steps. With one of them, each step
    that is larger than the one before saturates, which clips activations and gradients
    without a word. The largest of many steps leaves room.
  }];
  let example = [{
    ```python
    recipe = DelayedScaling(amax_history_len=1)
    ```
  }];
  let instead = [{
    `amax_history_len=1024, amax_compute_algo="max"`, TransformerEngine's defaults; or
    `Float8CurrentScaling`, which has the magnitude of the tensor itself.
  }];
}

def Fp8AroundFp32 : Fp8Rule<"MP785", "fp8-around-fp32"> {
  let severity = "note";
  let summary = "an FP8 region around a model in FP32, without autocast to BF16";
  let what = [{
    A module of the file runs in TransformerEngine's FP8 region, no region of
    `torch.autocast` is around it, and the program names no type of 16 bits.
  }];
  let why = [{
    FP8 is for matrix products alone. What the layers hand on, norms, attention and what
    is saved for the backward pass are FP32 then: twice the memory, and slower than
    training in BF16 where these ops dominate.
  }];
  let example = [{
    ```python
    model = Net().cuda()
    with te.fp8_autocast(fp8_recipe=recipe):
        out = model(x)
    ```
  }];
  let instead = [{
    `torch.autocast("cuda", dtype=torch.bfloat16)` around the FP8 region, or weights in
    BF16 with FP32 copies in the optimizer.
  }];
}

def Fp8LastLayer : Fp8Rule<"MP786", "fp8-last-layer"> {
  let severity = "note";
  let summary = "torchao converts every linear layer to FP8, the first and last among them";
  let what = [{
    `convert_to_float8_training` without `module_filter_fn`.
  }];
  let why = [{
    All of a model's `nn.Linear` become FP8 layers. The last one gives the logits, whose
    small differences are what the loss is about, and the first one gets what no norm has
    scaled; recipes for FP8 keep both in BF16.
  }];
  let example = [{
    ```python
    convert_to_float8_training(model)
    ```
  }];
  let instead = [{
    ```python
    convert_to_float8_training(model, module_filter_fn=lambda module, name: name != "output")
    ```
  }];
}

def Fp8StateNotSaved : Fp8Rule<"MP787", "fp8-state-not-saved"> {
  let severity = "warning";
  let summary = "a checkpoint leaves out the scales of FP8 layers";
  let what = [{
    A checkpoint of a script that uses TransformerEngine is made of the entries of a
    `state_dict()` without those that are named `_extra_state`.
  }];
  let why = [{
    TransformerEngine keeps scales and histories of magnitudes there. Without them a
    training that goes on starts with scales of 1: in its first step magnitudes above
    448 saturate, and gradients below 2^-17 are 0.
  }];
  let example = [{
    ```python
    state = {k: v for k, v in model.state_dict().items() if "_extra_state" not in k}
    torch.save(state, path)
    ```
  }];
  let instead = [{
    The whole `state_dict()`. For an export to another library the entries may be left
    out: `# noqa: MP787`.
  }];
}

def Fp8EvaluationOutside : Fp8Rule<"MP788", "fp8-evaluation-outside"> {
  let severity = "note";
  let summary = "a model trains in an FP8 region, and is evaluated outside of one";
  let what = [{
    A module runs with gradients in an FP8 region of TransformerEngine, and without
    gradients outside of one.
  }];
  let why = [{
    The evaluation measures the weights in BF16 or FP32. It is the better of the two, and
    does not say what the model does in FP8: a format or scale that fails is not seen in
    it, and training and validation losses are not comparable.
  }];
  let example = [{
    ```python
    with te.fp8_autocast(fp8_recipe=recipe):
        loss = model(x).mean()
    with torch.no_grad():
        validation = model(y).mean()
    ```
  }];
  let instead = [{
    The region around the evaluation, too, if the model is served in FP8.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_SOURCEFP8_TD
