//===- Dtype.td - MP1xx: dtype flow and autocast -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_DTYPE_TD
#define MPOPT_PASSES_RULES_RULES_DTYPE_TD

include "passes/rules/RuleBase.td"

def UnsafeLowPrecisionOp : DtypeRule<"MP101", "unsafe-low-precision-op"> {
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

def BannedUnderAutocast : DtypeRule<"MP102", "banned-under-autocast"> {
  let ownSeverity = 1;
  let ofLosses = 1;
  let severity = "error";
  let since = "0.1";
  let decision = "zero";
  let observable = "counts of probabilities that are exactly 0 or 1 in the "
    "dtype; seen when there is one";
  let summary = "PyTorch refuses an op in 16 bits or inside of a region";
  let what = [{
    A binary cross-entropy takes probabilities (after a sigmoid) in FP16 or
    BF16. PyTorch refuses `binary_cross_entropy` and `BCELoss` under autocast
    for this reason, on CUDA and whatever the dtype: in FP32, too, the call ends
    with an error. The op that torch.onnx and torch.export write out is
    recognised by its logarithms, which are limited at -100, and `--loss bce` is
    judged as if it were computed inside of the region. Or a matrix
    decomposition, or an op on one, reads 16 bits: PyTorch has no such
    kernels of Cholesky factors, inverses, determinants, SVD, QR, eigenvalues
    and linear solvers.
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
    never rounded to 16 bits. Cast the operand of a decomposition to FP32.
  }];
}

def SilentUpcast : DtypeRule<"MP103", "silent-upcast"> {
  let ownSeverity = 1;
  let severity = "warning";
  let since = "0.1";
  let thresholds = [
    Threshold<"speed-share", "0.25",
      "share of the model's arithmetic from which a finding about speed is a "
      "warning, not a note">];
  let summary = "a 32-bit operand among 16-bit ones widens all that follows";
  let what = [{
    An op takes 16-bit and 32-bit (or 64-bit) float operands. Frameworks promote
    to the wider type, so the result and what is computed from it leave 16 bits
    from here on. The finding names the operand that brought the wider type. It
    is a warning if what is widened does a quarter of the model's arithmetic
    (multiplications and additions, a step of elementwise ops counted as one an
    element), and a note below.
  }];
  let why = [{
    Nothing is lost in accuracy, but the speed and memory that 16 bits were
    chosen for are: one FP32 buffer, mask or scalar tensor can turn the rest of
    a block into FP32 without a line in the code that says so. In a graph that is
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

def TooLateUpcast : DtypeRule<"MP104", "too-late-upcast"> {
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

def ManualHalfCast : DtypeRule<"MP105", "manual-half-cast"> {
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

def LossInLowPrecision : DtypeRule<"MP106", "loss-in-low-precision"> {
  let severity = "error";
  let since = "0.1";
  let fix = "safe";
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

def LowPrecisionAccumulation : DtypeRule<"MP107", "low-precision-accumulation"> {
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

def CastChurn : DtypeRule<"MP108", "cast-churn"> {
  let ownSeverity = 1;
  let severity = "warning";
  let since = "0.1";
  let thresholds = [
    Threshold<"cast-churn-bytes", "65536",
      "casts that move fewer bytes than this in sum are not reported">];
  let summary = "casts move more bytes than the 16-bit island they serve saves";
  let what = [{
    A group of 16-bit ops is fenced by casts from and to FP32 whose reads and
    writes amount to more bytes than the ops inside save by working in 16 bits.
    The finding shows both numbers. It is a warning if these ops do a quarter of
    the model's arithmetic (`--set speed-share=0.25`, as for MP103).
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

def LowPrecisionStatistics : DtypeRule<"MP109", "low-precision-statistics"> {
  let severity = "warning";
  let since = "0.1";
  let fix = "safe";
  let decision = "loss-of-range";
  let observable = "overflow counts of the summed values, overflow and "
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

def WrongCustomOp : DtypeRule<"MP110", "wrong-custom-op"> {
  let byList = 0;
  let ownSeverity = 1;
  let severity = "error";
  let since = "0.3";
  let dtypes = ["f32", "f16", "bf16"];
  let summary = "an op of the project computes in a dtype that its entry leaves out";
  let what = [{
    An op that mpopt does not know computes in a dtype that its entry in
    `mpopt.toml` (`[ops."com.acme::FlashThing"]`, or `--op`) does not list: the
    project states that the op is right in others, or in none. Its results are
    taken to have nothing in common with the right ones, forward and backward.
  }];
  let why = [{
    Kernels of one's own are often written and tested for one dtype: sums in
    FP16 that overflow, a reinterpreted pointer, constants that FP16 flushes to
    zero, or an FP32 path without a caller. Autocast and converters do not know
    the op, and hand it the dtype of its neighbour.
  }];
  let example = [{
    ```toml
    [ops."com.acme::FlashThing"]   # and the model in FP16
    range = "-8:8"
    slope = 1.1
    dtypes = ["f32"]
    ```
  }];
  let instead = [{
    Compute the op in a dtype in which it is right, with casts in front of it
    and behind it: in FP32, list it under the converter's block list
    (`--keep-fp32 FILE` writes it), or register an FP32 autocast kernel
    (`torch.library.register_autocast`). `mpopt.try_op(fn, samples)` runs an op
    in each dtype and prints the entry.
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_DTYPE_TD
