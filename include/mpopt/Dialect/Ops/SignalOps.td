//===- SignalOps.td - Windows, Fourier and image transforms -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_SIGNALOPS_TD
#define MPOPT_DIALECT_OPS_SIGNALOPS_TD

include "mpopt/Dialect/Ops/CheckedOp.td"

def MP_DFTOp : MP_CheckedOp<"dft", [Pure, AttrSizedOperandSegments]> {
  let degree = "1";
  let summary = "discrete Fourier transform along `axis`";
  let description = [{
    X[k] = Σ x[n] e^(-2πikn/N); the inverse has the opposite sign and divides by
    N. The last dim holds real and imaginary part (size 2), or is 1 for real
    input, as in ONNX DFT; a complex element type has no such dim. `onesided`
    keeps floor(N / 2) + 1 bins; with `inverse` it goes from those back to N
    real values. The operand is cropped or padded to `length`.
  }];
  let arguments = (ins MP_Tensor:$input, Optional<MP_Tensor>:$length,
    Optional<MP_Tensor>:$dynamic_axis, DefaultValuedAttr<I64Attr, "-2">:$axis,
    UnitAttr:$inverse, UnitAttr:$onesided);
  let results = (outs MP_Tensor:$result);
  let staticNames = 0;
  let assemblyFormat = [{
    $input (`length` $length^)? (`axis` $dynamic_axis^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def MP_STFTOp : MP_CheckedOp<"stft", [Pure, AttrSizedOperandSegments]> {
  let degree = "1";
  let summary = "short-time Fourier transform";
  let description = [{
    `signal` (batch, length, 1 or 2) gives (batch, frames, bins, 2): frames of
    `frame_length` (the window's length without it) every `frame_step`, times
    `window`, transformed; floor(frame_length / 2) + 1 bins if `onesided`.
  }];
  let arguments = (ins MP_Tensor:$signal, MP_Tensor:$frame_step,
    Optional<MP_Tensor>:$window, Optional<MP_Tensor>:$frame_length,
    DefaultValuedAttr<BoolAttr, "true">:$onesided);
  let results = (outs MP_Tensor:$result);
  let torch = ["stft.center", "stft"];
  let tensorflow = ["STFT"];
  let onnx = ["STFT"];
  let assemblyFormat = [{
    $signal `,` $frame_step (`window` $window^)? (`length` $frame_length^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def MP_MelWeightMatrixOp : MP_CheckedOp<"mel_weight_matrix", [Pure]> {
  let summary = "triangular filters on the mel scale";
  let description = [{
    (floor(dft_length / 2) + 1, num_mel_bins), weights in [0, 1], in the element
    type written on the result.
  }];
  let arguments = (ins MP_Tensor:$num_mel_bins, MP_Tensor:$dft_length,
    MP_Tensor:$sample_rate, MP_Tensor:$lower_edge_hertz,
    MP_Tensor:$upper_edge_hertz);
  let results = (outs MP_Tensor:$result);
  let onnx = ["MelWeightMatrix"];
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned) { return false; }
  }];
}

def MP_WindowOp : MP_CheckedOp<"window", [Pure]> {
  let summary = "a window of `size` samples";
  let description = [{
    `kind` is "hann", "hamming" or "blackman"; values in [0, 1] up to rounding.
    The denominator is `size` if `periodic`, else `size` - 1. The element type
    is the one written on the result.
  }];
  let arguments = (ins MP_Tensor:$size, StrAttr:$kind,
    DefaultValuedAttr<BoolAttr, "true">:$periodic);
  let results = (outs MP_Tensor:$result);
  let staticNames = 0;
}

#endif // MPOPT_DIALECT_OPS_SIGNALOPS_TD
