// RUN: mpopt-opt %s --mp-print-ranges="likely" -split-input-file -verify-diagnostics=only-expected

// expected-remark @below {{argument 0: [-70000, 3.5] likely (declared)}}
func.func @cast(%x: tensor<4xf32> {mp.assume = {lo = -70000.0 : f64, hi = 3.5 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) -> tensor<4xi32> {
  // Past the edge of f16 the bound stays, and -Inf may be stored.
  // expected-remark @below {{[-70000, 3.5] -inf}}
  %0 = mp.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  // expected-remark @below {{[-70000, 3.5] -inf}}
  %1 = mp.identity %0 : (tensor<4xf16>) -> tensor<4xf16>
  // What -Inf becomes as an integer is anybody's guess.
  // expected-remark @below {{[-2.14748e+09, 2.14748e+09] integral}}
  %2 = mp.cast %1 : (tensor<4xf16>) -> tensor<4xi32>
  // expected-remark @below {{[-70000, 3] integral}}
  %3 = mp.cast %x : (tensor<4xf32>) -> tensor<4xi32>
  // expected-remark @below {{[0, 1] integral}}
  %4 = mp.cast %x : (tensor<4xf32>) -> tensor<4xi1>
  return %3 : tensor<4xi32>
}

// -----

// As a converter writes it: within limits, but for zero and Inf, then rounded.
func.func @limited() -> tensor<4xf16> {
  %0 = mp.constant dense<[1.0e-12, -7.0e4, 0.0, 3.0]> : tensor<4xf32>
  // expected-remark @below {{{4} [1e-07, 1e-07] [-10000, -10000] [0, 0] [3, 3] likely (weight)}}
  %1 = mp.cast %0 {mp.limits = array<f64: 1.0e-7, 1.0e4>} : (tensor<4xf32>) -> tensor<4xf16>
  // expected-remark @below {{{4} [1.19209e-07, 1.19209e-07] [-10000, -10000] [0, 0] [3, 3] likely (weight)}}
  %2 = mp.identity %1 : (tensor<4xf16>) -> tensor<4xf16>
  return %2 : tensor<4xf16>
}

// -----

func.func @constant() -> tensor<3xf16> {
  // expected-remark @below {{{3} [1e-08, 1e-08] [70000, 70000] [-1, -1] likely (weight)}}
  %0 = mp.constant dense<[1.0e-8, 7.0e4, -1.0]> : tensor<3xf32>
  // expected-remark @below {{{3} [1e-08, 1e-08] [70000, 70000] [-1, -1] +inf}}
  %1 = mp.cast %0 : (tensor<3xf32>) -> tensor<3xf16>
  // 1e-8 is stored as zero.
  // expected-remark @below {{{3} [0, 0] [70000, 70000] [-1, -1] +inf}}
  %2 = mp.identity %1 : (tensor<3xf16>) -> tensor<3xf16>
  return %2 : tensor<3xf16>
}

// -----

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // Nothing is known of it.
  // expected-remark @below {{no transfer function}}
  %0 = mp.opaque "com.acme::Foo"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{[-inf, inf] nan +inf -inf}}
  %1 = mp.identity %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// An integer that picks rows of a table counts them, from either end.
// expected-remark @below {{argument 1: [-7, 6] integral}}
func.func @indices(%table: tensor<7x2xf32>, %ids: tensor<?xi64>, %pixels: tensor<2xui8>) -> tensor<?x2xf32> {
  // expected-remark @-1 {{argument 2: [0, 255] integral}}
  %0 = mp.gather %table, %ids : (tensor<7x2xf32>, tensor<?xi64>) -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}

// -----

// The facts that a project states about its op hold for finite operands. Inf may come through; that of FP16 is the op's
// own.
func.func @custom(%x: tensor<4x64xf32> {mp.assume = {lo = -3.0 : f64, hi = 3.0 : f64}}, %inf: tensor<4x64xf16> {mp.assume = {lo = -7.0e4 : f64, hi = 3.0 : f64}}) -> tensor<4x64xf16> {
  // expected-remark @below {{[-8, 8] likely (declared)}}
  %0 = mp.custom %x {name = "com.acme::Foo", like = 0 : i64, lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, deviation = 1.0 : f64, slopes = array<f64: 1.5>, dtypes = [f32], accumulator = f32} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  // expected-remark @below {{[-70000, 8] nan +inf -inf likely (declared)}}
  %1 = mp.custom %inf {name = "com.acme::Foo", like = 0 : i64, lo = -7.0e4 : f64, hi = 8.0 : f64, mean = 0.0 : f64, deviation = 1.0 : f64, slopes = array<f64: 1.5>, dtypes = [f16], accumulator = f32} : (tensor<4x64xf16>) -> tensor<4x64xf16>
  return %1 : tensor<4x64xf16>
}
