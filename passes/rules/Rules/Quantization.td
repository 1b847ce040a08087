//===- Quantization.td - Rules about quantised models -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_QUANTIZATION_TD
#define MPOPT_PASSES_RULES_RULES_QUANTIZATION_TD

include "passes/rules/RuleBase.td"

def BadScale : QuantizationRule<"MP601", "bad-scale"> {
  let summary = "a scale is no positive number";
  let what = [{
    A scale by which a tensor is quantised is 0, negative, NaN or Inf, be it in the
    file or in the dtype in which the file stores it. The finding names the first
    such scale and counts them. So it does of scales that are subnormal. Or zero points of blocks, stored as floats, are past
    the codes that they stand for.
  }];
  let why = [{
    Numbers divided by a scale of 0 are Inf or NaN, and a runtime clips them to the
    last code or takes any. A scale in FP16 is 0 below 3e-8, which is what a channel
    of tiny weights gets.
  }];
  let example = [{
    ```python
    scale = np.float16(np.abs(weights).max() / 127)   # 0 for weights below 3.8e-6
    ```
  }];
  let instead = [{
    Limit scales from below by the smallest normal number of their dtype, and write
    1 for a channel of zeros.
  }];
}

def Saturation : CodeRule<"MP602", "saturation"> {
  let thresholds = [
    Threshold<"clipped-share", "0.001",
              "expected share of a tensor's elements past the ends of its codes">,
  ];
  let summary = "values are clipped at the ends of their codes";
  let decision = "domain";
  let observable = "minimum and maximum of what is quantised; seen when one is "
    "past the numbers of the first and the last code";
  let nonFinite = 1;
  let what = [{
    More than `clipped-share` of a tensor's elements are expected past the numbers for
    which its first and last code stand, by the range that the model gives them; or
    the codes of a weight are the last ones far more often than those of any
    distribution that fits. Numbers below 0 are none where the first code stands for
    0: quantisers leave out the Relu that such codes replace. Where an op does not
    saturate (`saturate` is 0), one element that is expected past the ends makes NaN.
  }];
  let why = [{
    What is clipped is lost with all that it is past the end, while what is rounded
    is off by half a step at most. A scale from few or other inputs than those that
    are met clips.
  }];
  let example = [{
    ```python
    scale = np.abs(few_inputs).max() / 127     # met inputs are eight times as large
    ```
  }];
  let instead = [{
    Take the scale from the range that the finding gives, or calibrate on inputs as
    they are met.
  }];
}

def WastedCodes : CodeRule<"MP603", "wasted-codes"> {
  let thresholds = [
    Threshold<"used-codes", "0.125",
              "share of the codes within the expected range">,
  ];
  let summary = "a tensor takes few of its codes";
  let what = [{
    The range that is expected of a tensor, or the codes that a weight has, lie within
    less than `used-codes` of the codes of its type: the step is so much coarser than
    it has to be.
  }];
  let why = [{
    Each halving of the codes that are in use doubles the error of rounding. An eighth
    of 8 bits are 5 bits.
  }];
  let example = [{
    ```python
    scale = 1.0 / 127       # for weights within 0.02: five codes are in use
    ```
  }];
  let instead = [{
    Take the scale from the range that the finding gives.
  }];
}

def CollapsedChannels : CodeRule<"MP604", "collapsed-channels"> {
  let thresholds = [
    Threshold<"collapsed-share", "0.25",
              "share of a weight's channels that are within one step">,
  ];
  let summary = "one scale for unlike numbers leaves no codes for the small ones";
  let what = [{
    A weight has one scale for all channels, and in more than `collapsed-share` of its
    output channels, or of the rows of a table, no code is past 1 in magnitude; or scores are quantised behind
    the mask that is added to them, so that a step is as wide as all of the scores
    that are not masked.
  }];
  let why = [{
    The largest number sets the scale. Channels hundreds of times smaller become 0, 1
    and -1, scores beside a mask of -1e4 are all equal.
  }];
  let example = [{
    ```python
    weight[7] *= 300        # one row; the codes of all others are 0
    ```
  }];
  let instead = [{
    Give each output channel a scale of its own. Add the mask behind the quantised
    scores, or leave the sum in floats.
  }];
}

def BiasClip : QuantizationRule<"MP605", "bias-clip"> {
  let summary = "a bias of 32 bits is clipped, or its scale is not that of the sum";
  let what = [{
    A bias in 32-bit codes is added to a sum of products of codes. Its codes are at
    the ends of 32 bits, its scale is another one than the product of the scales of
    input and weight, or it has a zero point.
  }];
  let why = [{
    The sum of products has the scale `sx * sw`, and so has all that an integer
    kernel adds to it: it reads codes and no scale. A channel of tiny weights has a
    tiny scale, in which an ordinary bias takes more than 32 bits.
  }];
  let example = [{
    ```python
    bias_codes = np.clip(bias / (sx * sw), -2**31, 2**31 - 1)   # clipped where sw is 1e-12
    ```
  }];
  let instead = [{
    Raise the weight's scale of those channels until the bias fits, or leave the bias
    in floats.
  }];
}

def AccumulatorOverflow : QuantizationRule<"MP606", "accumulator-overflow"> {
  let summary = "a sum of products of codes leaves 32 bits";
  let what = [{
    An integer kernel adds products of codes in 32 bits, or as many as the target
    has (`--target int32-sum` multiplies 16-bit codes, too). The sums of a weight's
    positive and negative codes, each times the code that makes them largest, leave
    these: likely, if the sum of the codes that are expected does, else possible.
  }];
  let why = [{
    Integers wrap: a sum that is a little too large comes back with the other sign.
    Of 8 bits by 8 bits it takes 66,000 terms of one sign.
  }];
  let example = [{
    ```python
    y = matmul_integer(x, w)    # x near 230 of 255, w near 127, 101,000 terms
    ```
  }];
  let instead = [{
    Split the sum, leave the op in floats, or quantise its weights in fewer bits.
  }];
}

def PairSaturation : CodeRule<"MP607", "pair-saturation"> {
  let summary = "pairs of products of codes saturate in 16 bits";
  let what = [{
    On a target whose kernels add two neighbouring products of an unsigned and a
    signed byte in 16 bits (`ort-cpu-avx2`, `openvino-cpu`), pairs of weights are large
    enough to pass these. Which pairs can follows from the weights exactly; how many
    do, from the codes that are expected. Where no pair of a file can, a note says so.
  }];
  let why = [{
    `vpmaddubsw` ends at 32767, and 255 * 127 + 255 * 127 is 64770. A sum loses what is
    past the end, always towards 0: the same file is right on a processor with VNNI
    and wrong on one without.
  }];
  let example = [{
    ```python
    x, w = [250, 240], [120, 115]     # 57600 is stored as 32767
    ```
  }];
  let instead = [{
    Quantise weights to 7 bits (`reduce_range=True`), which no pair can pass, or as
    unsigned bytes (u8u8), whose products are widened first. Signed activations
    (s8s8) help where the target does not offset them: ONNX Runtime does, OpenVINO
    halves the weights.
  }];
}

def DequantiseOverflow : QuantizationRule<"MP608", "dequantise-overflow"> {
  let summary = "codes overflow the format in which the target dequantises them";
  let nonFinite = 1;
  let what = [{
    On a target that computes (code - zero point) * scale in FP16 (`openvino-gpu`), a
    zero point is past FP16's largest number, or a sum of products of codes times the
    scale of the weight is: likely by what is expected of the result, possible by the
    extremes of the sum.
  }];
  let why = [{
    The scales make the product small, but one after the other: 1016 * 127 is Inf in
    FP16 before the other scale of 1e-3 is applied. A zero point of 65535 is Inf in
    itself, and Inf - Inf is NaN.
  }];
  let example = [{
    ```python
    x = (np.float16(code) - np.float16(65535)) * scale      # NaN or -Inf
    ```
  }];
  let instead = [{
    Use 8-bit codes or symmetric ones for that tensor, run it in FP32 (OpenVINO's
    `INFERENCE_PRECISION_HINT: f32`), or move a factor from the scale of the weight to
    that of the input.
  }];
}

def PairMismatch : QuantizationRule<"MP609", "pair-mismatch"> {
  let summary = "codes are read with another scale, zero point, type or axis than they were written with";
  let what = [{
    A tensor is quantised with one scale and zero point and dequantised with others,
    the zero point has another type than the codes, the scales of a weight lie
    along another axis than its output channels, or codes get a border of the code 0
    where another code stands for 0.
  }];
  let why = [{
    The numbers that come back are those of another tensor: a factor in all of them,
    an offset, or a factor that changes along the wrong axis.
  }];
  let example = [{
    ```python
    y = dequantize(quantize(x, 0.1, 0), 0.13, 0)   # 1.3 x
    ```
  }];
  let instead = [{
    Use the constants of the QuantizeLinear in each DequantizeLinear that reads its
    codes. Scales of a weight go along axis 0 of a convolution, the last axis of a
    MatMul's second operand, axis 0 of a Gemm's with transB.
  }];
}

def DoubleRounding : CodeRule<"MP610", "double-rounding"> {
  let thresholds = [
    Threshold<"requantised", "4",
              "how many times as coarse a second scale is">,
  ];
  let summary = "codes are quantised again in coarser steps";
  let what = [{
    Numbers that codes stand for are quantised with another scale, directly or as a
    part of a concatenation, whose steps are more than `requantised` times as wide; or
    a part of a concatenation is smaller than one step of the scale that all share.
  }];
  let why = [{
    Both roundings stay, and the second alone decides: of 256 codes a factor of 10
    leaves 25. A concatenation gives boxes of 0 to 640 and scores of 0 to 1 one scale.
  }];
  let example = [{
    ```python
    y = quantize(concat([dequantize(a, 0.01), dequantize(b, 0.2)]), 0.2)   # a has 12 codes left
    ```
  }];
  let instead = [{
    Give both pairs one scale, drop the first, or keep the parts apart until the model
    ends.
  }];
}

def SensitiveOp : CodeRule<"MP611", "sensitive-op"> {
  let thresholds = [
    Threshold<"outliers", "64",
              "the largest number in front of a norm, of the middle channel's root mean square">,
  ];
  let summary = "an op needs more of its numbers than codes hold";
  let what = [{
    Probabilities are quantised with a last code of 2 or more, or the input of a norm
    or of a smooth activation has outliers of more than `outliers` times the root mean
    square of its middle channel.
  }];
  let why = [{
    Probabilities end at 1, so 1 / 256 fits always. A norm divides by the size of a row
    and makes typical elements as large as the step is beside them: outliers of 1000
    leave a channel of 1 within a seventh of a step of 8 bits.
  }];
  let example = [{
    ```python
    n = layer_norm(dequantize(quantize(x, 1000 / 127), 1000 / 127))   # x is 1 but for one channel
    ```
  }];
  let instead = [{
    Write 1 / 256 (1 / 65536) as the scale of softmax and sigmoid. Leave residual sums
    in front of norms in floats or 16-bit codes, or take outliers into the weights
    first (SmoothQuant, rotations).
  }];
}

def DynamicOutlier : CodeRule<"MP612", "dynamic-outlier"> {
  let thresholds = [
    Threshold<"dynamic-bits", "5",
              "bits that a dynamic scale leaves the middle channel">,
  ];
  let summary = "outliers set the scale that a run chooses";
  let what = [{
    A tensor is quantised at run time by its own range, in 255 steps. The range that is
    expected leaves fewer than `dynamic-bits` bits between plus and minus the root mean
    square of its middle channel. Where it does not, a note says how much larger than
    expected one row of a batch has to be to leave the others as few.
  }];
  let why = [{
    One channel sets the scale of all: massive activations of 1000 beside numbers of 1
    leave these a single code. No calibration helps, as there is none. Rows share the
    scale, too: the same text has another embedding beside a loud one, or padding.
  }];
  let example = [{
    ```python
    codes, scale, zero = dynamic_quantize(x)      # one channel is 300 times the others
    ```
  }];
  let instead = [{
    Leave the op out of quantisation (`nodes_to_exclude`), quantise its activations by
    row or channel, or take the outliers into the weights in front. Where results must
    not depend on the batch, run one row at a time or use static scales.
  }];
}

def BlockOutlier : CodeRule<"MP613", "block-outlier"> {
  let thresholds = [
    Threshold<"block-snr", "10",
              "signal to noise, in dB, of a block's codes but for the largest">,
    Threshold<"poor-blocks", "0.1",
              "share of the blocks of a weight that are below it">,
  ];
  let summary = "one weight takes the codes of its block";
  let what = [{
    In more than `poor-blocks` of the blocks of a weight, all codes but the largest are
    within `block-snr` of the rounding: an outlier sets the scale of the block.
  }];
  let why = [{
    Of 4 bits the largest weight of a block gets code 7, and what is a fourteenth of it
    or less is 0. Normal weights in blocks of 32 have 20 dB.
  }];
  let example = [{
    ```python
    block = [0.01, -0.02, 0.9, 0.01]      # codes 0, 0, 7, 0
    ```
  }];
  let instead = [{
    Use smaller blocks, 8 bits for that weight, or a method that moves outliers away
    first (AWQ, GPTQ with activation order, rotations).
  }];
}

def Portability : QuantizationRule<"MP614", "portability"> {
  let severity = "note";
  let thresholds = [
    Threshold<"portable-share", "1e-5",
              "share of a product's pairs that are expected to saturate">,
  ];
  let summary = "the same file gives other results on other targets";
  let what = [{
    Products whose pairs saturate, sums that wrap and zero points that are Inf are
    counted on every target that mpopt knows; those that differ from the one that is
    judged are listed.
  }];
  let why = [{
    A file that was measured on one machine is not measured on another: codes are the
    same, and what kernels do with them is not.
  }];
  let example = [{
    ```sh
    mpopt --check model.int8.onnx                          # right with VNNI
    mpopt --check model.int8.onnx --target ort-cpu-avx2    # and wrong without
    ```
  }];
  let instead = [{
    `mpopt --advise MODEL` has the verdict and the error on each target. Judge the file
    with `--target` of each machine it is for, and fix what the listed rules find there.
  }];
}

def RefusedCodes : QuantizationRule<"MP622", "refused-codes"> {
  let summary = "the target's runtime does not take the file's codes";
  let what = [{
    Codes have a type that the runtime of `--target` does not take, or a zero point
    that is not 0 where it asks for 0. One finding counts them by type. `takes` of a
    [target](../targets.md) says what a runtime takes.
  }];
  let why = [{
    The builder stops at the first such node, often with the name of a check in its
    own source. What it takes is known from the file.
  }];
  let example = [{
    ```python
    quantize_static(model, out, reader)       # u8 with zero points: TensorRT takes neither
    ```
  }];
  let instead = [{
    Quantise in a form that the runtime takes. For TensorRT: signed codes, symmetric, and
    biases in floats (`ActivationSymmetric`, `WeightSymmetric`, `QuantizeBias: False`).
  }];
}

def LostRectifier : QuantizationRule<"MP620", "lost-rectifier"> {
  let summary = "a rectifier of the float model is missing, and codes do not replace it";
  let what = [{
    With `--against FLOAT.onnx`: the float model rectifies a tensor, this file has no
    rectifier there, and the first code stands for a number below 0. The effects count
    the negative numbers that stay.
  }];
  let why = [{
    A quantiser may leave out a Relu where codes begin at 0, which clip as it does.
    Codes that are symmetric around 0 do not: the network is another one, and the
    file alone does not show it.
  }];
  let example = [{
    ```python
    quantize_static(model, out, reader, activation_type=QuantType.QInt8)   # dropped the Relu
    ```
  }];
  let instead = [{
    Keep the Relu, or quantise what it gives with unsigned codes and a zero point of 0.
  }];
}

def ForeignConstant : QuantizationRule<"MP623", "foreign-constant"> {
  let summary = "the codes of a constant are not those of the float model";
  let what = [{
    With `--against FLOAT.onnx`: the numbers for which a constant's codes and scale
    stand are more than a tenth larger or smaller than the float model's, or more than
    a fifth of their square is lost whatever the scale. Factors by channel that the
    layers beside take back (SmoothQuant, equalisation, batch norms that are folded)
    do not count.
  }];
  let why = [{
    Shapes and dtypes fit, so that every runtime takes the file. A bias whose codes
    were made for an earlier scale of the input, codes of 4 bits that were packed in
    the other order, or weights of another layer give a network that was not trained.
  }];
  let example = [{
    ```python
    bias_codes = np.rint(bias / (old_input_scale * weight_scale))   # and a new input_scale
    ```
  }];
  let instead = [{
    Quantise the constant anew from the float model, with the scales that are in the
    file.
  }];
}

def CalibrationGap : CodeRule<"MP621", "calibration-gap"> {
  let thresholds = [
    Threshold<"calibrated-share", "0.5",
              "share of what is expected that a calibration saw">,
  ];
  let summary = "a calibration did not see the numbers that are met";
  let decision = "domain";
  let observable = "minimum and maximum of the tensor; seen when one is past "
    "what the calibration saw";
  let nonFinite = 1;
  let what = [{
    With `--calibration FILE`: the range that the calibration saw of a tensor is less
    than `calibrated-share` of the range that is expected of it for the declared
    inputs, or the codes of the file end before `calibrated-share` of what was seen.
  }];
  let why = [{
    Static scales are those of a calibration. Numbers that it did not see are clipped,
    however well the codes fit those that it saw: few batches, inputs without their
    preprocessing, masks that are all ones.
  }];
  let example = [{
    ```python
    reader = Batches(images / 255)      # the deployed model gets images of 0 to 255
    ```
  }];
  let instead = [{
    Calibrate on inputs as they are met, or give the tensor the scale of the expected
    range. Where the file ends before the table, quantise it again with the table.
  }];
}

def QuantizationErrorRule : EffectRule<"MP615", "quantization-error"> {
  let family = "quantization";
  let severity = "error";
  let since = "0.3";
  let dtypes = ["f32", "f16", "bf16"];
  let fix = "sometimes";
  let summary = "quantisation changes an output by more than the threshold";
  let what = [{
    The file holds quantised tensors, and an output is expected to differ by more
    than `effect-warning` (an error from `effect-error` on) of its largest value
    from the same graph without quantisation. Codes of FP8 have the aim of integers,
    2 %, which rounding alone passes: two operands in E4M3 move a product by 3.8 %.
    `--set effect-warning=0.18` is the aim of `--precision fp8-e4m3` for a float
    model. The finding splits the error by cause:
    the codes of weights, the steps between the codes of activations, and clipping
    at their ends. The tensors that it names cause most.
  }];
  let why = [{
    Eight bits are 256 steps for the whole range of a tensor. A range that is too
    small clips, one that is too large wastes codes, and one outlier takes the
    steps from all others.
  }];
  let example = [{
    ```python
    # calibrated on a tenth of the inputs' range: nine values in ten are clipped
    quantize_static("model.onnx", "model.int8.onnx", reader)
    ```
  }];
  let instead = [{
    Calibrate on inputs as they are met. Use a scale per channel for weights, 16 bits
    for the activations that cause most, or leave those ops out of quantisation.
  }];
}

def ScaleMissing : CheckpointRule<"MP616", "scale-missing"> {
  let summary = "a quantised tensor of a checkpoint has no scale, and its siblings have one";
  let what = [{
    A safetensors file holds codes, or keys and values, without a scale that tensors of
    the same kind have: other experts of the layer, at least half of the layers, or the
    shards that a server joins with it (q, k and v, gate and up).
  }];
  let why = [{
    A loader fills what it has a place for and does not notice the rest. A scale that is
    missing is what the memory holds, often 0: inputs of an expert that no token reached
    while scales were calibrated are divided by it, and every token that is routed there
    becomes NaN.
  }];
  let example = [{
    ```
    experts.2.up_proj.weight  F8_E4M3     experts.2.up_proj.input_scale  F32
    experts.3.up_proj.weight  F8_E4M3     (none: no token of the calibration came here)
    ```
  }];
  let instead = [{
    Calibrate with all experts switched on, or write the largest scale of the layer's
    other experts for those without one.
  }];
}

def ScaleMismatch : CheckpointRule<"MP617", "scale-mismatch"> {
  let summary = "a scale of a checkpoint is not that of its codes";
  let what = [{
    A scale is inverted (weights of thousands, or an input scale whose inverse fits the
    other layers), is far from the scales of the tensors that share its input or its kind,
    or was rounded to a power of two after the weights were divided by it. With
    `--against` the weights before quantisation say for each row or block by which factor
    the scale is off, and where the codes are those of other weights.
  }];
  let why = [{
    Shapes and dtypes are right, so that every loader accepts it. A block whose scale was
    rounded afterwards comes back up to twice as large; an inverted scale leaves nothing
    of the layer.
  }];
  let example = [{
    ```python
    scale = block.abs().amax() / 448
    codes = (block / scale).to(torch.float8_e4m3fn)
    stored = torch.exp2(torch.ceil(torch.log2(scale)))   # too late
    ```
  }];
  let instead = [{
    Round the scale first and divide by the rounded one. Names that end in `_inv` are
    multiplied with the codes like all others; global scales of compressed-tensors divide.
  }];
}

def MergedScales : CheckpointRule<"MP618", "merged-scales"> {
  let severity = "warning";
  let thresholds = [
    Threshold<"merged-flushed-share", "0.01",
              "share of a shard's weights that become 0 under the group's largest scale">,
  ];
  let summary = "shards that a server joins have unlike scales";
  let what = [{
    Weights that a server joins into one matrix (q, k and v, gate and up) have a scale for
    each whole weight. A server that keeps one scale takes the largest and rounds the
    shards anew: more than `merged-flushed-share` of one's weights become 0. Of NVFP4 it
    replaces the scale that blocks have in common and leaves theirs, which multiplies the
    shard's weights by the ratio.
  }];
  let why = [{
    E4M3 holds 2^15 between its smallest and its largest code, so that shards within 2^6 of
    each other lose little. A gate that is 2^12 below its neighbour is mostly 0. The largest
    of numbers that divide (`weight_global_scale`) belongs to the smallest weights.
  }];
  let example = [{
    ```
    gate_proj.weight_scale 3.1e-07     up_proj.weight_scale 2.4e-03
    ```
  }];
  let instead = [{
    Quantise the shards with one scale, or with a scale for each row or block, which
    servers keep apart.
  }];
}

def ScaleLayout : CheckpointRule<"MP619", "scale-layout"> {
  let summary = "a scale's shape or dtype does not fit its codes";
  let what = [{
    The scales of a weight are for blocks of another size than the checkpoint declares, or
    of none that divides the weight; their rows and columns are interchanged; or they are
    stored in a dtype in which no format has scales.
  }];
  let why = [{
    A kernel reads the scale of a block at the place where its layout has it. What it finds
    there is another block's, or beyond the tensor.
  }];
  let example = [{
    ```
    weight [1536, 512]  weight_scale_inv [4, 12]     # 12 x 4 blocks of 128 x 128
    ```
  }];
  let instead = [{
    Store scales in the order of the weight's rows and columns, and declare the block
    (`weight_block_size`).
  }];
}

#endif // MPOPT_PASSES_RULES_RULES_QUANTIZATION_TD
