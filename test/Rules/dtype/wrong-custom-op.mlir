// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-wrong-custom-op --mp-emit-findings

func.func @clean_f16(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = mp.custom %x {name = "acme::flash", like = 0 : i64, lo = -8.0 : f64, hi = 8.0 : f64,
    mean = 0.0 : f64, deviation = 1.0 : f64, slopes = array<f64: 1.0>, dtypes = [f16],
    accumulator = f32} : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

func.func @clean_bf16(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = mp.custom %x {name = "acme::flash", like = 0 : i64, lo = -8.0 : f64, hi = 8.0 : f64,
    mean = 0.0 : f64, deviation = 1.0 : f64, slopes = array<f64: 1.0>, dtypes = [f32, bf16],
    accumulator = f32} : (tensor<4xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// It computes in the dtype of the operand that the result is like.
func.func @clean_f32(%x: tensor<4xf32>, %mask: tensor<4xf16>) -> tensor<4xf32> {
  %0 = mp.custom %mask, %x {name = "acme::flash", like = 1 : i64, lo = -8.0 : f64, hi = 8.0 : f64,
    mean = 0.0 : f64, deviation = 1.0 : f64, slopes = array<f64: 0.0, 1.0>, dtypes = [f32],
    accumulator = f32} : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @wide_only(%x: tensor<4xf16>) -> tensor<4xf16> {
  // expected-note@below {{brings f16}}
  %0 = mp.relu %x : (tensor<4xf16>) -> tensor<4xf16>
  // expected-error@below {{acme::flash computes in f16, in which its entry does not state that it is right: it is right in f32, to which a cast in front of it leads}}
  %1 = mp.custom %0 {name = "acme::flash", like = 0 : i64, lo = -8.0 : f64, hi = 8.0 : f64,
    mean = 0.0 : f64, deviation = 1.0 : f64, slopes = array<f64: 1.0>, dtypes = [f32],
    accumulator = f32} : (tensor<4xf16>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}

// -----

func.func @narrow_only(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note@below {{brings f32}}
  %0 = mp.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@below {{acme::flash computes in f32, in which its entry does not state that it is right: it is right in f16, to which a cast in front of it leads}}
  %1 = mp.custom %0 {name = "acme::flash", like = 0 : i64, lo = -8.0 : f64, hi = 8.0 : f64,
    mean = 0.0 : f64, deviation = 1.0 : f64, slopes = array<f64: 1.0>, dtypes = [f16],
    accumulator = f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @neither(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  // expected-note@below {{brings bf16}}
  %0 = mp.relu %x : (tensor<4xbf16>) -> tensor<4xbf16>
  // expected-error@below {{acme::flash computes in bf16, in which its entry does not state that it is right: it is right in no dtype}}
  %1 = mp.custom %0 {name = "acme::flash", like = 0 : i64, lo = -8.0 : f64, hi = 8.0 : f64,
    mean = 0.0 : f64, deviation = 1.0 : f64, slopes = array<f64: 1.0>, dtypes = [],
    accumulator = f32} : (tensor<4xbf16>) -> tensor<4xbf16>
  return %1 : tensor<4xbf16>
}
