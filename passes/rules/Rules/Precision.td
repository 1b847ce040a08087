//===- Precision.td - MP3xx: precision loss ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_PRECISION_TD
#define MPOPT_PASSES_RULES_RULES_PRECISION_TD

include "passes/rules/RuleBase.td"

def Cancellation : PrecisionRule<"MP301", "cancellation"> {
  let severity = "warning";
  let since = "0.1";
  let about = "arguments";
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
    variance or covariance computed as `E[x y] - E[x] E[y]` of such values, of
    rows or in windows, `(x + c) - c` with a c far larger than x, or any other
    sum or difference that is expected to be small beside both operands, in 16
    bits. Two inputs whose values are close to each other are known to be by
    samples (`--input NAME=@FILE.npz`). The root of such a variance of an
    input's rows is reported, too, where a row that does not vary, of silence or
    one colour, would make it NaN.
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

def Absorption : PrecisionRule<"MP302", "absorption"> {
  let severity = "warning";
  let since = "0.1";
  let decision = "absorption";
  let observable = "absolute maximum of the small addend and root mean "
    "square of the large one; seen when the one is below half an ulp of the "
    "other";
  let thresholds = [
    Threshold<"absorbed-share", "0.125",
      "least rounding of a sum that is reported, as a share of the smaller "
      "addend, or of a quarter of a reduction's terms">];
  let summary = "an addend is too small to change the sum";
  let what = [{
    The largest expected magnitude of one addend is below half an ulp of a
    typical value of the other: a ratio of 2^11 in FP16, 2^8 in BF16. A warning
    in a loop and where the large addend is subtracted again, else a note: one
    sum is as good as its rounding. Also a note: a sum whose rounding is an eighth
    or more of what its smaller addend adds (a ratio of about 650 in FP16, 80 in
    BF16): of that at most three bits are left; and a sum or mean over an axis
    whose result is rounded by an eighth or more of what a quarter of the terms
    add to it, which then keep three bits or fewer. Masks are not reported, nor
    are epsilons: constants that guard a division, root or logarithm.
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
    Keep the sum (the residual stream, the accumulator) in FP32; take log1p(x)
    for log(1 + x).
  }];
}

def InexactIntegers : PrecisionRule<"MP303", "inexact-integers"> {
  let severity = "warning";
  let since = "0.1";
  let decision = "integer-limit";
  let observable = "absolute maximum of the integers; seen when it passes "
    "2048 (FP16) or 256 (BF16)";
  let summary = "a 16-bit float holds integers too large for it";
  let what = [{
    Integers (positions, counts, indices) are cast to, generated or summed in a
    float that does not hold all of them: above 2048 in FP16, above 256 in BF16.
    Where something is chosen by them (ArgMax, Equal, TopK) the effect on
    outputs does not count, as the chosen ones may be neighbours.
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

def LongSum : PrecisionRule<"MP304", "long-sum"> {
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
    are exact and not reported. A sum inside of a norm or mean is reported, too,
    if it is expected to pass the largest number while the result fits: Inf
    there makes the result 0 or Inf.
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

def DimensionImbalance : PrecisionRule<"MP305", "dimension-imbalance"> {
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

def SaturatedProbability : PrecisionRule<"MP306", "saturated-probability"> {
  let severity = "warning";
  let since = "0.1";
  let about = "arguments";
  let dtypes = ["f16", "bf16", "f32"];
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

def LargeAngle : PrecisionRule<"MP307", "large-angle"> {
  let severity = "warning";
  let since = "0.1";
  let about = "arguments";
  let dtypes = ["f16", "bf16", "f32"];
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

def CoarseSampling : PrecisionRule<"MP308", "coarse-sampling"> {
  let severity = "warning";
  let since = "0.2";
  let thresholds = [
    Threshold<"sampling-step", "0.25",
      "distance of neighbouring sampling coordinates, in pixels, from which it "
      "is reported; twice as much is a warning, less a note">];
  let summary = "sampling coordinates are coarser than the pixels";
  let what = [{
    An image is read at computed positions, by a grid of coordinates from -1 to
    1 or by boxes in pixels, and neighbouring coordinates of their dtype are
    0.25 of a pixel apart or more. A warning from half a pixel on, else a note;
    where the effect on outputs is known, it decides.
  }];
  let why = [{
    A coordinate between 0.5 and 1 has steps of 2^-11 in FP16 and 2^-8 in BF16,
    which are 0.94 and 7.5 pixels of 3840: all samples between two of them are
    read at one place. Warped images get steps, and flows of a pixel are lost.
  }];
  let example = [{
    ```python
    frame = F.grid_sample(image.half(), grid.half())     # of 3840 columns
    ```
  }];
  let instead = [{
    Make and add up the coordinates in FP32 and sample in FP32, or sample by the
    distance to each pixel's own position, which is small.
  }];
}

def PolicyRatio : PrecisionRule<"MP310", "policy-ratio"> {
  let ownSeverity = 1;
  let severity = "error";
  let since = "0.3";
  let thresholds = [
    Threshold<"ratio-clip", "0.2",
      "ratios of policies are clipped to 1 plus and minus this">,
    Threshold<"ratio-clipped-share", "0.001",
      "share of the ratios that rounding alone clips, from which it is an error">,
    Threshold<"ratio-off", "0.01", "distance of a ratio from 1 that counts">,
    Threshold<"ratio-off-share", "0.01",
      "share of the ratios that are so far off, from which it is a warning">];
  let fix = "none";
  let summary = "rounding changes the ratios of a policy";
  let what = [{
    The model computes exp(new - old) of log-probabilities, one of which it makes
    itself by a log-softmax (or a cross-entropy) in or behind 16 bits. The
    message has the difference to FP32 a token and over the length, in FP16 as
    well, and the shares of ratios that are off by over 0.01 and outside of the
    clip range. An error where more than 0.1 % are clipped, a warning where more
    than 1 % are off.
  }];
  let why = [{
    Before any update the ratio of two engines should be 1. In BF16
    log-probabilities are off by about 0.01 a token, in FP16 by an eighth of
    that (its roundings are 8 times finer), and sums over a sequence grow with
    the root of its length. Gradients then weigh tokens by rounding, and clipped
    ones teach nothing (Qi et al., Defeating the training-inference mismatch via
    FP16, 2025). `mpopt.monitor.compare_log_probabilities` measures the same on
    two engines.
  }];
  let example = [{
    ```python
    new = policy(tokens).log_softmax(-1).gather(-1, chosen)   # in BF16
    ratio = (new - old).exp()
    ```
  }];
  let instead = [{
    Train and sample in FP16 with a loss scale, or compute the last product and
    the log-softmax in FP32 in both engines, and all else in the same kernels.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_PRECISION_TD
