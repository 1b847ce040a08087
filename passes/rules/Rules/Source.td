//===- Source.td - MP7xx: casts and regions in scripts ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_SOURCE_TD
#define MPOPT_PASSES_RULES_RULES_SOURCE_TD

include "passes/rules/RuleBase.td"

def TrainedInHalf : SourceRule<"MP701", "trained-in-half", "casts"> {
  let severity = "error";
  let summary = "weights are cast to 16 bits and trained";
  let what = [{
    A model is cast with `.half()`, `.bfloat16()`, `.to(dtype)` or by its `p.data`, or
    loaded or made in 16 bits, and is in 16 bits in a step of an optimizer of the file
    that gets its parameters; a dtype that a condition or an option chooses counts, and
    the finding states the condition. The cast of an object that was made of the model,
    as of a pipeline for validation, is one of the model, and a trainer of Lightning with
    `16-true` or `bf16-true` casts what it fits. An error for FP16, a warning
    for BF16. Scripts that keep FP32 copies of the weights are left out, and casts
    behind the training; where adapters are trained, casts before it are, too.
  }];
  let why = [{
    An update below half a digit of its weight is lost: 2^-12 of it in FP16, 2^-9
    in BF16. With a learning rate of 1e-4 that is most of them. In FP16 the
    optimizer's second moments flush to 0, too, and GradScaler refuses to unscale
    FP16 gradients.
  }];
  let example = [{
    ```python
    model = Net().half().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ```
  }];
  let instead = [{
    Leave the weights in FP32 and run the forward pass in `torch.autocast`. Where
    memory does not suffice for that: an optimizer that keeps FP32 copies.
  }];
}

def CastInAutocast : SourceRule<"MP702", "cast-in-autocast", "casts"> {
  let severity = "warning";
  let summary = "a tensor is cast to 16 bits by hand inside an autocast region";
  let what = [{
    `.half()`, `.bfloat16()`, `.type(dtype)` or `.to(dtype)` of a tensor inside a
    region that autocasts to 16 bits, or to another type than the cast names; or a module
    in one 16-bit type in a region of the other. Passes without gradients are left out.
    A note where the script shows no op that the region would have computed in FP32 of
    the value: a product casts its operands all the same.
  }];
  let why = [{
    Autocast casts what enters matrix products, and keeps softmax, norms and losses
    in FP32. A cast by hand comes before its decision: FP32 ops then start from
    rounded values, and 65520 and more is Inf.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda", torch.float16):
        logits = model(x.half())
    ```
  }];
  let instead = [{
    Hand over the tensor as it is. Where another module needs 16 bits, cast outside
    the region, or in one with `enabled=False`.
  }];
}

def LossInHalf : SourceRule<"MP703", "loss-in-half", "casts"> {
  let severity = "error";
  let fix = "sometimes";
  let summary = "the loss is cast to 16 bits, or computed of values that were";
  let what = [{
    A loss is cast to FP16 or BF16, or one of PyTorch's losses gets values that the
    script cast to 16 bits, outside of autocast.
  }];
  let why = [{
    A loss in BF16 has three digits, and its mean over many samples does not see a
    single one. In FP16 a sum over 65520 is Inf, and scaled by 2^16 any loss from 1
    on is.
  }];
  let example = [{
    ```python
    loss = F.cross_entropy(logits.half(), target)
    ```
  }];
  let instead = [{
    `F.cross_entropy(logits.float(), target)`. `--fix` makes `loss.half()` a
    `loss.float()`.
  }];
}

def HalfDefaultDtype : SourceRule<"MP704", "half-default-dtype", "casts"> {
  let severity = "error";
  let summary = "16 bits are the default type of a script that trains";
  let what = [{
    `torch.set_default_dtype` or `torch.set_default_tensor_type` with FP16 or BF16
    in a file that has a backward pass.
  }];
  let why = [{
    Every tensor that is made without a type is then in 16 bits: weights, running
    statistics, the optimizer's moments, sums of metrics. None of them is what
    autocast would have put there.
  }];
  let example = [{
    ```python
    torch.set_default_dtype(torch.bfloat16)
    ```
  }];
  let instead = [{
    Leave the default, and autocast the forward pass.
  }];
}

def OptimizerStateInHalf : SourceRule<"MP705", "optimizer-state-in-half", "casts"> {
  let severity = "warning";
  let summary = "an optimizer keeps its second moment in 16 bits";
  let what = [{
    An optimizer or its configuration keeps the second moment in BF16
    (`variance_dtype`, `exp_avg_sq_dtype`), and `betas` do not show a second factor of
    0.996 or less; or keeps it in FP16, without a library that scales it.
  }];
  let why = [{
    A step multiplies the second moment by 0.999. Half a digit of BF16 is 2^-9 of a
    number, so that the product is rounded back to what it was: after one large
    gradient the moment never falls again, and updates stay small. FP16 stores squares
    of gradients below 2.4e-4 as 0.
  }];
  let example = [{
    ```python
    optimizer = AnyPrecisionAdamW(model.parameters(), variance_dtype=torch.bfloat16)
    ```
  }];
  let instead = [{
    `torch.float32` for the second moment. The first one loses little in BF16: its
    factor of 0.9 is seen.
  }];
}

def LossOutsideAutocast : SourceRule<"MP711", "loss-outside-autocast", "regions"> {
  let severity = "warning";
  let summary = "the forward pass is autocast, and the loss is computed outside";
  let what = [{
    One of PyTorch's losses is called behind the `with` block in which the model ran, or
    in one with `enabled=False`, with the model's result as it is; or the loss of a
    backward pass is summed there by hand, of values that are in 16 bits. A note if
    another operand may be FP32, or if the loss is one that the file does not show.
  }];
  let why = [{
    Inside, autocast computes losses in FP32. Outside, they compute in the type of
    what they get, which is 16 bits: a log-softmax over classes, squares and the
    mean over the batch with it. MP106 says how much that costs a model.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda"):
        out = model(x)
    loss = F.mse_loss(out, y)
    ```
  }];
  let instead = [{
    Compute the loss inside the block, or of `out.float()`.
  }];
}

def ForwardOutsideAutocast : SourceRule<"MP712", "forward-outside-autocast", "regions"> {
  let severity = "warning";
  let summary = "the loss is autocast, and the forward pass runs outside";
  let what = [{
    A model runs outside of any autocast region, and its result is what a loss inside
    of one gets.
  }];
  let why = [{
    Losses are what autocast keeps in FP32: the region has no effect, and the model
    computes in FP32 at twice the memory and a part of the speed.
  }];
  let example = [{
    ```python
    out = model(x)
    with torch.autocast("cuda"):
        loss = F.cross_entropy(out, y)
    ```
  }];
  let instead = [{
    Call the model inside the block.
  }];
}

def BackwardInAutocast : SourceRule<"MP713", "backward-in-autocast", "regions"> {
  let severity = "warning";
  let fix = "sometimes";
  let summary = "backward() is called inside the autocast region";
  let what = [{
    `backward()` of a loss, a scaled loss or a framework is called inside a region of
    autocast.
  }];
  let why = [{
    Backward ops run in the types of their forward ops, whatever the region says.
    What hooks, checkpoints and custom functions compute on the way is cast once
    more, which PyTorch's documentation advises against.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda"):
        loss = criterion(model(x), y)
        scaler.scale(loss).backward()
    ```
  }];
  let instead = [{
    End the block before `backward()`. `--fix` does where only gradients and the
    optimizer are dealt with in what follows.
  }];
}

def BceInAutocast : SourceRule<"MP714", "bce-in-autocast", "regions"> {
  let severity = "error";
  let summary = "binary cross-entropy of probabilities inside an autocast region";
  let what = [{
    `nn.BCELoss` or `F.binary_cross_entropy` is called inside a region of autocast
    that is not for the CPU.
  }];
  let why = [{
    PyTorch raises a RuntimeError: in FP16 a probability is 0 or 1 at a logit of 17,
    and its log is clamped. MP102 finds the same in a model.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda"):
        loss = F.binary_cross_entropy(torch.sigmoid(model(x)), y)
    ```
  }];
  let instead = [{
    `F.binary_cross_entropy_with_logits(model(x), y)` and no sigmoid.
  }];
}

def AutocastNeverEntered : SourceRule<"MP715", "autocast-never-entered", "regions"> {
  let severity = "error";
  let summary = "an autocast region is made and never entered";
  let what = [{
    A `with` statement joins two contexts by `and`, the first of which is autocast, or
    a statement makes an autocast context and nothing else.
  }];
  let why = [{
    `a and b` is `b`: the block runs without autocast, in the types of its inputs,
    and takes the memory and time of FP32.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda") and torch.no_grad():
        latents = encoder(x)
    ```
  }];
  let instead = [{
    `with torch.autocast("cuda"), torch.no_grad():`
  }];
}

def OneRegionAroundSteps
    : SourceRule<"MP716", "one-region-around-steps", "regions"> {
  let severity = "error";
  let summary = "one autocast region around a loop of training steps";
  let what = [{
    An optimizer steps in a loop inside of an autocast region that is entered outside of
    the loop, and whose cache is not switched off or emptied.
  }];
  let why = [{
    Autocast keeps the 16-bit copies of FP32 weights until the outermost region ends. In
    the second pass the copies are those of the first, and so are they in the last: the
    weights change, and the loss does not.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda", torch.bfloat16):
        for x, y in loader:
            F.mse_loss(model(x), y).backward()
            optimizer.step()
    ```
  }];
  let instead = [{
    A region in each pass, around the forward pass and the loss alone.
  }];
}

def WeightsCachedWithoutGrad
    : SourceRule<"MP717", "weights-cached-without-grad", "regions"> {
  let severity = "error";
  let summary = "a pass without gradients before the one that trains, in one region";
  let what = [{
    Two passes of one module in one autocast region: the first under `torch.no_grad()` or
    `torch.inference_mode()`, a later one with gradients, and `backward()` behind it.
  }];
  let why = [{
    A region keeps the casts of the weights until it ends. Those that were made without
    gradients have none, and the pass that trains takes them from there: the weights get
    no gradient.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda"):
        with torch.no_grad():
            target = model(x)
        loss = F.mse_loss(model(y), target)
    loss.backward()
    ```
  }];
  let instead = [{
    A region for each pass, or `cache_enabled=False`.
  }];
}

def FunctionWithoutCustomFwd
    : SourceRule<"MP718", "function-without-custom-fwd", "regions"> {
  let severity = "warning";
  let summary = "an autograd Function with products and no custom_fwd is autocast";
  let what = [{
    A subclass of `torch.autograd.Function` is applied in an autocast region, both its
    passes have matrix products or convolutions, and neither is decorated with
    `custom_fwd` and `custom_bwd` nor has a region of its own.
  }];
  let why = [{
    The forward pass computes in 16 bits what it saved in FP32, and the backward pass
    runs outside of the region: a product of a 16-bit gradient and an FP32 tensor
    raises an error.
  }];
  let example = [{
    ```python
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w
        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g @ w.t(), x.t() @ g

    with torch.autocast("cuda"):
        y = Product.apply(x, w)
    ```
  }];
  let instead = [{
    `@torch.amp.custom_fwd(device_type="cuda")` on `forward`, and
    `@torch.amp.custom_bwd(device_type="cuda")` on `backward`.
  }];
}

def LinalgInHalf : SourceRule<"MP719", "linalg-in-half", "regions"> {
  let severity = "error";
  let summary = "linear algebra on a tensor that is in 16 bits";
  let what = [{
    A factorisation, inverse, determinant or eigenvalues of a tensor that is known to
    be in FP16 or BF16, as what a layer gives in an autocast region is; not in regions
    of the CPU, which compute them in FP32.
  }];
  let why = [{
    PyTorch has no kernel for them in 16 bits: the run ends with "not implemented for
    'Half'" in its first step under mixed precision.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda"):
        features = model(x)
    factor = torch.linalg.cholesky(features.t() @ features)
    ```
  }];
  let instead = [{
    `.float()` before the products that lead to it, which need the digits, too.
  }];
}

def RegionOnAnotherDevice : SourceRule<"MP720", "region-on-another-device", "regions"> {
  let severity = "warning";
  let summary = "an autocast region of another device than the model's";
  let what = [{
    A module that the script moves to one device, by name, runs in an autocast region
    of another one.
  }];
  let why = [{
    A region changes the types of ops on its own device alone: the model runs in the types
    of its weights, FP32 as a rule, and takes the memory and time of FP32.
  }];
  let example = [{
    ```python
    model = Net().to("cpu")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(model(x), y)
    ```
  }];
  let instead = [{
    `torch.autocast(x.device.type, dtype=torch.bfloat16)`.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_SOURCE_TD
