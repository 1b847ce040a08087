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
  let decision = "loss-of-range";
  let observable = "overflow and underflow counts of the op's float "
    "operands and result in the dtype; seen when any is above zero";
  let thresholds = [
    Threshold<"unsafe-op-error", "0.01",
      "relative error of a result up to which ranges may prove the op harmless">];
  let summary = "an op that the policy keeps in FP32 computes in 16 bits";
  let what = [{
    The op computes in FP16 or BF16, although the chosen policy (PyTorch's
    autocast lists by default, `--policy` for others) keeps ops of its kind in
    FP32: exp, log, pow, softmax, normalisations, losses, cumulative sums,
    products and the like. Ranges sharpen the list: a note where they prove that
    the results are finite, not flushed to zero and exact to 1 % (the numbers
    are in the message); with its reason where they expect an overflow or
    underflow, as a consequence of the finding that has the details.
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
  let decision = "zero";
  let observable = "counts of probabilities that are exactly 0 or 1 in the "
    "dtype; seen when there is one";
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
  let decision = "loss-of-range";
  let observable = "overflow and underflow counts of the cast's operand in "
    "the narrow dtype; seen when any is above zero";
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
  let decision = "overflow";
  let observable = "overflow counts and infinities of the loss and of its "
    "operands in the dtype; seen when any is above zero";
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

def LowPrecisionAccumulation : Rule<"MP107", "low-precision-accumulation"> {
  let family = "dtype";
  let severity = "warning";
  let since = "0.1";
  let thresholds = [
    Threshold<"accumulation-length", "1024",
      "terms of one FP16 sum from which it is reported; an eighth of it in "
      "BF16, by the three digits that it has less">];
  let summary = "a long dot product is added up in 16 bits";
  let what = [{
    A matrix product, convolution or attention, or the row sum inside a softmax
    or normalisation, is longer than the limit and its target adds it up in FP16
    or BF16 (`--target`: `strict16` does, `gpu-tensorcore` and `ort-cpu` add up
    in FP32). Sums that the model writes itself are judged by their values
    (MP304).
  }];
  let why = [{
    From 1024 terms of one size on (128 in BF16) the neighbours of the running
    sum in FP16 are as far apart as a term is large; from 2048 on (256) a term
    changes nothing any more. The overflow comes earlier as well: partial sums
    need not fit because the result does.
  }];
  let example = [{
    ```python
    torch.backends.cuda.matmul.allow_fp16_accumulation = True
    y = x @ w                                 # K = 4096
    ```
  }];
  let instead = [{
    Accumulate in FP32: a library setting (the default of tensor-core libraries,
    where `allow_fp16_reduced_precision_reduction` is off) or the op in FP32. Where the hardware has
    16-bit accumulators only, split K into blocks and add these in FP32.
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
  let decision = "loss-of-range";
  let observable = "overflow counts of what is summed, overflow and "
    "underflow counts of the statistic, in the dtype; seen when any is "
    "above zero";
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

def Overflow : Rule<"MP201", "overflow"> {
  let family = "range";
  let severity = "error";
  let since = "0.1";
  let decision = "overflow";
  let observable = "overflow count of the result in the dtype, and its "
    "infinities where it is stored in it; seen when there is one";
  let summary = "a result is past the largest value of its dtype and becomes Inf";
  let what = [{
    The values that an op computes reach a magnitude that its dtype rounds to
    Inf: 65520 and more in FP16, 3.4e38 in BF16 and FP32. Certain: every value of the
    tensor or of one of its channels. Likely: the expected extremes. Possible:
    only the bounds, which hold for every input in the declared ranges. What
    follows from an overflow is listed with it, not as a hazard of its own.
    Exponentials, masks, sums of squares, attention scores and casts have rules
    of their own (MP207 to MP210, MP213).
  }];
  let why = [{
    An Inf does not stay alone: Inf - Inf, 0 * Inf and Inf / Inf are NaN, and a
    normalisation or softmax behind it turns a whole row into NaN. A model that
    was trained in FP32 or BF16 never met the edge of FP16.
  }];
  let example = [{
    ```python
    h = h + self.mlp(h)        # residual stream of a large model: 1e5 and more
    ```
  }];
  let instead = [{
    Keep the op, its result and what reads it in FP32, or compute in BF16. A
    linear layer can be scaled down by a power of two and its consumer up, which
    is exact.
  }];
}

def ConstantOverflow : Rule<"MP202", "constant-overflow"> {
  let family = "range";
  let severity = "error";
  let since = "0.1";
  let decision = "file-fact";
  let observable = "a fact of the file: every run shows it";
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
    large wants the op that uses it in FP32 or BF16, or a rescaling of the
    layer.
  }];
}

def ConstantUnderflow : Rule<"MP203", "constant-underflow"> {
  let family = "range";
  let severity = "error";
  let since = "0.1";
  let decision = "file-fact";
  let observable = "a fact of the file: every run shows it";
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

def Underflow : Rule<"MP204", "underflow"> {
  let family = "range";
  let severity = "warning";
  let since = "0.1";
  let decision = "flush-share";
  let decisionThreshold = "underflow-share";
  let observable = "share of the result's non-zero values that round to "
    "zero in the dtype; seen from the threshold on";
  let thresholds = [
    Threshold<"underflow-share", "0.5",
      "expected share of a tensor's non-zero values that must flush">];
  let summary = "most of a result is too small for its dtype and becomes 0";
  let what = [{
    At least half of the non-zero values of a result are expected to be smaller
    than half of the dtype's smallest subnormal (2^-25, 2.98e-8, for FP16) and
    are stored as 0. The share comes from the expected logarithms: through
    exponentials, softmax, products and powers they follow from the operands,
    elsewhere from mean and spread. Where large values stay beside those that are
    lost (a softmax of confident logits) it is a note.
  }];
  let why = [{
    Products of small numbers, squares of small differences and exponentials of
    large negative arguments fall below what FP16 holds. The information is
    gone: a division by such a result is x/0, a logarithm -Inf, a gradient 0.
  }];
  let example = [{
    ```python
    var = ((x - x.mean()) ** 2).mean()      # x of order 1e-4: 1e-8 becomes 0
    ```
  }];
  let instead = [{
    Scale up before the op and down behind it, work with logarithms (log_softmax
    in place of softmax), keep the op and its consumer in FP32, or compute in
    BF16, whose range is that of FP32.
  }];
}

def InvalidDomain : Rule<"MP205", "invalid-domain"> {
  let family = "range";
  let severity = "error";
  let since = "0.1";
  let decision = "domain";
  let observable = "minimum and maximum of the argument, rounded to the "
    "dtype; seen when one is outside the domain";
  let summary = "an argument is outside the function's domain after rounding";
  let what = [{
    The argument of a log, sqrt, rsqrt, pow, asin, acos, acosh, atanh or log1p,
    as stored in its dtype, may be where the function is NaN or infinite: 0 or
    less for log, less than 0 for sqrt, beyond 1 for acos. Zero is reached by
    rounding as well: a probability below 2.98e-8 is 0 in FP16. A note where
    only integers are made of the result (bucket numbers of positions).
  }];
  let why = [{
    One NaN in a loss or an activation makes everything that depends on it NaN.
    An epsilon that guards the argument in FP32 can be 0 in FP16, and
    `1 - sigmoid(x)` is exactly 0 from x = 8.4 on.
  }];
  let example = [{
    ```python
    loss = -torch.log(p + 1e-8)             # 1e-8 is 0 in FP16
    ```
  }];
  let instead = [{
    Use the form that cannot leave the domain (log_softmax, softplus,
    binary_cross_entropy_with_logits), clamp the argument to a number that the
    dtype holds, or compute argument and function in FP32.
  }];
}

def DivisionByZero : Rule<"MP206", "division-by-zero"> {
  let family = "range";
  let severity = "error";
  let since = "0.1";
  let decision = "zero";
  let observable = "zeros of the divisor and values that round to zero in "
    "the dtype; seen when there is one";
  let summary = "a divisor may be 0 after rounding to its dtype";
  let what = [{
    The divisor of a division, reciprocal or negative power, as stored in its
    dtype, may be 0. Certain or likely where it is 0 in whole channels, where
    it is expected to flush, or where an op in front of it makes exact zeros
    (ReLU, counts, masks); possible where only its bounds contain 0.
  }];
  let why = [{
    x/0 is Inf and 0/0 NaN. The usual cause is a norm, a count or a sum of
    weights that is 0 for an empty or padded row, with an epsilon that FP16
    rounds to 0 or that was never there.
  }];
  let example = [{
    ```python
    mean = (x * mask).sum(1) / mask.sum(1)      # a row without a valid token
    ```
  }];
  let instead = [{
    Clamp the divisor to a number that the dtype holds:
    `mask.sum(1).clamp(min=1)`, `norm.clamp(min=1e-4)`. One that may have
    either sign is not clamped from one side: replace it where it is small
    (`torch.where(x.abs() < t, t, x)`).
  }];
}

def ExpOverflow : Rule<"MP207", "exp-overflow"> {
  let family = "range";
  let severity = "error";
  let since = "0.1";
  let decision = "overflow";
  let observable = "overflow count of the result in the dtype, and its "
    "infinities where it is stored in it; seen when there is one";
  let summary = "an exponential of an unshifted argument becomes Inf";
  let what = [{
    The argument of an exp, exp2, expm1, sinh, cosh or of a power with a
    variable exponent passes the point from which the result is Inf: 11.09 for
    exp in FP16, 88.72 in BF16 and FP32.
  }];
  let why = [{
    A softmax, logsumexp or softplus written out without the shift by the
    maximum overflows for ordinary logits, and Inf / Inf is NaN. FP16 leaves
    room for arguments up to 11 only.
  }];
  let example = [{
    ```python
    p = torch.exp(z) / torch.exp(z).sum(-1, keepdim=True)
    ```
  }];
  let instead = [{
    Use softmax, logsumexp or softplus, which shift by themselves, or
    `exp(z - z.max())`. A learned log-variance wants a clamp. BF16 has room for
    arguments up to 88.
  }];
}

def MaskConstant : Rule<"MP208", "mask-constant"> {
  let family = "range";
  let severity = "error";
  let since = "0.1";
  let decision = "overflow";
  let observable = "overflow count of the masked scores in the dtype; of a "
    "softmax whose rows may be masked altogether its NaN";
  let summary = "an additive mask leaves no room in the dtype";
  let what = [{
    Masked attention scores leave the dtype: the mask's constant is past its
    largest value (-1e9 in FP16), or the constant fits and score + constant
    does not. A warning, since -Inf masks as well until a row is masked
    altogether; an error where the mask is a product with 0, which is NaN.
    A softmax of scores that may all be -Inf is reported as possible.
  }];
  let why = [{
    exp(-Inf) is 0, as wanted. But a row that is masked altogether, as padding
    makes them, is -Inf - (-Inf) = NaN in the softmax, and (1 - mask) * -Inf is
    NaN wherever the mask is 1.
  }];
  let example = [{
    ```python
    scores = scores + (1.0 - mask) * -1e9
    ```
  }];
  let instead = [{
    `torch.finfo(scores.dtype).min / 2`, or -30000: far enough below any score,
    with room for the sum.
  }];
}

def SquareSumOverflow : Rule<"MP209", "square-sum-overflow"> {
  let family = "range";
  let severity = "error";
  let since = "0.1";
  let decision = "overflow";
  let observable = "overflow count of the squares or their sum in the "
    "dtype, and their infinities where they are stored in it; seen when "
    "there is one";
  let summary = "squares or their sum overflow in a norm, variance or distance";
  let what = [{
    A norm, variance or distance is written out, and its squares or their sum
    pass the dtype's largest value although the inputs and the root fit: in
    FP16 a square does from 256 on.
  }];
  let why = [{
    The root of Inf is Inf, and x / Inf is 0: an RMSNorm or L2 normalisation
    then gives zeros, silently, for exactly the tokens with the largest
    activations.
  }];
  let example = [{
    ```python
    x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)   # |x| > 256
    ```
  }];
  let instead = [{
    Compute the norm in FP32 from the square to the root
    (`x.float().pow(2)`), use the fused norm, or divide by the row's largest
    magnitude first.
  }];
}

def UnscaledAttention : Rule<"MP210", "unscaled-attention"> {
  let family = "range";
  let severity = "error";
  let since = "0.1";
  let decision = "overflow";
  let observable = "overflow count of the scores in the dtype, and their "
    "infinities where they are stored in it; seen when there is one";
  let summary = "attention scores overflow before they are scaled";
  let what = [{
    The product of queries and keys passes the dtype's largest value before
    1/sqrt(d) is applied, or without any scaling.
  }];
  let why = [{
    Scores grow with the head's width and with the square of the activations;
    those that fit after scaling by 1/8 or 1/11 need not fit before. Inf in a
    row of scores makes the row's softmax NaN.
  }];
  let example = [{
    ```python
    scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(d)
    ```
  }];
  let instead = [{
    Scale the query first, `torch.matmul(q / math.sqrt(d), k.transpose(-1, -2))`,
    or use `scaled_dot_product_attention`, which accumulates in FP32.
  }];
}

def NearOverflow : Rule<"MP211", "near-overflow"> {
  let family = "range";
  let severity = "warning";
  let since = "0.1";
  let decision = "near-overflow";
  let decisionThreshold = "near-overflow";
  let observable = "absolute maximum of the result; seen when it is within "
    "the margin, or past the edge";
  let thresholds = [
    Threshold<"near-overflow", "60000",
      "expected FP16 magnitude from which a result is near its edge; for other "
      "dtypes in proportion to their largest value">];
  let summary = "a result comes close to the largest value of its dtype";
  let what = [{
    The expected extremes of a result lie between the margin (60000 for FP16)
    and the edge of the dtype. A result past the edge is an overflow (MP201).
  }];
  let why = [{
    What one expects is a typical batch. A longer sequence, an outlier or a few
    more training steps are enough for the rest of the way.
  }];
  let example = [{
    ```python
    area = boxes.w * boxes.h                  # 250 x 250 pixels: 62500
    ```
  }];
  let instead = [{
    Leave a binade of room: normalise the units (pixels to fractions), scale by
    a power of two, or keep the op in FP32 or BF16.
  }];
}

def AbsorbedInfinity : Rule<"MP212", "absorbed-infinity"> {
  let family = "range";
  let severity = "warning";
  let since = "0.1";
  let decision = "overflow";
  let observable = "overflow count of the operand in the dtype, and its "
    "infinities where it is stored in it; seen when there is one";
  let summary = "an Inf turns into a finite wrong value that nobody sees";
  let what = [{
    An operand that overflows to Inf goes into an op that makes a finite number
    of it: x / Inf and rsqrt(Inf) are 0, and a clip, minimum or maximum gives
    its limit. Where the true value would have given the same (a clip), it is a
    note.
  }];
  let why = [{
    A search for Inf and NaN in the outputs finds nothing, and the model is
    wrong all the same: an RMSNorm whose sum of squares overflows returns zeros.
  }];
  let example = [{
    ```python
    y = x / x.norm(dim=-1, keepdim=True)       # the norm is Inf: y is 0
    ```
  }];
  let instead = [{
    Fix the overflow that the finding names; keep the divisor in FP32 up to the
    division.
  }];
}

def NarrowingCast : Rule<"MP213", "narrowing-cast"> {
  let family = "range";
  let severity = "error";
  let since = "0.1";
  let decision = "overflow";
  let observable = "overflow count of what is cast in the narrow dtype, or "
    "the share of its non-zero values that round to zero; seen when there "
    "is an overflow, or when the share reaches the threshold of MP204";
  let summary = "a cast to a narrower float overflows or flushes";
  let what = [{
    A tensor is cast to a narrower float, by the model, by autocast or by a
    conversion of the whole model, and its values are past the largest value of
    that dtype (error), or most of them are below its smallest (warning).
    Constants are the business of MP202 and MP203.
  }];
  let why = [{
    The values were fine where they were computed. FP32 to FP16 loses 8
    binades above and below; inputs in raw units (pixels, timestamps, amounts)
    and statistics are what overflows.
  }];
  let example = [{
    ```python
    t = timestamps.half()                     # 1.7e9 is Inf
    ```
  }];
  let instead = [{
    Normalise before the cast, cast to BF16, or leave the tensor and the ops
    that read it in FP32.
  }];
}

def InvalidOperation : Rule<"MP214", "invalid-operation"> {
  let family = "range";
  let severity = "error";
  let since = "0.1";
  let decision = "nan";
  let observable = "NaN count of the result";
  let summary = "an infinity that the model holds becomes NaN";
  let what = [{
    An Inf that is a constant of the model, or that the assumptions give an
    input, meets an op that makes NaN of it: 0 * Inf, Inf - Inf, Inf / Inf, the
    sine or the remainder of Inf. Also a constant that holds NaN. Certain where
    the result is never a number, likely where the other factor is 0 at an end
    of its range. Softmax rows that are masked altogether are MP208's, Inf that
    an op overflows to is reported where that happens.
  }];
  let why = [{
    -Inf is a fine mask where it is added or chosen. As a factor it is not: the
    elements that should stay are multiplied by 0, and 0 * -Inf is NaN. No
    dtype is wide enough to help.
  }];
  let example = [{
    ```python
    scores = scores + (1.0 - mask) * float("-inf")    # 0 * -inf where mask is 1
    ```
  }];
  let instead = [{
    Choose rather than multiply (`torch.where(mask, scores, -inf)`,
    `scores.masked_fill(~mask, -inf)`), or use the dtype's lowest finite number
    as the factor. In a softmax written out, clamp the row's maximum to a finite
    number before it is subtracted.
  }];
}

//===----------------------------------------------------------------------===//
// MP3xx: precision loss
//===----------------------------------------------------------------------===//

def Cancellation : Rule<"MP301", "cancellation"> {
  let family = "precision";
  let severity = "warning";
  let since = "0.1";
  let decision = "cancellation";
  let decisionThreshold = "cancellation-error";
  let observable = "root mean squares of the larger operand and of the "
    "difference; seen when half an ulp of the one is the threshold's share "
    "of the other";
  let thresholds = [
    Threshold<"cancellation-error", "0.1",
      "rounding error of a difference, as a share of it, from which it is "
      "reported">];
  let summary = "a difference of nearly equal values is mostly rounding error";
  let what = [{
    `x - mean(x)` of values whose mean is far larger than their spread, a
    variance computed as `E[x^2] - E[x]^2` of such values, or `(x + c) - c` with
    a c far larger than x, in 16 bits.
  }];
  let why = [{
    Both operands are rounded to 11 (FP16) or 8 (BF16) digits; where the
    leading ones are equal, what is left is the rounding. The variance form
    squares the ratio, can come out negative, and its root is NaN.
  }];
  let example = [{
    ```python
    var = (x ** 2).mean() - x.mean() ** 2       # x around 100, spread 1
    ```
  }];
  let instead = [{
    Compute mean and difference in FP32, and variances from the differences:
    `((x - x.mean()) ** 2).mean()`. What is added and taken off again is left
    out.
  }];
}

def Absorption : Rule<"MP302", "absorption"> {
  let family = "precision";
  let severity = "warning";
  let since = "0.1";
  let decision = "absorption";
  let observable = "absolute maximum of the small addend and root mean "
    "square of the large one; seen when the one is below half an ulp of the "
    "other";
  let summary = "an addend is too small to change the sum";
  let what = [{
    The largest expected magnitude of one addend is below half an ulp of a
    typical value of the other: a ratio of 2^11 in FP16, 2^8 in BF16. A warning
    in a loop and where the large addend is subtracted again, else a note: one
    sum is as good as its rounding. Masks and constants (epsilons) are not
    reported.
  }];
  let why = [{
    The sum is the large addend, unchanged. A residual branch beside a large
    stream, or an update beside a running sum, then does nothing.
  }];
  let example = [{
    ```python
    h = h + branch        # h of order 1e4, branch of order 1
    ```
  }];
  let instead = [{
    Keep the sum (the residual stream, the accumulator) in FP32.
  }];
}

def InexactIntegers : Rule<"MP303", "inexact-integers"> {
  let family = "precision";
  let severity = "warning";
  let since = "0.1";
  let decision = "integer-limit";
  let observable = "absolute maximum of the integers; seen when it passes "
    "2048 (FP16) or 256 (BF16)";
  let summary = "a 16-bit float holds integers too large for it";
  let what = [{
    Integers (positions, counts, indices) are cast to, generated or summed in a
    float that does not hold all of them: above 2048 in FP16, above 256 in BF16.
  }];
  let why = [{
    Neighbours become equal. Two positions with the same encoding, or a counter
    that stops at 2048 because 2048 + 1 is 2048, are silent errors.
  }];
  let example = [{
    ```python
    pos = torch.arange(4096, dtype=torch.float16)
    ```
  }];
  let instead = [{
    Keep indices as integers and compute angles or encodings in FP32.
  }];
}

def LongSum : Rule<"MP304", "long-sum"> {
  let family = "precision";
  let severity = "warning";
  let since = "0.1";
  let thresholds = [
    Threshold<"long-sum-error", "0.1",
      "bound of the rounding errors of a sum, as a share of it, from which it "
      "is reported">];
  let decision = "sum-error";
  let decisionThreshold = "long-sum-error";
  let observable = "mean and spread of the terms; seen when the roundings of "
    "adding so many terms like these amount to the share";
  let summary = "a 16-bit sum is so long that its error counts";
  let what = [{
    A reduction, mean, running sum or average pool whose target adds in FP16 or
    BF16 (`--target strict16`), or a value that a loop carries in 16 bits and
    adds to (on every target), has so many terms that the errors of its partial
    sums amount to 10 % of the result: from about 410 terms in FP16 and 52 in
    BF16, added one after another. Sums of whole numbers that the dtype holds
    are exact and not reported.
  }];
  let why = [{
    Each addition rounds the running sum to 11 (FP16) or 8 (BF16) digits; n of
    them lose up to n/2 units in the last place. A mean over 10,000 FP16 values
    can be off by a multiple of itself, and a counter stops at 2048.
  }];
  let example = [{
    ```python
    total = torch.zeros((), dtype=torch.float16)
    for x in xs:                              # 5000 of them
        total = total + x
    ```
  }];
  let instead = [{
    Add in FP32 and round once (`x.sum(dtype=torch.float32)`), carry running
    sums in FP32, or add blocks and then their sums.
  }];
}

def DimensionImbalance : Rule<"MP305", "dimension-imbalance"> {
  let family = "precision";
  let severity = "warning";
  let since = "0.1";
  let decision = "channel-ratio";
  let decisionThreshold = "imbalance-ratio";
  let observable = "largest magnitude by channel, where the probe keeps "
    "channels; seen when a quarter of them are smaller than the largest by "
    "the ratio";
  let thresholds = [
    Threshold<"imbalance-ratio", "10000",
      "ratio of the largest channel's expected size to that of a quarter of "
      "the channels">];
  let summary = "channels of one tensor differ by orders of magnitude";
  let what = [{
    A quarter or more of the channels of a 16-bit or 8-bit tensor are expected
    to be 10,000 times smaller than its largest one. A warning where the small
    ones are subnormal in the dtype and keep less than half of its digits (below
    1.9e-6 in FP16), else a note. Reported where it arises, of an input at the
    first op that reads it.
  }];
  let why = [{
    One scale cannot serve both: room for the large channels puts the small ones
    among the subnormal numbers. In a sum or norm over the channels the large
    ones absorb the small; a per-tensor FP8 or INT8 scale sets them to zero.
  }];
  let example = [{
    ```python
    features = torch.stack([age, income, timestamp], dim=1)   # 40, 5e4, 1.7e9
    ```
  }];
  let instead = [{
    Standardise each channel, or move per-channel factors into the weights
    before and after (as SmoothQuant does); else keep the tensor in FP32 up to
    the op that brings its channels to one size.
  }];
}

def SaturatedProbability : Rule<"MP306", "saturated-probability"> {
  let family = "precision";
  let severity = "warning";
  let since = "0.1";
  let decision = "zero";
  let observable = "zeros of the probabilities and values that round to 0 "
    "or to 1 in the dtype; seen when there is one";
  let summary = "a probability rounds to exactly 0 or 1 before a log or 1 - p";
  let what = [{
    The logits of a sigmoid or softmax are large enough for results of exactly 0
    (arguments below -17.3 in FP16) where a logarithm follows, or of exactly 1
    (above 8.3 in FP16, 6.2 in BF16, 17.3 in FP32) where 1 - p does.
  }];
  let why = [{
    log(0) is -Inf, and log(1 - p) with p = 1 as well: a confident prediction
    turns the loss into Inf and its gradient into NaN.
  }];
  let example = [{
    ```python
    loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p))
    ```
  }];
  let instead = [{
    Use the logits: log_softmax, log_sigmoid,
    binary_cross_entropy_with_logits; 1 - sigmoid(x) is sigmoid(-x).
  }];
}

def LargeAngle : Rule<"MP307", "large-angle"> {
  let family = "precision";
  let severity = "warning";
  let since = "0.1";
  let decision = "large-angle";
  let decisionThreshold = "large-angle-ulp";
  let observable = "absolute maximum of the angle; seen when its neighbours "
    "in the dtype are further apart than the threshold";
  let thresholds = [
    Threshold<"large-angle-ulp", "0.01",
      "distance of neighbouring angles, in radians, from which it is reported; "
      "a hundred times as much is a warning, less a note">];
  let summary = "an angle is so large that its dtype no longer resolves it";
  let what = [{
    The argument of a sine or cosine reaches a magnitude at which neighbouring
    values of its dtype are more than 0.01 radians apart: 16 in FP16, 2 in BF16.
    A warning from 1 radian on (1024 in FP16, 128 in BF16), else a note.
  }];
  let why = [{
    Rotary and sinusoidal position encodings take the position itself as the
    angle of their fastest component. In BF16 the positions 256 and 257 are
    equal; long contexts lose their order.
  }];
  let example = [{
    ```python
    angle = pos.half() * inv_freq.half()
    ```
  }];
  let instead = [{
    Compute positions, angles, sine and cosine in FP32 and cast the table.
  }];
}

//===----------------------------------------------------------------------===//
// MP5xx: seen at run time
//===----------------------------------------------------------------------===//

def NonFiniteValue : RunRule<"MP501", "non-finite-value"> {
  let severity = "error";
  let since = "0.1";
  let decision = "non-finite";
  let observable = "NaN and infinities of a tensor, and values that its judged "
    "dtype does not hold; seen when there is one";
  let summary = "a tensor held NaN or Inf, or values that its dtype stores as Inf";
  let what = [{
    A probe saw NaN or Inf, or values that are past the edge of the dtype in
    which the tensor was judged, and no finding of the analysis says so. An
    error where it begins; where it was handed on, a consequence. Not reported:
    infinities that the model puts there itself (a mask of -Inf that an op
    selects or adds), and what an input of the model brings along, which is
    listed under the assumptions that did not hold. Recorded gradients are
    judged by this and the rules that follow, too.
  }];
  let why = [{
    The record needs no assumption: it happened. Where the analysis said that it
    could not, either an assumption did not hold, which the report names, or
    the op is not modelled.
  }];
  let example = [{
    ```
    mpopt --confirm run.mprec --ledger model.probed.onnx.probes.json
    ```
  }];
  let instead = [{
    Look at the operands that the finding names with their extremes: what the op
    cannot take shows there. Guard it (a clamp, an epsilon that the dtype
    holds), or keep the op in FP32 if only the dtype is too narrow.
  }];
}

def ObservedNearOverflow : RunRule<"MP502", "observed-near-overflow"> {
  let severity = "warning";
  let since = "0.1";
  let decision = "near-overflow";
  let decisionThreshold = "near-overflow";
  let observable = "absolute maximum of a tensor; seen when it is within the "
    "margin of MP211";
  let summary = "values seen come close to the largest one of the dtype";
  let what = [{
    The largest magnitude that a probe saw lies between the margin (60000 for
    FP16, in proportion for other dtypes) and the edge of the dtype in which
    the tensor was judged, and no finding of the analysis says so.
  }];
  let why = [{
    One run is a sample. Another input, a longer sequence or a few more training
    steps are enough for the rest of the way.
  }];
  let example = [{
    ```python
    h = h + self.mlp(h)        # 63100 on the data at hand
    ```
  }];
  let instead = [{
    Leave a binade of room: the table of scales in the report has the power of
    two. Or keep the op in FP32.
  }];
}

def UnderflowRate : RunRule<"MP503", "underflow-rate"> {
  let severity = "warning";
  let since = "0.1";
  let decision = "flush-share";
  let decisionThreshold = "underflow-rate";
  let observable = "share of a tensor's non-zero values that round to zero in the "
    "dtype; seen from the threshold on";
  let thresholds = [
    Threshold<"underflow-rate", "0.5",
      "share of the non-zero values seen that must round to zero">];
  let summary = "most of the values seen round to zero in the dtype";
  let what = [{
    Of the non-zero values that a probe saw, the threshold's share or more are
    zero in the dtype in which the tensor was judged, and no finding of the
    analysis says so. A run in the dtype itself cannot show it: there the zeros
    are like any other. A note where values of order 1 and more stay beside
    them, as in a confident softmax.
  }];
  let why = [{
    What is rounded to zero is gone: gradients that stop, divisors that are 0,
    logarithms of 0.
  }];
  let example = [{
    ```python
    err = (pred - target) ** 2       # differences of 1e-4: squares of 1e-8
    ```
  }];
  let instead = [{
    Scale by a power of two (the table of scales in the report has it), or keep
    the op and what reads it in FP32.
  }];
}

def DeadLayer : RunRule<"MP504", "dead-layer"> {
  let severity = "warning";
  let since = "0.1";
  let decision = "dead";
  let decisionThreshold = "dead-layer";
  let observable = "absolute maximum of a layer's result; seen when it stays below "
    "the threshold in the whole run";
  let thresholds = [
    Threshold<"dead-layer", "1e-10",
      "magnitude that no value of a layer's result reaches">];
  let summary = "a layer gave zeros, or next to it, for the whole run";
  let what = [{
    No value that a layer (convolution, matrix product, recurrent cell,
    activation, normalisation) computed in the run reached 1e-10.
  }];
  let why = [{
    Such a layer passes nothing on, forward or backward. Weights that were
    flushed to zero, a ReLU that died, a normalisation behind an overflow
    (x / Inf is 0) or inputs that never reach it look like this.
  }];
  let example = [{
    ```python
    h = torch.relu(x @ w - 1e3)      # never positive
    ```
  }];
  let instead = [{
    Look upstream for the first tensor that is zero: a flushed constant (MP203),
    an overflow that was absorbed (MP212), or data that were not fed.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_TD
