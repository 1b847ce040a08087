// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-unsafe-low-precision-op --mp-emit-findings

module attributes {mp.policy = "pytorch-cuda"} {
  func.func @f16(%x: tensor<4xf16> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<4xf16> {
    // expected-warning @below {{exp computes in f16, which pytorch-cuda keeps in f32: an exponential is Inf above 11.09 [MP101 certain]}}
    %y = mp.exp %x {mp.category = "fp32"} : (tensor<4xf16>) -> tensor<4xf16>
    return %y : tensor<4xf16>
  }
}

// -----

func.func @bf16(%x: tensor<4xbf16> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<4xbf16> {
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
func.func @idiom(%x: tensor<4xf16> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<4xf16> {
  %e = mp.exp %x {mp.category = "fp32", mp.idiom = #mp.idiom<"softplus", 0, false>} : (tensor<4xf16>) -> tensor<4xf16>
  // expected-warning @below {{decomposed softplus computes in f16}}
  %y = mp.log1p %e {mp.category = "fp32", mp.idiom = #mp.idiom<"softplus", 0, true>} : (tensor<4xf16>) -> tensor<4xf16>
  return %y : tensor<4xf16>
}

// -----

// Statistics in FP32 inside, said or by default: a remark. Said to be in FP16: a
// warning.
func.func @stash(%x: tensor<2x4xf16> {mp.assume = {lo = -1000.0 : f64, hi = 1000.0 : f64, mean = 900.0 : f64, std = 10.0 : f64, source = "option"}}, %g: tensor<4xf16>) -> tensor<2x4xf16> {
  // expected-remark @below {{layer_norm computes in f16, which the policy keeps in f32: safe only where the kernel keeps its sums in f32}}
  %y = mp.layer_norm %x scale %g {mp.category = "fp32", stash_type = f32} : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
  // expected-remark @below {{rms_norm computes in f16}}
  %z = mp.rms_norm %y {mp.category = "fp32"} : (tensor<2x4xf16>) -> tensor<2x4xf16>
  // expected-warning @below {{layer_norm computes in f16, which the policy keeps in f32: the square of 256 is already Inf}}
  %w = mp.layer_norm %x scale %g {mp.category = "fp32", stash_type = f16} : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
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

// -----

// Ranges prove it harmless: a note with the numbers.
module attributes {mp.policy = "pytorch-cuda"} {
  func.func @harmless_f16(%x: tensor<4xf16>, %p: tensor<4xf16> {mp.assume = {lo = 0.01 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.1 : f64, source = "option"}}) {
    // expected-remark @below {{exp computes in f16, which pytorch-cuda keeps in f32: a small error by itself: of values in [-10, 10] it makes values in [4.54187e-05, 22032], which rounding changes by 0.6 % at most [MP101 certain]}}
    %0 = mp.exp %x {mp.category = "fp32"} : (tensor<4xf16>) -> tensor<4xf16>
    // expected-remark @below {{log computes in f16, which pytorch-cuda keeps in f32: a small error by itself}}
    %1 = mp.log %p {mp.category = "fp32"} : (tensor<4xf16>) -> tensor<4xf16>
    // A sum that fits, added up in FP32.
    // expected-remark @below {{reduce_sum computes in f16, which pytorch-cuda keeps in f32: a small error by itself}}
    %2 = mp.reduce_sum %x {mp.category = "fp32"} : (tensor<4xf16>) -> tensor<f16>
    return
  }
  // In BF16 the argument's own rounding counts.
  func.func @harmless_bf16(%x: tensor<4xbf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.3 : f64, source = "option"}}, %y: tensor<4xbf16>) {
    // expected-remark @below {{exp computes in bf16, which pytorch-cuda keeps in f32: a small error by itself: of values in [-1, 1] it makes values in [0.367188, 2.71875], which rounding changes by 0.8 % at most}}
    %0 = mp.exp %x {mp.category = "fp32"} : (tensor<4xbf16>) -> tensor<4xbf16>
    // expected-warning @below {{exp computes in bf16, which pytorch-cuda keeps in f32: 8 significant bits are left}}
    %1 = mp.exp %y {mp.category = "fp32"} : (tensor<4xbf16>) -> tensor<4xbf16>
    return
  }
}

// -----

// Ranges expect what the policy guards against.
module attributes {mp.policy = "pytorch-cuda"} {
  func.func @confirmed(%x: tensor<64xf16> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 8.0 : f64, source = "option"}}, %y: tensor<64xbf16> {mp.assume = {lo = 50.0 : f64, hi = 200.0 : f64, mean = 100.0 : f64, std = 5.0 : f64, source = "option"}}, %z: tensor<64xf16> {mp.assume = {lo = -50.0 : f64, hi = -20.0 : f64, mean = -30.0 : f64, std = 1.0 : f64, source = "option"}}) {
    // expected-warning @below {{exp computes in f16, which pytorch-cuda keeps in f32, and here its ranges confirm the danger: magnitudes are expected to reach}}
    // expected-note @below {{leaves f16}}
    %0 = mp.exp %x {mp.category = "fp32"} : (tensor<64xf16>) -> tensor<64xf16>
    // expected-warning @below {{exp computes in bf16, which pytorch-cuda keeps in f32, and here its ranges confirm the danger}}
    // expected-note @below {{leaves bf16}}
    %1 = mp.exp %y {mp.category = "fp32"} : (tensor<64xbf16>) -> tensor<64xbf16>
    // expected-warning @below {{confirm the danger: nearly all of the non-zero values are below 2.98023e-08 and become 0 in f16}}
    // expected-note @below {{leaves f16}}
    %2 = mp.exp %z {mp.category = "fp32"} : (tensor<64xf16>) -> tensor<64xf16>
    return
  }
}

// -----

// A decomposed softmax, shifted: harmless as a whole. Its division by a sum of at
// least 1 is a member as the others are.
func.func @softmax(%x: tensor<2x64xf16> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<2x64xf16> {
  %max = mp.reduce_max %x {axes = array<i64: -1>, keep_dims = true, mp.category = "fp32", mp.idiom = #mp.idiom<"softmax", 0, false>} : (tensor<2x64xf16>) -> tensor<2x1xf16>
  %z = mp.sub %x, %max {mp.category = "fp32", mp.idiom = #mp.idiom<"softmax", 0, false>} : (tensor<2x64xf16>, tensor<2x1xf16>) -> tensor<2x64xf16>
  %e = mp.exp %z {mp.category = "fp32", mp.idiom = #mp.idiom<"softmax", 0, false>} : (tensor<2x64xf16>) -> tensor<2x64xf16>
  %s = mp.reduce_sum %e {axes = array<i64: -1>, keep_dims = true, mp.category = "fp32", mp.idiom = #mp.idiom<"softmax", 0, false>} : (tensor<2x64xf16>) -> tensor<2x1xf16>
  // expected-remark @below {{decomposed softmax computes in f16, which the policy keeps in f32: a small error by itself}}
  %p = mp.div %e, %s {mp.category = "fp32", mp.idiom = #mp.idiom<"softmax", 0, true>} : (tensor<2x64xf16>, tensor<2x1xf16>) -> tensor<2x64xf16>
  return %p : tensor<2x64xf16>
}

// -----

module attributes {mp.policy = "pytorch-cuda", mp.thresholds = {"unsafe-op-error" = 1.0e-4 : f64}} {
  func.func @set(%x: tensor<4xf16>) {
    // expected-warning @below {{exp computes in f16, which pytorch-cuda keeps in f32: 11 significant bits are left of results in [4.54187e-05, 22032] [MP101 certain]}}
    %0 = mp.exp %x {mp.category = "fp32"} : (tensor<4xf16>) -> tensor<4xf16>
    return
  }
}

// -----

// Nothing is known of what the norm gives, not even its dtype: ranges say
// nothing about it.
module attributes {mp.precision = "as-is", mp.policy = "pytorch-cuda-2.14"} {
  func.func @unknown(%x: tensor<4x8xf32>, %s: tensor<8xf16>) {
    %0 = mp.opaque "com.acme::Mystery"(%x) : (tensor<4x8xf32>) -> tensor<*x!mp.unknown>
    // expected-remark @below {{layer_norm computes in f16, which pytorch-cuda-2.14 keeps in f32: safe only where the kernel keeps its sums in f32 [MP101 certain]}}
    %1 = mp.layer_norm %0 scale %s {mp.category = "fp32"} : (tensor<*x!mp.unknown>, tensor<8xf16>) -> tensor<*x!mp.unknown>
    return
  }
}

// -----

// What the bounds exclude is no reason: powers below 65504, squares of at most
// 100, sums of 8 of them, logarithms of 1 and more.
module attributes {mp.thresholds = {"unsafe-op-error" = 1.0e-9 : f64}} {
  func.func @excluded(%x: tensor<64x8xf16> {mp.assume = {lo = 1.0 : f64, hi = 100.0 : f64, mean = 50.0 : f64, std = 10.0 : f64, source = "option"}}, %e: tensor<64x8xf16> {mp.assume = {lo = 0.5 : f64, hi = 2.4 : f64, mean = 2.0 : f64, std = 0.1 : f64, source = "option"}}) {
    // expected-warning @below {{pow computes in f16, which the policy keeps in f32: 11 significant bits are left of results in [1, 63200] [MP101 certain]}}
    %p = mp.pow %x, %e {mp.category = "fp32"} : (tensor<64x8xf16>, tensor<64x8xf16>) -> tensor<64x8xf16>
    // expected-warning @below {{square computes in f16, which the policy keeps in f32: 11 significant bits are left of results in [1, 10000] [MP101 certain]}}
    %0 = mp.square %x {mp.category = "fp32"} : (tensor<64x8xf16>) -> tensor<64x8xf16>
    // expected-warning @below {{reduce_sum computes in f16, which the policy keeps in f32: 11 significant bits are left of results in [8, 800] [MP101 certain]}}
    %1 = mp.reduce_sum %x {axes = array<i64: 1>, mp.category = "fp32"} : (tensor<64x8xf16>) -> tensor<64xf16>
    // expected-warning @below {{log computes in f16, which the policy keeps in f32: 11 significant bits are left of results in [0, }}
    %2 = mp.log %x {mp.category = "fp32"} : (tensor<64x8xf16>) -> tensor<64x8xf16>
    // expected-warning @below {{reduce_sum computes in f16, which the policy keeps in f32: a sum past 65504 is Inf [MP101 certain]}}
    %3 = mp.reduce_sum %0 {axes = array<i64: 1>, mp.category = "fp32"} : (tensor<64x8xf16>) -> tensor<64xf16>
    return
  }
}

// -----

// Elements that are copied lose nothing, whatever the list of a converter says.
func.func @copied(%x: tensor<1x3x8x8xf16> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 10.0 : f64, source = "option"}}, %s: tensor<4xf32>) {
  // expected-remark @below {{resize computes in f16, which the policy keeps in f32: harmless: it copies elements and rounds none of them [MP101 certain]}}
  %0 = mp.resize %x scales %s {mode = "nearest", mp.category = "block"} : (tensor<1x3x8x8xf16>, tensor<4xf32>) -> tensor<1x3x?x?xf16>
  // expected-warning @below {{resize computes in f16, which the policy keeps in f32: 11 significant bits are left of results in [-}}
  %1 = mp.resize %x scales %s {mode = "linear", mp.category = "block"} : (tensor<1x3x8x8xf16>, tensor<4xf32>) -> tensor<1x3x?x?xf16>
  return
}

// -----

// What is expected far from the edge is not called Inf, and probabilities are
// not said to have a logarithm that nobody takes.
module attributes {mp.thresholds = {"unsafe-op-error" = 1.0e-9 : f64}} {
  func.func @expected(%x: tensor<64x8xf16> {mp.assume = {lo = 0.0 : f64, hi = 60000.0 : f64, mean = 5.0 : f64, std = 1.0 : f64, source = "option"}}, %s: tensor<64x8xf16> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 10.0 : f64, source = "option"}}) {
    // expected-warning @below {{reduce_sum computes in f16, which the policy keeps in f32: 11 significant bits are left [MP101 certain]}}
    %0 = mp.reduce_sum %x {axes = array<i64: 1>, mp.category = "fp32"} : (tensor<64x8xf16>) -> tensor<64xf16>
    // expected-warning @below {{softmax computes in f16, which the policy keeps in f32: probabilities below 3e-8 are 0 [MP101 certain]}}
    %1 = mp.softmax %s {axis = 1 : i64, mp.category = "fp32"} : (tensor<64x8xf16>) -> tensor<64x8xf16>
    // expected-warning @below {{softmax computes in f16, which the policy keeps in f32: probabilities below 3e-8 are 0, and their logarithm -Inf [MP101 certain]}}
    %2 = mp.softmax %s {axis = 1 : i64, mp.category = "fp32"} : (tensor<64x8xf16>) -> tensor<64x8xf16>
    %3 = mp.log %2 : (tensor<64x8xf16>) -> tensor<64x8xf16>
    return
  }
}
