// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-low-precision-statistics --mp-emit-findings

func.func @f16(%x: tensor<8x4xf16> {mp.assume = {lo = -300.0 : f64, hi = 300.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) {
  // expected-warning @below {{variance computed in f16: the square of 256 is already Inf [MP109 certain]}}
  %0 = mp.variance %x {axes = array<i64: 1>} : (tensor<8x4xf16>) -> tensor<8xf16>
  return
}

// -----

// Squares of at most 100, and 8 of them at most 800: only digits are lost. So
// they are in a mean, which has no squares.
func.func @bounded(%x: tensor<8x4xf16>) {
  // expected-warning @below {{variance computed in f16: 11 significant bits are left of results in [0, 133.375] [MP109 certain]}}
  %0 = mp.variance %x {axes = array<i64: 1>} : (tensor<8x4xf16>) -> tensor<8xf16>
  // expected-warning @below {{mean over the batch computed in f16: 11 significant bits are left of results in [-10, 10] [MP109 certain]}}
  %1 = mp.reduce_mean %x {axes = array<i64: 0>} : (tensor<8x4xf16>) -> tensor<4xf16>
  return
}

// -----

// 4 squares of at most 62,500 each.
func.func @sum(%x: tensor<8x4xf16> {mp.assume = {lo = -250.0 : f64, hi = 250.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) {
  // expected-warning @below {{variance computed in f16: a sum past 65504 is Inf [MP109 certain]}}
  %0 = mp.variance %x {axes = array<i64: 1>} : (tensor<8x4xf16>) -> tensor<8xf16>
  return
}

// -----

func.func @bf16(%x: tensor<8x4xbf16>) {
  // expected-warning @below {{std computed in bf16: sums of squares keep 2 decimal digits}}
  %0 = mp.std %x {axes = array<i64: 1>} : (tensor<8x4xbf16>) -> tensor<8xbf16>
  %q = mp.mul %x, %x : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
  // expected-warning @below {{mean of squares computed in bf16}}
  %1 = mp.reduce_mean %q {axes = array<i64: 1>} : (tensor<8x4xbf16>) -> tensor<8xbf16>
  return
}

// -----

func.func @running(%x: tensor<2x4x8x8xf16>, %p: tensor<4xf16>, %q: tensor<4xf32>, %b: tensor<2x4x8x8xbf16>, %r: tensor<4xbf16>) {
  // expected-note @below {{is f16}}
  %v = mp.abs %p : (tensor<4xf16>) -> tensor<4xf16>
  // expected-remark @below {{running mean and variance are kept in f16: they keep 3 decimal digits [MP109 certain]}}
  %0 = mp.batch_norm %x scale %p bias %p mean %p variance %v : (tensor<2x4x8x8xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<2x4x8x8xf16>
  // expected-note @below {{is bf16}}
  %u = mp.abs %r : (tensor<4xbf16>) -> tensor<4xbf16>
  // expected-warning @below {{running mean and variance are kept in bf16: small updates no longer change them}}
  %2, %3, %4 = mp.batch_norm %b scale %r bias %r mean %r variance %u {training = true} : (tensor<2x4x8x8xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>) -> (tensor<2x4x8x8xbf16>, tensor<4xbf16>, tensor<4xbf16>)
  %w = mp.exp2 %p : (tensor<4xf16>) -> tensor<4xf16>
  %z = mp.square %w : (tensor<4xf16>) -> tensor<4xf16>
  // expected-note @below {{is f16}}
  %s = mp.mul %z, %p : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  // expected-remark @below {{they keep 3 decimal digits, and a variance past 65504 is Inf}}
  %5 = mp.batch_norm %x scale %p bias %p mean %p variance %s : (tensor<2x4x8x8xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<2x4x8x8xf16>
  // As cuDNN takes them: clean.
  %1 = mp.batch_norm %x scale %q bias %q mean %q variance %q : (tensor<2x4x8x8xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf16>
  return
}

// -----

// Clean: FP32, a mean over features (pooling), members of a composite.
func.func @clean(%w: tensor<8x4xf32>, %x: tensor<8x4xf16>) {
  %0 = mp.variance %w {axes = array<i64: 1>} : (tensor<8x4xf32>) -> tensor<8xf32>
  %1 = mp.reduce_mean %x {axes = array<i64: 1>} : (tensor<8x4xf16>) -> tensor<8xf16>
  %q = mp.square %x : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %2 = mp.reduce_mean %q {axes = array<i64: 1>, mp.idiom = #mp.idiom<"rms_norm", 0, false>} : (tensor<8x4xf16>) -> tensor<8xf16>
  return
}
