//===- SourceNumbers.td - MP7xx: numbers in scripts ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_SOURCENUMBERS_TD
#define MPOPT_PASSES_RULES_RULES_SOURCENUMBERS_TD

include "passes/rules/RuleBase.td"

def OptimizerEpsilonInHalf : NumberRule<"MP741", "optimizer-epsilon-in-half"> {
  let severity = "error";
  let summary = "an optimizer's eps is 0 in the FP16 of its parameters";
  let what = [{
    An optimizer of the Adam family gets the parameters of a model that the file casts
    to FP16, and its `eps` is below 1e-7: that of the call, or the default of 1e-8.
  }];
  let why = [{
    The moments have the type of the parameters. FP16 stores 1e-8 as 0, and a second
    moment below 6e-8 too: the step divides by 0.
  }];
  let example = [{
    ```python
    optimizer = torch.optim.Adam(model.half().parameters())
    ```
  }];
  let instead = [{
    Weights in FP32 (MP701). If they have to be in FP16, `eps=1e-4`.
  }];
}

def EpsilonLostInHalf : NumberRule<"MP742", "epsilon-lost-in-half"> {
  let severity = "error";
  let summary = "a small constant that guards a tensor in FP16 is 0 there";
  let what = [{
    A number of at most 2^-25 (3e-8) is added to a tensor that is in FP16, or is the
    limit of its `clamp`, or the `eps` of `normalize` or `cosine_similarity`, also by
    default.
  }];
  let why = [{
    FP16 rounds it to 0: the division, root or logarithm behind it meets the 0 that
    it was to avoid. MP203 finds the same in a model.
  }];
  let example = [{
    ```python
    weights = scores.half()
    weights = weights / (weights.sum(-1, keepdim=True) + 1e-8)
    ```
  }];
  let instead = [{
    Compute it in FP32 (`.float()`), or take `torch.finfo(x.dtype).tiny`.
  }];
}

def SoftmaxInHalf : NumberRule<"MP743", "softmax-in-half"> {
  let severity = "warning";
  let dtypes = ["f16", "bf16"];
  let summary = "softmax of a tensor that the script cast to 16 bits";
  let what = [{
    `softmax`, `log_softmax` or `logsumexp` of a tensor that is known to be in 16
    bits, outside of autocast and without `dtype=torch.float32`.
  }];
  let why = [{
    Autocast would compute it in FP32. In 16 bits probabilities below 6e-8 (FP16) are
    0, and those near 1 have three digits.
  }];
  let example = [{
    ```python
    attention = scores.half().softmax(-1)
    ```
  }];
  let instead = [{
    `scores.softmax(-1, dtype=torch.float32)`, then cast.
  }];
}

def ExpInHalf : NumberRule<"MP744", "exp-in-half"> {
  let severity = "warning";
  let summary = "exp, pow or log of a tensor that the script cast to FP16";
  let what = [{
    `exp`, `expm1`, `cosh`, `sinh`, `pow`, `log`, or a power above 2, of a tensor that
    is known to be in FP16, outside of autocast.
  }];
  let why = [{
    exp(11.1) is past FP16's largest number, 41 cubed is, too; the logarithm meets
    the zeros that FP16 made of small numbers.
  }];
  let example = [{
    ```python
    scale = log_scale.half().exp()
    ```
  }];
  let instead = [{
    `log_scale.float().exp()`.
  }];
}

def SquareSumInHalf : NumberRule<"MP745", "square-sum-in-half"> {
  let severity = "warning";
  let summary = "a norm or variance by hand, of squares that are in FP16";
  let what = [{
    `sum` or `mean` of squares (`x ** 2`, `x * x`, `x.pow(2)`) that are known to be in
    FP16, as those of the norms of gradients are where the parameters are in FP16.
  }];
  let why = [{
    A square is Inf from 256 on and 0 below 1.7e-4, although the norm is in range.
    MP209 finds the same in a model.
  }];
  let example = [{
    ```python
    h = x.half()
    rms = h.pow(2).mean(-1, keepdim=True).sqrt()
    ```
  }];
  let instead = [{
    `x.float()` before squaring, or PyTorch's own norm.
  }];
}

def DivisionInHalf : NumberRule<"MP746", "division-in-half"> {
  let severity = "warning";
  let summary = "a division by a sum that is kept in FP16";
  let what = [{
    A tensor is divided by the `sum` or `norm` of one that is known to be in FP16, and
    nothing is added to the divisor or bounds it.
  }];
  let why = [{
    The sum is Inf past 65504, and what it divides is 0 then; it is 0 where all terms
    are flushed, and the result NaN.
  }];
  let example = [{
    ```python
    p = weights.half()
    p = p / p.sum(-1, keepdim=True)
    ```
  }];
  let instead = [{
    Normalise in FP32, with an epsilon, and cast the result.
  }];
}

def MaskOutOfRange : NumberRule<"MP747", "mask-out-of-range"> {
  let severity = "warning";
  let fix = "sometimes";
  let summary = "a mask of -1e9 in a script that computes in FP16";
  let what = [{
    `masked_fill` or `where` puts a number below -65504 into a tensor that may be in
    FP16, or a mask is multiplied with one, in a file that mentions FP16 or autocast.
  }];
  let why = [{
    `masked_fill` raises an error if the tensor is in FP16; elsewhere the number
    becomes -Inf, and a row that is masked in full becomes NaN. MP208 finds the same
    in a model.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda", torch.float16):
        scores = (q @ k.transpose(-1, -2)).masked_fill(mask, -1e9)
    ```
  }];
  let instead = [{
    `torch.finfo(scores.dtype).min`, which `--fix` writes.
  }];
}

def InfiniteMaskProduct : NumberRule<"MP748", "infinite-mask-product"> {
  let severity = "error";
  let dtypes = ["f16", "bf16", "f32"];
  let summary = "an infinity is multiplied with a mask";
  let what = [{
    `float("-inf")`, `torch.inf` or `math.inf` is a factor of a mask or a tensor.
  }];
  let why = [{
    0 times Inf is NaN: every place that the mask leaves alone is lost.
  }];
  let example = [{
    ```python
    bias = (1 - mask) * float("-inf")
    ```
  }];
  let instead = [{
    `torch.zeros_like(mask).masked_fill(mask == 0, float("-inf"))`.
  }];
}

def NanReplaced : NumberRule<"MP749", "nan-replaced"> {
  let severity = "warning";
  let dtypes = ["f16", "bf16", "f32"];
  let summary = "NaN in a loss, gradient or result is replaced by a number";
  let what = [{
    `nan_to_num` of a loss, of a gradient or of what a model gave, in a file that
    trains.
  }];
  let why = [{
    The fault stays and is seen no more: a scaler that finds no Inf takes the step
    and raises the scale.
  }];
  let example = [{
    ```python
    loss = torch.nan_to_num(criterion(model(x), y))
    ```
  }];
  let instead = [{
    Find where it begins (`mpopt --instrument`), and let the scaler skip the step.
  }];
}

def SwallowedStepError : NumberRule<"MP750", "swallowed-step-error"> {
  let severity = "warning";
  let dtypes = ["f16", "bf16", "f32"];
  let summary = "any error in a training step is caught, and the loop goes on";
  let what = [{
    Inside a loop, a `try` around a backward pass or a step has a bare `except` or
    `except Exception` that neither raises nor leaves the loop.
  }];
  let why = [{
    Checks for NaN, failed asserts of the scaler and errors of shapes all end there.
    Gradients of the failed pass stay, and are added to the next ones.
  }];
  let example = [{
    ```python
    for x, y in loader:
        try:
            criterion(model(x), y).backward()
            optimizer.step()
        except Exception:
            continue
    ```
  }];
  let instead = [{
    Catch the one error that is meant (`torch.cuda.OutOfMemoryError`), clear the
    gradients, and count how often it happens.
  }];
}

def AccumulatorInHalf : NumberRule<"MP751", "accumulator-in-half"> {
  let severity = "warning";
  let dtypes = ["f16", "bf16"];
  let summary = "a running sum or average is kept in 16 bits";
  let what = [{
    `+=` to a number or a tensor that the file makes as 0 in FP16 or BF16 outside of the
    loop or method that adds to it, as sums of metrics and losses and counts are; or to
    a 0 of Python of what is in 16 bits. Of tensors that are no single number, only in
    loops that train. And averages (`lerp_`, `mul_` and `add_`, formulas, `AveragedModel`,
    diffusers' `EMAModel`) in FP16 of which a step changes less than 2^-12, or 2^-9 in
    BF16. As a note averages in parameters of a module some of whose `p.data` the script casts,
    of which a step changes less than 2^-6, or 2^-3.
  }];
  let why = [{
    From 2048 times what is added on in FP16, and 256 times in BF16, a sum is what it
    was: the mean over an epoch is too small by what its last batches would have added. An
    average with a decay of 0.999 in BF16 stays what it was from the start.
  }];
  let example = [{
    ```python
    total = torch.zeros((), dtype=torch.bfloat16)
    for x, y in loader:
        total += F.mse_loss(model(x), y).detach()
    ```
  }];
  let instead = [{
    `torch.zeros((), dtype=torch.float32)`, or a number of Python and `loss.item()`.
  }];
}

def ScaleDividedInHalf : NumberRule<"MP753", "scale-divided-in-half"> {
  let severity = "warning";
  let summary = "a loss scale by hand is taken off in FP16";
  let what = [{
    The gradient of a parameter that the file casts to FP16 is divided by a scale, by its
    name or as a number of at least 256, without a cast to FP32 before.
  }];
  let why = [{
    The quotient is stored in FP16: what the scale had lifted over 6e-8 is below it again,
    and 0.
  }];
  let example = [{
    ```python
    model.half()
    (loss * scale).backward()
    for p in model.parameters():
        p.grad /= scale
    ```
  }];
  let instead = [{
    Weights in FP32 under autocast, and `torch.amp.GradScaler`. By hand: copies of the
    weights in FP32, whose gradients are `p.grad.float() / scale`.
  }];
}

def MaskMissingInDivisor : NumberRule<"MP754", "mask-missing-in-divisor"> {
  let severity = "warning";
  let dtypes = ["f16", "bf16"];
  let summary = "a masked loss is divided by the number of all tokens";
  let what = [{
    A cross-entropy with `reduction="none"` is multiplied with a mask, and its mean is
    taken, or its sum is divided by the size of a tensor that is none of the mask.
  }];
  let why = [{
    A batch with one token in ten that counts has a loss, and gradients, of a tenth: they
    are nearer to what FP16 flushes, and the learning rate depends on the padding.
  }];
  let example = [{
    ```python
    loss = F.cross_entropy(logits, y, reduction="none")
    loss = (loss * mask).mean()
    ```
  }];
  let instead = [{
    `(loss * mask).sum() / mask.sum().clamp(min=1)`.
  }];
}

def PolicyRatioInHalf : NumberRule<"MP755", "policy-ratio-in-half"> {
  let severity = "warning";
  let dtypes = ["f16", "bf16"];
  let summary = "a ratio of policies is formed of 16-bit log-probabilities, or of two precisions";
  let what = [{
    `exp(new - old)` of log-probabilities that are in 16 bits outside of autocast, or of
    the results of two passes in different precisions: two regions, or one of them in none.
  }];
  let why = [{
    BF16 stores a log-probability of 2 to within 0.008, and the ratio is off by as much,
    token by token: over 500 tokens their product leaves the clip range of 0.2 although
    the policies are the same. Two precisions differ by as much with FP32 in one of them.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda", dtype=torch.bfloat16):
        new = log_probabilities(policy(x))
    ratio = torch.exp(new - log_probabilities(reference(x)))
    ```
  }];
  let instead = [{
    One region for both, and `logits.float()` before `log_softmax`. FP16 with a loss
    scaler is 8 times nearer than BF16. `mpopt.monitor.compare_log_probabilities` measures
    the difference.
  }];
}

def PositionsInHalf : NumberRule<"MP756", "positions-in-half"> {
  let severity = "warning";
  let dtypes = ["f16", "bf16"];
  let summary = "whole numbers are counted in a 16-bit type";
  let what = [{
    `torch.arange` in `torch.bfloat16` or `torch.float16`, by `dtype=` or by a cast, unless its
    end is known to be no larger than 256 or 2048, up to which the type has every whole number.
    With an end that is not known it is a note. Sines and cosines of 16-bit products of positions,
    unless the end is known to be no larger than 32 or 256; as a note tables of sines and cosines
    that are cast to a 16-bit type.
  }];
  let why = [{
    BF16 has every second whole number from 256 on, and every fourth from 512 on: positions
    become one, and an angle that is a product of a position is off by whole turns.
  }];
  let example = [{
    ```python
    positions = torch.arange(4096, dtype=torch.bfloat16)
    angles = torch.outer(positions, inverse_frequencies)
    ```
  }];
  let instead = [{
    Compute angles in FP32, and cast sines and cosines.
  }];
}

def CountMayBeZero : NumberRule<"MP757", "count-may-be-zero"> {
  let severity = "note";
  let dtypes = ["f16", "bf16"];
  let summary = "a loss is divided by a count that may be 0";
  let what = [{
    A loss is divided by the sum of a mask, or of a comparison (`(labels != -100).sum()`),
    without a lower limit, and no branch asks for the count.
  }];
  let why = [{
    A batch in which nothing counts gives 0 / 0: the loss and all gradients are NaN. Beside a
    loss scaler the step is skipped and the scale is halved, as after an overflow that none was.
  }];
  let example = [{
    ```python
    tokens = (labels != -100).sum()
    loss = F.cross_entropy(logits, labels, reduction="sum") / tokens
    ```
  }];
  let instead = [{
    `/ tokens.clamp(min=1)`.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_SOURCENUMBERS_TD
