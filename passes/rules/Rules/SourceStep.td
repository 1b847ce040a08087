//===- SourceStep.td - MP7xx: the training step in scripts --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_SOURCESTEP_TD
#define MPOPT_PASSES_RULES_RULES_SOURCESTEP_TD

include "passes/rules/RuleBase.td"

def ClipWithoutUnscale : StepRule<"MP721", "clip-without-unscale", "scaler"> {
  let severity = "error";
  let fix = "sometimes";
  let summary = "gradients are clipped while they carry the loss scale";
  let what = [{
    On every path through the step that has both, `clip_grad_norm_` or
    `clip_grad_value_` follows the backward pass of a scaled loss without
    `scaler.unscale_(optimizer)` in between.
  }];
  let why = [{
    The gradients are 65536 times what they are at the start, so any norm is over the
    limit: each step is as long as the limit over the scale, and training all but
    stops.
  }];
  let example = [{
    ```python
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    ```
  }];
  let instead = [{
    `scaler.unscale_(optimizer)` before. `--fix` writes it where the file shows the
    optimizer.
  }];
}

def GradientReadWithoutUnscale : StepRule<"MP722", "gradient-read-without-unscale", "scaler"> {
  let severity = "warning";
  let summary = "the size of a gradient is read while it carries the loss scale";
  let what = [{
    The norm, mean or extreme of a `.grad` is taken, or something is added to it,
    behind the backward pass of a scaled loss and before `unscale_` and `step`.
  }];
  let why = [{
    What is logged or compared with a limit is off by the scale, which moves by
    factors of 2 all the time.
  }];
  let example = [{
    ```python
    scaler.scale(loss).backward()
    norm = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
    ```
  }];
  let instead = [{
    `scaler.unscale_(optimizer)` before, or divide by `scaler.get_scale()`.
  }];
}

def UnscaleTwice : StepRule<"MP723", "unscale-twice", "scaler"> {
  let severity = "error";
  let summary = "gradients of one optimizer are unscaled twice in a step";
  let what = [{
    On a path through the step `scaler.unscale_` is called twice with the same
    optimizer, and `scaler.update()` does not come in between; or it runs in each pass
    of a loop whose `update()` runs in every nth.
  }];
  let why = [{
    The second call raises a RuntimeError.
  }];
  let example = [{
    ```python
    scaler.unscale_(optimizer)
    log(norm_of(model))
    if clip:
        scaler.unscale_(optimizer)
    ```
  }];
  let instead = [{
    One `unscale_`, behind the last backward pass of the step.
  }];
}

def StepBesideScaler : StepRule<"MP724", "step-beside-scaler", "scaler"> {
  let severity = "error";
  let fix = "sometimes";
  let summary = "optimizer.step() is called although the loss was scaled";
  let what = [{
    Behind the backward pass of a scaled loss an optimizer steps itself, on every path
    that has both, and the scaler never steps it; also behind `scaler.unscale_`, which
    divides by the scale and leaves it to `scaler.step` to skip a step.
  }];
  let why = [{
    The gradients are too large by the scale, and a step with Inf or NaN in them is
    taken: the weights are lost with it.
  }];
  let example = [{
    ```python
    scaler.scale(loss).backward()
    optimizer.step()
    scaler.update()
    ```
  }];
  let instead = [{
    `scaler.step(optimizer)`.
  }];
}

def ScalerNeverUpdated : StepRule<"MP725", "scaler-never-updated", "scaler"> {
  let severity = "error";
  let fix = "safe";
  let summary = "the scaler steps, and update() is never called";
  let what = [{
    A file calls `scaler.step(optimizer)` and nowhere `scaler.update()`, and passes the
    scaler to no function.
  }];
  let why = [{
    The next `step` raises a RuntimeError. The scale does not fall after an overflow,
    either.
  }];
  let example = [{
    ```python
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    ```
  }];
  let instead = [{
    `scaler.update()` behind it, once a step for all optimizers.
  }];
}

def UpdateWithoutStep : StepRule<"MP726", "update-without-step", "scaler"> {
  let severity = "error";
  let summary = "scaler.update() runs in passes that do not step";
  let what = [{
    The scaler steps in some passes of the loop only, as for accumulated gradients,
    and there is a path on which `update()` follows a scaled backward pass without
    step or `unscale_`.
  }];
  let why = [{
    `update()` asks for what `step` or `unscale_` found in the gradients, and raises
    an AssertionError where neither ran. Were it to pass, the gradients of one step
    would be added at two scales.
  }];
  let example = [{
    ```python
    scaler.scale(loss / passes).backward()
    if (i + 1) % passes == 0:
        scaler.step(optimizer)
    scaler.update()
    ```
  }];
  let instead = [{
    `scaler.update()` behind `scaler.step(optimizer)`, under the same condition.
  }];
}

def UndividedAccumulation : StepRule<"MP727", "undivided-accumulation", "scaler"> {
  let severity = "warning";
  let dtypes = ["f16", "bf16"];
  let summary = "gradients of several passes are added, and the loss is not divided";
  let what = [{
    A loop steps in every nth pass, and calls `backward()` in all of them on a mean
    that the file shows from where it is computed and that nothing divides or
    weighs.
  }];
  let why = [{
    The gradient is n times that of the whole batch: so is the step of SGD, a norm to
    be clipped is over its limit, and FP16 has less room below Inf.
  }];
  let example = [{
    ```python
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    if (i + 1) % passes == 0:
        optimizer.step()
    ```
  }];
  let instead = [{
    `(loss / passes).backward()`.
  }];
}

def ScalerWithBf16 : StepRule<"MP728", "scaler-with-bf16", "scaler"> {
  let severity = "note";
  let dtypes = ["bf16"];
  let summary = "a loss scaler beside autocast to BF16";
  let what = [{
    All autocast regions of a file are in BF16, and a GradScaler that is enabled in
    any case steps the optimizer.
  }];
  let why = [{
    BF16 has FP32's exponents: nothing underflows that a scale would save. The scaler
    costs a pass over all gradients and a synchronisation a step, and grows until it
    overflows, which skips steps.
  }];
  let example = [{
    ```python
    scaler = torch.amp.GradScaler("cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(model(x), y)
    ```
  }];
  let instead = [{
    `torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)`.
  }];
}

def Fp16WithoutScaler : StepRule<"MP729", "fp16-without-scaler", "scaler"> {
  let severity = "warning";
  let summary = "autocast to FP16, and no loss scaler in the file";
  let what = [{
    The forward pass or the loss of a backward pass is autocast to FP16, the default
    of CUDA, and the file neither has a scaler nor uses a framework that brings one.
  }];
  let why = [{
    Gradients of activations are in FP16: below 6e-8 they are 0, and a mean over a
    batch divides all of them by its size. MP401 says of a model how many.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda"):
        loss = criterion(model(x), y)
    loss.backward()
    ```
  }];
  let instead = [{
    `torch.amp.GradScaler("cuda")`, or `dtype=torch.bfloat16`.
  }];
}

def ScalerStateNotSaved : StepRule<"MP730", "scaler-state-not-saved", "scaler"> {
  let severity = "note";
  let summary = "a checkpoint has the optimizer's state and not the scaler's";
  let what = [{
    `torch.save` gets a dict with an optimizer's `state_dict()`, a scaler steps in the
    same file, and its `state_dict()` is nowhere in it.
  }];
  let why = [{
    After a restart the scale begins at 65536 again: some steps are skipped until it
    has come down, and growth starts anew. A run that resumes is another run.
  }];
  let example = [{
    ```python
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    ```
  }];
  let instead = [{
    `"scaler": scaler.state_dict()`, and `load_state_dict` on resuming.
  }];
}

def GradientsClearedBeforeStep : StepRule<"MP731", "gradients-cleared-before-step", "step"> {
  let severity = "error";
  let summary = "zero_grad() between backward() and step()";
  let what = [{
    On every path that has them, `zero_grad()` of an optimizer follows a backward pass,
    and its step follows without another one.
  }];
  let why = [{
    The step sees no gradient at all: weights do not change, or only by momentum and
    weight decay.
  }];
  let example = [{
    ```python
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    ```
  }];
  let instead = [{
    `zero_grad()` behind the step, or before the backward pass.
  }];
}

def GradientsNeverCleared : StepRule<"MP732", "gradients-never-cleared", "step"> {
  let severity = "error";
  let summary = "a training loop that never clears gradients";
  let what = [{
    A loop of the file has both a backward pass and the step of an optimizer that the
    file makes, and nothing in the file clears gradients.
  }];
  let why = [{
    Each step uses the sum of all gradients since the start; in FP16 the sum reaches
    Inf sooner or later.
  }];
  let example = [{
    ```python
    for x, y in loader:
        F.mse_loss(model(x), y).backward()
        optimizer.step()
    ```
  }];
  let instead = [{
    `optimizer.zero_grad()` at the start of each pass.
  }];
}

def ScaledStepWithoutScale : StepRule<"MP733", "scaled-step-without-scale", "scaler"> {
  let severity = "error";
  let fix = "sometimes";
  let summary = "the scaler steps, and the loss was never scaled";
  let what = [{
    `scaler.step(optimizer)` follows the backward pass of a loss that is not scaled,
    in a file that calls `scale` nowhere.
  }];
  let why = [{
    The scaler divides the gradients by a scale by which no loss was multiplied: steps are
    65536 times too small, and gradients underflow as without a scaler.
  }];
  let example = [{
    ```python
    loss.backward()
    scaler.step(optimizer)
    scaler.update()
    ```
  }];
  let instead = [{
    `scaler.scale(loss).backward()`.
  }];
}

def UpdateBetweenSteps
    : StepRule<"MP734", "update-between-steps", "scaler"> {
  let severity = "error";
  let fix = "sometimes";
  let summary = "scaler.update() between the steps of two optimizers";
  let what = [{
    On every path through the step that has them, `scaler.update()` stands between two
    calls of `scaler.step`, and no backward pass between it and the second.
  }];
  let why = [{
    Both gradients carry the scale of their backward passes. If the first optimizer
    meets an overflow, `update()` halves the scale, and the second divides by the half:
    its step is twice too long. Nothing is raised. What `unscale_` did for the second
    is forgotten, too, and done once more.
  }];
  let example = [{
    ```python
    scaler.scale(loss_g).backward()
    scaler.scale(loss_d).backward()
    scaler.step(optimizer_g)
    scaler.update()
    scaler.step(optimizer_d)
    scaler.update()
    ```
  }];
  let instead = [{
    One `scaler.update()` behind the last step.
  }];
}

def StepWithoutUpdate
    : StepRule<"MP735", "step-without-update", "scaler"> {
  let severity = "error";
  let summary = "the scaler steps an optimizer again before update()";
  let what = [{
    On every path through the step that has both, `scaler.step` is called twice with
    one optimizer and without `scaler.update()` in between; or it runs in each pass of a
    loop whose `update()` runs in every nth, or where the loss is finite.
  }];
  let why = [{
    The second call raises a RuntimeError: what was found in the gradients is kept
    until `update()`.
  }];
  let example = [{
    ```python
    for i, (x, y) in enumerate(loader):
        scaler.scale(criterion(model(x), y)).backward()
        scaler.step(optimizer)
        if i % 100 == 0:
            scaler.update()
    ```
  }];
  let instead = [{
    `scaler.update()` behind each step.
  }];
}

def ScalerMadeInLoop
    : StepRule<"MP736", "scaler-made-in-loop", "scaler"> {
  let severity = "warning";
  let summary = "a new loss scaler in each training step or epoch";
  let what = [{
    A scaler is made in the loop in which it steps an optimizer, or in one around that,
    and the optimizer is made outside of it.
  }];
  let why = [{
    The scale begins at 65536 in each step, whatever was found in the last one: where
    that overflows, no step is ever taken, and elsewhere the scale never grows.
  }];
  let example = [{
    ```python
    for x, y in loader:
        scaler = torch.amp.GradScaler("cuda")
        scaler.scale(criterion(model(x), y)).backward()
        scaler.step(optimizer)
        scaler.update()
    ```
  }];
  let instead = [{
    One scaler for the training, made in front of the loop.
  }];
}

def ScalerPatched : StepRule<"MP737", "scaler-patched", "scaler"> {
  let severity = "warning";
  let summary = "a private check of the loss scaler is replaced";
  let what = [{
    The script assigns to `_unscale_grads_`, `_check_inf_per_device` or
    `_maybe_opt_step` of a scaler.
  }];
  let why = [{
    The scaler refuses gradients in FP16, since the weights they belong to lose what is
    below half a digit of them, and gradients that are unscaled in FP16 flush to 0 what
    the scale had saved. With the check replaced nothing says so.
  }];
  let example = [{
    ```python
    unscale = scaler._unscale_grads_
    scaler._unscale_grads_ = lambda o, i, f, allow_fp16: unscale(o, i, f, True)
    ```
  }];
  let instead = [{
    Weights in FP32 under autocast, which the scaler takes as they are.
  }];
}

def UnscaledGradientPenalty
    : StepRule<"MP738", "unscaled-gradient-penalty", "scaler"> {
  let severity = "warning";
  let summary = "a gradient penalty of outputs that are not scaled";
  let what = [{
    `torch.autograd.grad(..., create_graph=True)` of an output of a region in FP16 that
    is not scaled, in a file whose steps are scaled.
  }];
  let why = [{
    The pass back through the region is in FP16, and gradients below 6e-8 are 0: the
    penalty is that of what is left.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda", torch.float16):
        out = critic(x)
    grad, = torch.autograd.grad(out.sum(), x, create_graph=True)
    ```
  }];
  let instead = [{
    `torch.autograd.grad(scaler.scale(out.sum()), x, create_graph=True)`, divided by
    `scaler.get_scale()`.
  }];
}

def ScaleGrowsTooOften
    : StepRule<"MP739", "scale-grows-too-often", "scaler"> {
  let severity = "warning";
  let summary = "the loss scale doubles after less than 100 steps";
  let what = [{
    `GradScaler(growth_interval=...)`, Accelerate's `GradScalerKwargs` or DeepSpeed's
    `loss_scale_window` with less than 100.
  }];
  let why = [{
    The scale grows until a gradient is Inf, and the step that finds out is skipped. With
    an interval of 10 that is every eleventh step; with the default of 2000 it is one in
    2001.
  }];
  let example = [{
    ```python
    scaler = torch.amp.GradScaler("cuda", growth_interval=10)
    ```
  }];
  let instead = [{
    The default of 2000; a few hundred where a training has only some thousand steps.
  }];
}

def StepSkippedOnNan : StepRule<"MP752", "step-skipped-on-nan", "step"> {
  let severity = "warning";
  let summary = "a step whose loss is NaN is left out in silence";
  let what = [{
    `if torch.isnan(loss): continue`, `math.isfinite(loss)` around the backward pass, or
    the same as a `return`, in a loop or a method that trains, without a message, a count
    or an error.
  }];
  let why = [{
    What made the NaN (weights, statistics of a normalisation, a batch) is still there,
    and a run that leaves out every step looks as one that trains. With several processes
    the others wait in their all-reduce.
  }];
  let example = [{
    ```python
    if torch.isnan(loss):
        continue
    loss.backward()
    ```
  }];
  let instead = [{
    Raise an error with the batch, or count the steps and end the run where they are many.
    An overflow under FP16 is the scaler's business: `scaler.step` skips it.
  }];
}

def StepWithoutGradients : StepRule<"MP740", "step-without-gradients", "step"> {
  let severity = "error";
  let summary = "an optimizer steps whose module runs without gradients only";
  let what = [{
    A loop has a backward pass and the step of an optimizer, and every use of the optimizer's
    module that the program shows is a call under `torch.no_grad()`. A module that is handed to
    another function, or of which a part runs, is not judged.
  }];
  let why = [{
    The gradients of its parameters are None: the step changes nothing, and
    `scaler.step(optimizer)` stops with "No inf checks were recorded for this optimizer".
  }];
  let example = [{
    ```python
    with torch.no_grad():
        fake = generator(z)
    scaler.scale(-discriminator(fake).mean()).backward()
    scaler.step(generator_optimizer)
    ```
  }];
  let instead = [{
    The pass of the generator outside of `no_grad()`; `fake.detach()` for the discriminator's loss.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_SOURCESTEP_TD
