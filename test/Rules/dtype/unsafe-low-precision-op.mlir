// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-unsafe-low-precision-op --mp-emit-findings

module attributes {mp.policy = "pytorch-cuda"} {
  func.func @f16(%x: tensor<4xf16>) -> tensor<4xf16> {
    // expected-warning @below {{exp computes in f16, which pytorch-cuda keeps in f32: an exponential is Inf above 11.09 [MP101 certain]}}
    %y = mp.exp %x {mp.category = "fp32"} : (tensor<4xf16>) -> tensor<4xf16>
    return %y : tensor<4xf16>
  }
}

// -----

func.func @bf16(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  // expected-warning @below {{softmax computes in bf16, which the policy keeps in f32: probabilities keep 2 decimal digits}}
  %y = mp.softmax %x {mp.category = "fp32"} : (tensor<4xbf16>) -> tensor<4xbf16>
  // TensorFlow's and the converters' words for it.
  // expected-warning @below {{log computes in bf16}}
  %z = mp.log %y {mp.category = "deny"} : (tensor<4xbf16>) -> tensor<4xbf16>
  // expected-warning @below {{pow computes in bf16}}
  %w = mp.pow %z, %y {mp.category = "block"} : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  return %w : tensor<4xbf16>
}

// -----

// One finding for a composite, at its result.
func.func @idiom(%x: tensor<4xf16>) -> tensor<4xf16> {
  %e = mp.exp %x {mp.category = "fp32", mp.idiom = #mp.idiom<"softplus", 0, false>} : (tensor<4xf16>) -> tensor<4xf16>
  // expected-warning @below {{decomposed softplus computes in f16}}
  %y = mp.log1p %e {mp.category = "fp32", mp.idiom = #mp.idiom<"softplus", 0, true>} : (tensor<4xf16>) -> tensor<4xf16>
  return %y : tensor<4xf16>
}

// -----

// Statistics in FP32 inside, said or by default: a remark. Said to be in FP16: a
// warning.
func.func @stash(%x: tensor<2x4xf16>, %g: tensor<4xf16>) -> tensor<2x4xf16> {
  // expected-remark @below {{layer_norm computes in f16, which the policy keeps in f32: safe only where the kernel keeps its sums in f32}}
  %y = mp.layer_norm %x scale %g {mp.category = "fp32", stash_type = f32} : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
  // expected-remark @below {{rms_norm computes in f16}}
  %z = mp.rms_norm %y {mp.category = "fp32"} : (tensor<2x4xf16>) -> tensor<2x4xf16>
  // expected-warning @below {{layer_norm computes in f16, which the policy keeps in f32: the square of 256 is already Inf}}
  %w = mp.layer_norm %z scale %g {mp.category = "fp32", stash_type = f16} : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
  return %w : tensor<2x4xf16>
}

// -----

// Clean: another category, no category, FP32, or an FP32 operand among them.
func.func @clean(%x: tensor<4xf16>, %w: tensor<4xf32>, %d: tensor<4xf64>) {
  %0 = mp.exp %x {mp.category = "lower"} : (tensor<4xf16>) -> tensor<4xf16>
  %1 = mp.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  %2 = mp.exp %w {mp.category = "fp32"} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = mp.exp %d {mp.category = "fp32"} : (tensor<4xf64>) -> tensor<4xf64>
  %4 = mp.pow %w, %x {mp.category = "fp32"} : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return
}
