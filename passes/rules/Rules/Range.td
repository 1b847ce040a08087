//===- Range.td - MP2xx: range -----------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_RANGE_TD
#define MPOPT_PASSES_RULES_RULES_RANGE_TD

include "passes/rules/RuleBase.td"

def Overflow : RangeRule<"MP201", "overflow"> {
  let severity = "error";
  let since = "0.1";
  let hazard = "overflow";
  let dtypes = ["f16", "bf16", "f32"];
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
    is exact; a residual stream that norms alone read by one factor for all that
    is added to it. A sum that is divided is a mean; a cosine divides by one
    length after the other, not by their product.
  }];
}

def ConstantOverflow : RangeRule<"MP202", "constant-overflow"> {
  let severity = "error";
  let since = "0.1";
  let decision = "file-fact";
  let observable = "a fact of the file: every run shows it";
  let summary = "a weight or constant is finite in the file and Inf in the dtype";
  let what = [{
    Elements of a weight or constant are finite as stored, and beyond the
    largest value of the dtype in which the model is to compute: 65504 for FP16
    (65520 and above round to Inf), 3.39e38 for BF16. Converters turn them into
    Inf or limit them without a word: under the policy of one that has a limit
    (10000 in onnxconverter-common), values beyond that are reported, but for
    masks that still mask.
  }];
  let why = [{
    An infinite constant makes every result that uses it Inf or NaN: Inf - Inf
    and 0 * Inf are NaN. The common case is an attention mask that adds -1e9 or
    -3.4e38: as -Inf it works until a row is fully masked, and then that row of
    the softmax is NaN. A mask of rows and columns alike has such a row for each
    position of padding, and NaN times 0 is NaN where the mask is taken again.
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

def ConstantUnderflow : RangeRule<"MP203", "constant-underflow"> {
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

def Underflow : RangeRule<"MP204", "underflow"> {
  let severity = "warning";
  let since = "0.1";
  let hazard = "underflow";
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

def InvalidDomain : RangeRule<"MP205", "invalid-domain"> {
  let severity = "error";
  let since = "0.1";
  let nonFinite = 1;
  let about = "arguments";
  let dtypes = ["f16", "bf16", "f32"];
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

def DivisionByZero : RangeRule<"MP206", "division-by-zero"> {
  let severity = "error";
  let since = "0.1";
  let nonFinite = 1;
  let about = "arguments";
  let dtypes = ["f16", "bf16", "f32"];
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

def ExpOverflow : RangeRule<"MP207", "exp-overflow"> {
  let severity = "error";
  let since = "0.1";
  let hazard = "overflow";
  let dtypes = ["f16", "bf16", "f32"];
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
    Use softmax, logsumexp or softplus (for `log(1 + exp(x))`), which shift by
    themselves, or `exp(z - z.max())`. A learned scale, temperature or
    log-variance needs a clamp: training may bring it past the limit. BF16 has
    room for arguments up to 88.
  }];
}

def MaskConstant : RangeRule<"MP208", "mask-constant"> {
  let severity = "error";
  let since = "0.1";
  let hazard = "overflow";
  let dtypes = ["f16", "bf16", "f32"];
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

def SquareSumOverflow : RangeRule<"MP209", "square-sum-overflow"> {
  let severity = "error";
  let since = "0.1";
  let hazard = "overflow";
  let dtypes = ["f16", "bf16", "f32"];
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

def UnscaledAttention : RangeRule<"MP210", "unscaled-attention"> {
  let severity = "error";
  let since = "0.1";
  let hazard = "overflow";
  let dtypes = ["f16", "bf16", "f32"];
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

def NearOverflow : RangeRule<"MP211", "near-overflow"> {
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

def AbsorbedInfinity : RangeRule<"MP212", "absorbed-infinity"> {
  let severity = "warning";
  let since = "0.1";
  let dtypes = ["f16", "bf16", "f32"];
  let decision = "overflow";
  let observable = "overflow count of the operand in the dtype, and its "
    "infinities where it is stored in it; seen when there is one";
  let summary = "an Inf turns silently into a finite wrong value";
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

def NarrowingCast : RangeRule<"MP213", "narrowing-cast"> {
  let severity = "error";
  let since = "0.1";
  let hazard = "overflow";
  let mildHazard = "underflow";
  let dtypes = ["f16", "bf16", "f32"];
  let decision = "overflow";
  let observable = "overflow count of the operand in the narrow dtype, or "
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
    Normalise before the cast (a factor behind it comes too late), cast to BF16,
    or leave the tensor and the ops that read it in FP32.
  }];
}

def InvalidOperation : RangeRule<"MP214", "invalid-operation"> {
  let severity = "error";
  let since = "0.1";
  let nonFinite = 1;
  let fix = "none";
  let dtypes = ["f16", "bf16", "f32"];
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

#endif // MPOPT_PASSES_RULES_RULES_RANGE_TD
