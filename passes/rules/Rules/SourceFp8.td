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
    `TERecipeKwargs`, in a script that trains; or a cast to E4M3 by the largest magnitude
    of the tensor of what `backward` of an autograd function is handed.
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

def Fp8CastUnclamped : Fp8Rule<"MP789", "fp8-cast-unclamped"> {
  let severity = "warning";
  let summary = "a cast to FP8 by a scale that is kept, and nothing limits the numbers";
  let what = [{
    A tensor times or over a scale that a module keeps, or a number, is cast to a format of
    8 bits without a clamp. A scale of the tensor's own largest magnitude needs none.
  }];
  let why = [{
    E4M3 has no infinity. What is past 464 becomes NaN in PyTorch's cast, where kernels of
    inference saturate; one element in ten thousand is enough for a row that is NaN.
  }];
  let example = [{
    ```python
    codes = (x / self.input_scale).to(torch.float8_e4m3fn)
    ```
  }];
  let instead = [{
    `(x / self.input_scale).clamp(-448, 448).to(torch.float8_e4m3fn)`.
  }];
}

def Fp8ScaleOfZeros : Fp8Rule<"MP790", "fp8-scale-of-zeros"> {
  let severity = "warning";
  let summary = "a scale of FP8 that numbers which are all 0 make Inf or NaN";
  let what = [{
    A scale comes from the largest magnitude of a tensor, row or block, and no limit from
    below keeps that from 0; or the limit is so small that the largest code over it leaves
    FP32 (1.7e-34).
  }];
  let why = [{
    Padding, experts without tokens and weights that begin at 0 have groups of zeros:
    448 / 0 is Inf and 0 times that is NaN, as is 0 / 0.
  }];
  let example = [{
    ```python
    scale = 448 / x.abs().amax(-1, keepdim=True)
    ```
  }];
  let instead = [{
    `x.abs().amax(-1, keepdim=True).clamp(min=1e-12)`, torchao's limit.
  }];
}

def Fp8OtherMaximum : Fp8Rule<"MP791", "fp8-other-maximum"> {
  let severity = "error";
  let summary = "a scale is made for another format's largest number";
  let what = [{
    The largest number of one FP8 format, as a constant or by `torch.finfo`, limits or
    scales what is cast to a format whose own is smaller.
  }];
  let why = [{
    E4M3 ends at 448, its FNUZ variant of MI300 at 240, E5M2 at 57344. Whatever is above
    saturates or becomes NaN: of a scale made for 448, the upper half of a tensor's range.
  }];
  let example = [{
    ```python
    codes = (x / (amax / 448)).to(torch.float8_e4m3fnuz)
    ```
  }];
  let instead = [{
    `torch.finfo(dtype).max` of the dtype that the cast has.
  }];
}

def Fp8StaleScale : Fp8Rule<"MP792", "fp8-stale-scale"> {
  let severity = "warning";
  let summary = "a scale, or codes that are kept, belong to other numbers";
  let what = [{
    The largest magnitude of each pass is written over that of the pass before, and several
    passes go before a step; `is_first_microbatch` is not true again after a step;
    torchao's scales for FSDP are computed before the step that changes the weights; or
    codes of a weight that are cast once are read by the scale of the weight as it is now.
  }];
  let why = [{
    The next step clips what the last pass did not have, or multiplies by weights that were
    cast before the optimizer changed them. Nothing fails: training is a little worse.
  }];
  let example = [{
    ```python
    def forward(self, x):
        self.amax = x.detach().abs().max()      # of each pass of an accumulation
    ```
  }];
  let instead = [{
    `torch.maximum(self.amax, x.detach().abs().max())` until scales are made;
    `is_first_microbatch` by the number of the pass; scales computed behind the step.
  }];
}

def Fp8AmaxGroup : Fp8Rule<"MP793", "fp8-amax-group"> {
  let severity = "error";
  let summary = "ranks that share a tensor have scales of their own";
  let what = [{
    `fp8_group` of an FP8 region is a group of data parallelism, and layers run with
    sequence parallelism; or a script reduces a largest magnitude over such a group and
    gathers the codes over a tensor group.
  }];
  let why = [{
    Each rank of a tensor group casts its tokens and gathers the codes of the others, which
    it reads by its own scale. Scales agree if magnitudes are reduced over the tensor group,
    too; without that the run diverges after a thousand steps.
  }];
  let example = [{
    ```python
    with te.fp8_autocast(fp8_recipe=recipe, fp8_group=data_group):
    ```
  }];
  let instead = [{
    A group of all ranks that share a tensor or its replicas, or none: all ranks.
  }];
}

def Fp8NotUsed : Fp8Rule<"MP794", "fp8-not-used"> {
  let severity = "warning";
  let summary = "FP8 in which no layer of the model takes part";
  let what = [{
    A module whose layers are all of `torch.nn` runs in an FP8 region, and nothing in the
    program makes or converts to a layer of TransformerEngine; or torchao converts a copy, a
    module or a single layer, and the result is dropped.
  }];
  let why = [{
    The region tells TransformerEngine's layers to compute in FP8. Others do not look at it:
    the run is in BF16 or FP32, and nothing says so. torchao exchanges the layers that a module
    holds, in place: not the module itself, and not those of the model of which it has a copy.
  }];
  let example = [{
    ```python
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024))
    with te.fp8_autocast(fp8_recipe=recipe):
        out = model(x)
    ```
  }];
  let instead = [{
    `te.Linear`, `te.LayerNormMLP` and the like.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_SOURCEFP8_TD
