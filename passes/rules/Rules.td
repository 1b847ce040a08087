//===- Rules.td - Every rule's record ---------------------------*- tablegen -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_RULES_RULES_TD
#define MPOPT_PASSES_RULES_RULES_TD

include "passes/rules/RuleBase.td"

def EmitFindings : Pass<"mp-emit-findings", "::mlir::ModuleOp"> {
  let summary = "Turn the findings of earlier rules into diagnostics";
  let description = [{
    One diagnostic a finding, at its op: error, warning or remark by severity,
    `MESSAGE [MP103 certain]`, with a note for each cause. Findings are listed
    in the order in which the rules reported them.
  }];
}

//===----------------------------------------------------------------------===//
// MP1xx: dtype flow and autocast
//===----------------------------------------------------------------------===//

def UnsafeLowPrecisionOp : Rule<"MP101", "unsafe-low-precision-op"> {
  let family = "dtype";
  let severity = "warning";
  let since = "0.1";
  let observable = "overflow and underflow counts of the op's operands and "
    "result in the dtype; seen when any is above zero";
  let summary = "an op that the policy keeps in FP32 computes in 16 bits";
  let what = [{
    The op computes in FP16 or BF16, although the chosen policy (PyTorch's
    autocast lists by default, `--policy` for others) keeps ops of its kind in
    FP32: exp, log, pow, softmax, normalisations, losses, cumulative sums,
    products and the like.
  }];
  let why = [{
    These ops are on the list because their results leave the range of FP16
    (`exp` overflows above 11.09, a sum of squares above 65504) or because they
    lose most of their digits in 8 or 11 significant bits (`log` near 1, long
    sums, `1 - p`). A model that was trained under autocast ran them in FP32; a
    converter that casts the whole graph to FP16 does not.
  }];
  let example = [{
    ```python
    probs = torch.softmax(scores.half(), dim=-1)   # autocast is not active here
    ```
  }];
  let instead = [{
    Keep the op in FP32 and cast its result:
    `torch.softmax(scores.float(), dim=-1).to(scores.dtype)`, or list the node
    under the converter's block list (`--keep-fp32 FILE` writes it).
  }];
}

def BannedUnderAutocast : Rule<"MP102", "banned-under-autocast"> {
  let family = "dtype";
  let severity = "error";
  let since = "0.1";
  let observable = "zero and one counts of the probabilities, infinities of the "
    "loss; seen when the loss has a non-finite value";
  let summary = "binary cross-entropy on probabilities computes in 16 bits";
  let what = [{
    A binary cross-entropy takes probabilities (after a sigmoid) in FP16 or
    BF16. PyTorch refuses `binary_cross_entropy` and `BCELoss` under autocast
    for this reason.
  }];
  let why = [{
    A probability within 2^-12 of 1 rounds to 1 in FP16 (2^-9 in BF16), and one
    below 2^-25 rounds to 0 in FP16. The loss takes `log(p)` and `log(1 - p)`,
    so such an element gives an infinite loss, or a clamped one whose gradient
    is wrong by orders of magnitude.
  }];
  let example = [{
    ```python
    loss = F.binary_cross_entropy(torch.sigmoid(logits), target)
    ```
  }];
  let instead = [{
    The form that takes logits needs no probability at all:
    `F.binary_cross_entropy_with_logits(logits, target)`. Where only
    probabilities are at hand, compute the loss in FP32 from logits that were
    never rounded to 16 bits.
  }];
}

def SilentUpcast : Rule<"MP103", "silent-upcast"> {
  let family = "dtype";
  let severity = "warning";
  let since = "0.1";
  let summary = "a 32-bit operand among 16-bit ones widens all that follows";
  let what = [{
    An op takes 16-bit and 32-bit (or 64-bit) float operands. Frameworks promote
    to the wider type, so the result and what is computed from it leave 16 bits
    from here on. The finding names the operand that brought the wider type.
  }];
  let why = [{
    Nothing is lost in accuracy, but the speed and memory that 16 bits were
    chosen for are: one FP32 buffer, mask or scalar tensor can move the rest of
    a block to FP32 without a line in the code that says so. In a graph that is
    to run as it is, mixed operands may not even be legal: ONNX requires equal
    types, so a converter then inserts casts or fails.
  }];
  let example = [{
    ```python
    self.register_buffer("scale", torch.ones(64))     # FP32
    y = x.half() * self.scale                         # y is FP32
    ```
  }];
  let instead = [{
    Bring the wide operand to the narrow type where it is made
    (`self.scale.to(x.dtype)`), or cast the result back on purpose. If the wide
    type is wanted, cast the 16-bit operand explicitly, so that readers see it.
  }];
}

def TooLateUpcast : Rule<"MP104", "too-late-upcast"> {
  let family = "dtype";
  let severity = "warning";
  let since = "0.1";
  let summary = "a tensor is rounded to 16 bits just before it is used in FP32";
  let what = [{
    An FP32 op works on a tensor that was in 16 bits just before: a cast from
    32 to 16 and back to 32 bits, or an op such as softmax that computes in 16
    bits and has its result cast to FP32. The legacy ONNX exporter writes the
    latter for `softmax(x, dtype=torch.float32)`.
  }];
  let why = [{
    Widening does not bring back what rounding took: the value has 8 or 11
    significant bits, and infinities and zeros stay. The FP32 op pays FP32 time
    for 16-bit accuracy, and the code reads as if it were safe.
  }];
  let example = [{
    ```python
    probs = torch.softmax(scores.half(), dim=-1).float()
    ```
  }];
  let instead = [{
    Cast before the op: `torch.softmax(scores.float(), dim=-1)`. In an exported
    graph, move the Cast in front of the node.
  }];
}

def ManualHalfCast : Rule<"MP105", "manual-half-cast"> {
  let family = "dtype";
  let severity = "warning";
  let since = "0.1";
  let observable = "overflow and underflow counts of the cast's operand in the "
    "narrow dtype; seen when any is above zero";
  let summary = "the model casts to 16 bits inside a region that autocast governs";
  let what = [{
    The model itself casts a wider float to FP16 or BF16 (`half()`,
    `to(torch.float16)`, an ONNX Cast) where the chosen precision is an autocast
    policy.
  }];
  let why = [{
    Autocast casts operands op by op, and by its lists. A manual cast overrides
    it: the tensor is rounded also for the ops that autocast would have run in
    FP32, and the gradient of the cast is rounded too. It is the most frequent
    reason for a model that overflows although autocast is on.
  }];
  let example = [{
    ```python
    with torch.autocast("cuda"):
        h = self.encoder(x).half()
        return self.norm(h)          # FP32 op on a rounded tensor
    ```
  }];
  let instead = [{
    Leave the cast to autocast, or switch it off for the region
    (`torch.autocast("cuda", enabled=False)`) if the 16-bit type is meant.
  }];
}

def LossInLowPrecision : Rule<"MP106", "loss-in-low-precision"> {
  let family = "dtype";
  let severity = "error";
  let since = "0.1";
  let observable = "absolute maximum and infinities of the loss and of what is "
    "summed into it; seen when the maximum is above 65504 or a value is not "
    "finite";
  let summary = "a loss, or the sum over it, is computed in FP16 or BF16";
  let what = [{
    A loss, or the reduction that makes one number of it, has 16-bit operands or
    a 16-bit result.
  }];
  let why = [{
    The loss is one number, so FP32 costs nothing, and everything hangs on it: a
    sum over a batch passes 65504 in FP16, small losses flush to zero, and the
    loss is what the gradient scaler multiplies by 65536 before the backward
    pass. In BF16 a loss of 5.00 and one of 5.01 are the same number, so
    training curves and early stopping go blind.
  }];
  let example = [{
    ```python
    loss = F.mse_loss(pred.half(), target.half(), reduction="sum")
    ```
  }];
  let instead = [{
    Compute the loss in FP32, from predictions that are cast first:
    `F.mse_loss(pred.float(), target.float())`.
  }];
}

def CastChurn : Rule<"MP108", "cast-churn"> {
  let family = "dtype";
  let severity = "note";
  let since = "0.1";
  let thresholds = [
    Threshold<"cast-churn-bytes", "65536",
      "casts that move fewer bytes than this in sum are not reported">];
  let summary = "casts move more bytes than the 16-bit island they serve saves";
  let what = [{
    A group of 16-bit ops is fenced by casts from and to FP32 whose reads and
    writes amount to more bytes than the ops inside save by working in 16 bits.
    The finding shows both numbers.
  }];
  let why = [{
    Elementwise and normalisation ops are bound by memory traffic. A cast reads
    4 and writes 2 bytes an element, or the other way round; one op between two
    casts saves 4. Such an island is slower than FP32 and loses accuracy as
    well.
  }];
  let example = [{
    ```python
    y = torch.relu(x.half()).float()
    ```
  }];
  let instead = [{
    Widen the island until a matrix product pays for the casts, or leave these
    ops in FP32.
  }];
}

def LowPrecisionStatistics : Rule<"MP109", "low-precision-statistics"> {
  let family = "dtype";
  let severity = "warning";
  let since = "0.1";
  let observable = "absolute maximum of what is summed and infinities of the "
    "statistic; seen when a value is not finite or flushed to zero";
  let summary = "mean, variance or running statistics are kept in 16 bits";
  let what = [{
    A variance or standard deviation, a mean of squares or over the batch, or the
    running statistics of a BatchNorm are computed or kept in FP16 or BF16. A
    mean over features or positions (pooling) is not reported; running
    statistics that the model does not update are a note.
  }];
  let why = [{
    A statistic sums thousands of values: the sum of squares leaves FP16 at
    65504, and once a running value is 2048 times an update (256 times in BF16)
    the update no longer changes it. BatchNorm then normalises with statistics
    that stopped moving early in training.
  }];
  let example = [{
    ```python
    model.half()           # BatchNorm's running_mean and running_var as well
    ```
  }];
  let instead = [{
    Keep statistics and the normalisation in FP32 and cast its result: autocast
    does, and `module.float()` on the normalisation layers after `model.half()`
    does for whole-model conversion.
  }];
}

//===----------------------------------------------------------------------===//
// MP2xx: range
//===----------------------------------------------------------------------===//

def ConstantOverflow : Rule<"MP202", "constant-overflow"> {
  let family = "range";
  let severity = "error";
  let since = "0.1";
  let summary = "a weight or constant is finite in the file and Inf in the dtype";
  let what = [{
    Elements of a weight or constant are finite as stored, and beyond the
    largest value of the dtype in which the model is to compute: 65504 for FP16
    (65520 and above round to Inf), 3.39e38 for BF16. Converters turn them into
    Inf or clamp them without a word.
  }];
  let why = [{
    An infinite constant makes every result that uses it Inf or NaN: Inf - Inf
    and 0 * Inf are NaN. The common case is an attention mask that adds -1e9 or
    -3.4e38: as -Inf it works until a row is fully masked, and then that row of
    the softmax is NaN.
  }];
  let example = [{
    ```python
    scores = scores.masked_fill(mask, -1e9)        # -inf in FP16
    ```
  }];
  let instead = [{
    Use a constant that the dtype holds, with room for what is added to it:
    `torch.finfo(scores.dtype).min / 2`, or -30000 for FP16. A weight that
    large wants the op that uses it in FP32, or a rescaling of the layer.
  }];
}

def ConstantUnderflow : Rule<"MP203", "constant-underflow"> {
  let family = "range";
  let severity = "error";
  let since = "0.1";
  let thresholds = [
    Threshold<"constant-underflow-share", "0.1",
      "share of a tensor's non-zero elements that must flush for a warning">];
  let summary = "a weight or constant is non-zero in the file and 0 in the dtype";
  let what = [{
    Elements of a weight or constant are smaller than half of the dtype's
    smallest subnormal (2^-25, 2.98e-8, for FP16) and become 0. It is an error
    for an epsilon that guards a division, a root or a logarithm, a warning if a
    whole channel or a tenth of the tensor is lost, else a note. Elements that
    only become subnormal are at most a note: they keep some bits, and hardware
    for training and inference computes with them.
  }];
  let why = [{
    An epsilon of 1e-8 or 1e-12 that becomes 0 guards nothing: `x / (0 + 0)` is
    NaN and `log(0)` is -Inf, on exactly the inputs it was written for. In
    trained weights a small share of flushed elements is normal and harmless, a
    channel that is all zero is not.
  }];
  let example = [{
    ```python
    y = x / (x.norm(dim=-1, keepdim=True) + 1e-12)
    ```
  }];
  let instead = [{
    Choose an epsilon that the dtype holds (1e-4 for FP16 near values of order
    1; at least 6.2e-5 if it shall not be subnormal), or keep the op that uses
    it in FP32.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_TD
