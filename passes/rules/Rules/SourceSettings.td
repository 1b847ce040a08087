//===- SourceSettings.td - MP7xx: settings in scripts -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_SOURCESETTINGS_TD
#define MPOPT_PASSES_RULES_RULES_SOURCESETTINGS_TD

include "passes/rules/RuleBase.td"

def ReducedPrecisionReduction : SettingRule<"MP761", "reduced-precision-reduction"> {
  let severity = "note";
  let fix = "safe";
  let summary = "partial sums of matrix products may be added in 16 bits";
  let what = [{
    A flag of `torch.backends.cuda.matmul` is set to True:
    `allow_fp16_reduced_precision_reduction`, its BF16 twin, or
    `allow_fp16_accumulation`.
  }];
  let why = [{
    With split-K, partial sums are rounded to 16 bits before they are added: a sum past
    65504 is Inf although the result is in range. MP107 says for a model how long its
    sums are.
  }];
  let example = [{
    ```python
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True
    ```
  }];
  let instead = [{
    False, which `--fix` writes: cuBLAS then adds in FP32.
  }];
}

def LowPrecisionMatmul : SettingRule<"MP762", "low-precision-matmul"> {
  let severity = "warning";
  let summary = "FP32 matrix products are computed with TF32 or BF16 factors";
  let what = [{
    `torch.backends.cuda.matmul.allow_tf32 = True`, or
    `torch.set_float32_matmul_precision` with `"high"` (TF32) or `"medium"` (BF16, a
    warning).
  }];
  let why = [{
    Fine for most training, and worth knowing where FP32 was chosen for its digits:
    inside `autocast(enabled=False)`, for reference runs, and in optimizers that
    multiply matrices.
  }];
  let example = [{
    ```python
    torch.set_float32_matmul_precision("medium")
    ```
  }];
  let instead = [{
    `"highest"` where FP32 is meant.
  }];
}

def DeprecatedAmp : SettingRule<"MP763", "deprecated-amp"> {
  let severity = "note";
  let fix = "sometimes";
  let summary = "autocast or GradScaler under a deprecated name";
  let what = [{
    `torch.cuda.amp` and `torch.cpu.amp` are imported from, or `autocast`,
    `GradScaler`, `custom_fwd` or `custom_bwd` is called there.
  }];
  let why = [{
    Deprecated since PyTorch 2.4, for `torch.amp` with the device as an argument.
  }];
  let example = [{
    ```python
    from torch.cuda.amp import GradScaler, autocast
    ```
  }];
  let instead = [{
    `torch.amp.autocast("cuda")`, `torch.amp.GradScaler("cuda")`. `--fix` changes
    imports and calls together.
  }];
}

def ApexAmp : SettingRule<"MP764", "apex-amp"> {
  let severity = "note";
  let summary = "mixed precision by Apex";
  let what = [{
    `apex.amp.initialize` or `apex.amp.scale_loss` is called.
  }];
  let why = [{
    Apex's amp has been superseded by PyTorch's own since 1.6, and is no longer developed. O2 and O3
    keep weights or all of the model in FP16, which autocast does not.
  }];
  let example = [{
    ```python
    model, optimizer = amp.initialize(model, optimizer, opt_level="O2")
    ```
  }];
  let instead = [{
    `torch.amp.autocast` and `torch.amp.GradScaler`.
  }];
}

def DeepspeedConflict : SettingRule<"MP765", "deepspeed-conflict"> {
  let severity = "error";
  let summary = "a DeepSpeed configuration in the script contradicts itself";
  let what = [{
    A dict of the script with DeepSpeed's keys enables fp16 and bf16 at once, or amp
    beside one of them, has a fixed `loss_scale` and the start of a dynamic one, or a
    `train_batch_size` that is no multiple of samples times passes.
  }];
  let why = [{
    DeepSpeed refuses to start, or passes over one of the two settings in silence.
  }];
  let example = [{
    ```python
    config = {"fp16": {"enabled": True}, "bf16": {"enabled": True}}
    ```
  }];
  let instead = [{
    One type. `mpopt --check --train --train-config FILE` judges the rest.
  }];
}

def FsdpConflict : SettingRule<"MP766", "fsdp-conflict"> {
  let severity = "warning";
  let summary = "types of FSDP's mixed precision do not fit together";
  let what = [{
    `MixedPrecision` with gradients that are summed in another 16-bit type than the
    parameters have, or in 16 bits under a model in FP32, or in FP16; a GradScaler beside
    FSDP in FP16 that is not the sharded one; or PyTorch's clipping of a module that is
    sharded.
  }];
  let why = [{
    A sum over 64 ranks in FP16 is Inf where each gradient is below 1100, and BF16 keeps
    three digits of it. A scaler that sees one rank's part of the gradients lets ranks
    disagree on skipping a step; a norm of one rank's part is another one on each rank.
    MP413 says the same of a training configuration.
  }];
  let example = [{
    ```python
    policy = MixedPrecision(param_dtype=torch.float16, reduce_dtype=torch.float16)
    ```
  }];
  let instead = [{
    `reduce_dtype=torch.float32`, `ShardedGradScaler`, and `model.clip_grad_norm_`.
  }];
}

def TrainerConflict : SettingRule<"MP767", "trainer-conflict"> {
  let severity = "error";
  let summary = "arguments of a Hugging Face trainer contradict each other";
  let what = [{
    `TrainingArguments`, or a configuration of TRL, with fp16 and bf16 at once, with
    FP16 evaluation of a model that trains in BF16, with apex for BF16; or with fp16
    for a model whose weights the file loads in FP16.
  }];
  let why = [{
    The trainer raises an error at the start, or at the first step: `Attempting to
    unscale FP16 gradients`.
  }];
  let example = [{
    ```python
    TrainingArguments("out", fp16=True, bf16=True)
    ```
  }];
  let instead = [{
    One of them, and weights in FP32.
  }];
}

def LightningConflict : SettingRule<"MP768", "lightning-conflict"> {
  let severity = "warning";
  let summary = "arguments of Lightning's trainer contradict each other";
  let what = [{
    `Trainer` with FP16 on the CPU, with `precision` and a precision plugin at once, or
    with mixed precision beside a GradScaler that the script makes itself.
  }];
  let why = [{
    Lightning raises an error or takes another type; a scaler of one's own divides by
    a scale that the trainer's scaler did not multiply with.
  }];
  let example = [{
    ```python
    Trainer(precision="16-mixed", plugins=[MixedPrecision("16-mixed", "cuda")])
    ```
  }];
  let instead = [{
    `precision` alone.
  }];
}

def AccelerateBypassed : SettingRule<"MP769", "accelerate-bypassed"> {
  let severity = "warning";
  let fix = "sometimes";
  let summary = "backward, clipping or a step passes by the Accelerator";
  let what = [{
    A script that prepares its model with an Accelerator calls `loss.backward()` only;
    clips with PyTorch's function, or steps an optimizer that is not prepared, although
    the precision may be FP16; hands over a loss that is scaled already; or divides it
    by the passes of a step itself.
  }];
  let why = [{
    `accelerator.backward` scales the loss and divides it by the passes of a step;
    `accelerator.clip_grad_norm_` takes the scale off first. Without them FP16
    gradients underflow, or are clipped at a limit that is 65536 times too small.
  }];
  let example = [{
    ```python
    accelerator.backward(loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    ```
  }];
  let instead = [{
    `accelerator.clip_grad_norm_(model.parameters(), 1.0)`, which `--fix` writes.
  }];
}

def EngineBypassed : SettingRule<"MP770", "engine-bypassed"> {
  let severity = "warning";
  let fix = "sometimes";
  let summary = "backward or clipping passes by DeepSpeed or Lightning";
  let what = [{
    With a DeepSpeed engine: `loss.backward()` under FP16, PyTorch's clipping, or a loss
    that is divided by the passes of a step before `engine.backward` does it. In a module
    of Lightning: gradients that are clipped or read in `on_after_backward`, or
    `loss.backward()` in a `training_step` that steps by itself; PyTorch's clipping beside
    Fabric's `16-mixed`. A note where the file does not show that the precision is FP16.
  }];
  let why = [{
    The engine or the trainer has the loss scale: what passes by it is not scaled and
    still divided by 65536, or clipped at a limit that is 65536 times too small. Lightning
    takes the scale off after `on_after_backward`, and DeepSpeed steps with gradients that
    it keeps in buffers of its own.
  }];
  let example = [{
    ```python
    def on_after_backward(self):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
    ```
  }];
  let instead = [{
    `on_before_optimizer_step`, or `Trainer(gradient_clip_val=1.0)`;
    `self.manual_backward(loss)`, which `--fix` writes. `gradient_clipping` in DeepSpeed's
    configuration, and `engine.backward(loss)` of the loss as it is.
  }];
}

def ConfiguredInHalf : SettingRule<"MP771", "configured-in-half"> {
  let severity = "warning";
  let summary = "a configuration keeps weights, or sums of gradients, in 16 bits";
  let what = [{
    DeepSpeed: `fp16_master_weights_and_grads`, or `data_types.grad_accum_dtype` in 16
    bits where a step has several passes. torchtitan: `training.dtype` or
    `mixed_precision_reduce` in 16 bits. torchtune: `dtype` of a full training in 16
    bits. Lightning's `trainer.precision` of `16-true` or `bf16-true`, and `pure_bf16`.
    In JSON, TOML and YAML files, and dictionaries of scripts. Trainings of adapters are
    left out, and optimizers that round at random.
  }];
  let why = [{
    An update below 2^-12 of its weight in FP16, or 2^-9 in BF16, is lost; so is what a
    pass adds to a sum of gradients.
  }];
  let example = [{
    ```toml
    [training]
    dtype = "bfloat16"
    ```
  }];
  let instead = [{
    FP32 there, and 16 bits for the forward pass: `mixed_precision_param = "bfloat16"`,
    `bf16-mixed`, DeepSpeed's `bf16`.
  }];
}

def RolloutInAnotherFormat : SettingRule<"MP772", "rollout-in-another-format"> {
  let severity = "warning";
  let summary = "an engine samples in another format than the policy trains in";
  let what = [{
    A script that trains in FP16 or BF16 makes an engine of vLLM or SGLang with another
    `dtype`, or with `quantization`; a note where both are in BF16.
  }];
  let why = [{
    Tokens are sampled by one policy and weighted as those of another one: the difference
    of the log-probabilities grows with the length, and the gradient is biased.
  }];
  let example = [{
    ```python
    llm = vllm.LLM(name, dtype="float16")
    trainer = GRPOTrainer(model, args=GRPOConfig(bf16=True))
    ```
  }];
  let instead = [{
    One `dtype` in both: FP16 with a loss scaler, whose digits make two engines agree
    8 times better than BF16's. Else correct by the ratio of both probabilities.
  }];
}

def CompressedGradients : SettingRule<"MP773", "compressed-gradients"> {
  let severity = "warning";
  let summary = "a hook compresses gradients for the sum over workers and keeps none of the error";
  let what = [{
    `register_comm_hook` with `fp16_compress_hook` where no GradScaler is made, or with
    `bf16_compress_hook` (a note); `PowerSGDState` with `use_error_feedback=False`; a note
    where `fp16_compress_wrapper` or `bf16_compress_wrapper` is around a hook that feeds its
    own error back: the cast comes after it. PowerSGD by itself, and DeepSpeed's 1-bit Adam,
    0/1 Adam and 1-bit LAMB, feed their error back and are silent.
  }];
  let why = [{
    The hook casts each bucket: below 2^-25 FP16 has 0, and the same elements are lost in
    each step, since nothing adds what was lost to the next one. With a GradScaler gradients
    are 65536 times larger there. BF16 rounds to 2^-9 of each element, which is noise of the
    size of 0.2 %. A compression without feedback converges to another point (Karimireddy
    et al., 2019, "Error Feedback Fixes SignSGD").
  }];
  let example = [{
    ```python
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    ```
  }];
  let instead = [{
    `bf16_compress_hook`, a GradScaler, or no hook; `PowerSGDState(process_group=None,
    use_error_feedback=True)`.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_SOURCESETTINGS_TD
