// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-unscaled-attention --mp-emit-findings

// Sums of 64 products of deviation 150 140.
// expected-note @below {{input in}}
func.func @fires_f16(%q: tensor<1x4x16x64xf16> {mp.assume = {lo = -1000.0 : f64, hi = 1000.0 : f64, mean = 0.0 : f64, std = 150.0 : f64, source = "option"}}, %k: tensor<1x4x64x16xf16> {mp.assume = {lo = -900.0 : f64, hi = 900.0 : f64, mean = 0.0 : f64, std = 140.0 : f64, source = "option"}}) -> tensor<1x4x16x16xf16> {
  %scale = mp.constant dense<0.125> : tensor<f16>
  // expected-error @below {{attention scores overflow before they are scaled: magnitudes are expected to reach}}
  // expected-note @below {{grows from}}
  %0 = mp.matmul %q, %k : (tensor<1x4x16x64xf16>, tensor<1x4x64x16xf16>) -> tensor<1x4x16x16xf16>
  // expected-note @below {{scales them, too late}}
  %1 = mp.mul %0, %scale : (tensor<1x4x16x16xf16>, tensor<f16>) -> tensor<1x4x16x16xf16>
  %2 = mp.softmax %1 : (tensor<1x4x16x16xf16>) -> tensor<1x4x16x16xf16>
  return %2 : tensor<1x4x16x16xf16>
}

// -----

// Without any scaling, and with an added mask on the way.
// expected-note @below {{input in}}
func.func @nothing_scales_f16(%q: tensor<4x16x64xf16> {mp.assume = {lo = -1000.0 : f64, hi = 1000.0 : f64, mean = 0.0 : f64, std = 150.0 : f64, source = "option"}}, %k: tensor<4x64x16xf16> {mp.assume = {lo = -900.0 : f64, hi = 900.0 : f64, mean = 0.0 : f64, std = 140.0 : f64, source = "option"}}, %mask: tensor<16x16xf16>) -> tensor<4x16x16xf16> {
  // expected-error @below {{attention scores overflow and nothing scales them: magnitudes are expected to reach}}
  // expected-note @below {{grows from}}
  %0 = mp.matmul %q, %k : (tensor<4x16x64xf16>, tensor<4x64x16xf16>) -> tensor<4x16x16xf16>
  %1 = mp.add %0, %mask : (tensor<4x16x16xf16>, tensor<16x16xf16>) -> tensor<4x16x16xf16>
  %2 = mp.softmax %1 : (tensor<4x16x16xf16>) -> tensor<4x16x16xf16>
  return %2 : tensor<4x16x16xf16>
}

// -----

// BF16 ends where FP32 does.
// expected-note @below {{input in}}
func.func @fires_bf16(%q: tensor<4x16x64xbf16> {mp.assume = {lo = -1.0e20 : f64, hi = 1.0e20 : f64, mean = 0.0 : f64, std = 2.0e19 : f64, source = "option"}}, %k: tensor<4x64x16xbf16> {mp.assume = {lo = -9.0e19 : f64, hi = 9.0e19 : f64, mean = 0.0 : f64, std = 1.9e19 : f64, source = "option"}}) -> tensor<4x16x16xbf16> {
  // expected-error @below {{past 3.38953e+38, the largest bf16 value [MP210 likely]}}
  // expected-note @below {{grows from}}
  %0 = mp.matmul %q, %k : (tensor<4x16x64xbf16>, tensor<4x64x16xbf16>) -> tensor<4x16x16xbf16>
  %1 = mp.softmax %0 : (tensor<4x16x16xbf16>) -> tensor<4x16x16xbf16>
  return %1 : tensor<4x16x16xbf16>
}

// -----

// Only the bounds reach it.
// expected-note @below {{input in}}
func.func @possible_f16(%q: tensor<4x16x64xf16> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}, %k: tensor<4x64x16xf16> {mp.assume = {lo = -90.0 : f64, hi = 90.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<4x16x16xf16> {
  // expected-error @below {{[MP210 possible]}}
  // expected-note @below {{grows from}}
  %0 = mp.matmul %q, %k : (tensor<4x16x64xf16>, tensor<4x64x16xf16>) -> tensor<4x16x16xf16>
  %1 = mp.softmax %0 : (tensor<4x16x16xf16>) -> tensor<4x16x16xf16>
  return %1 : tensor<4x16x16xf16>
}

// -----

// Scaled before the product; small ones; a product that no softmax reads
// (MP201); a product with a weight; the same magnitudes in BF16 and FP32.
func.func @clean(%q: tensor<4x16x64xf16> {mp.assume = {lo = -1000.0 : f64, hi = 1000.0 : f64, mean = 0.0 : f64, std = 150.0 : f64, source = "option"}}, %k: tensor<4x64x16xf16> {mp.assume = {lo = -900.0 : f64, hi = 900.0 : f64, mean = 0.0 : f64, std = 140.0 : f64, source = "option"}}, %small: tensor<4x16x64xf16>, %b: tensor<4x16x64xbf16> {mp.assume = {lo = -1000.0 : f64, hi = 1000.0 : f64, mean = 0.0 : f64, std = 150.0 : f64, source = "option"}}, %c: tensor<4x64x16xbf16> {mp.assume = {lo = -900.0 : f64, hi = 900.0 : f64, mean = 0.0 : f64, std = 140.0 : f64, source = "option"}}, %f: tensor<4x16x64xf32> {mp.assume = {lo = -1000.0 : f64, hi = 1000.0 : f64, mean = 0.0 : f64, std = 150.0 : f64, source = "option"}}, %g: tensor<4x64x16xf32> {mp.assume = {lo = -900.0 : f64, hi = 900.0 : f64, mean = 0.0 : f64, std = 140.0 : f64, source = "option"}}) {
  %scale = mp.constant dense<1.0e-3> : tensor<f16>
  %0 = mp.mul %q, %scale : (tensor<4x16x64xf16>, tensor<f16>) -> tensor<4x16x64xf16>
  %1 = mp.matmul %0, %k : (tensor<4x16x64xf16>, tensor<4x64x16xf16>) -> tensor<4x16x16xf16>
  %2 = mp.softmax %1 : (tensor<4x16x16xf16>) -> tensor<4x16x16xf16>
  %3 = mp.matmul %q, %k : (tensor<4x16x64xf16>, tensor<4x64x16xf16>) -> tensor<4x16x16xf16>
  %4 = mp.relu %3 : (tensor<4x16x16xf16>) -> tensor<4x16x16xf16>
  %w = mp.constant dense<1000.0> : tensor<64x16xf16>
  %5 = mp.matmul %q, %w : (tensor<4x16x64xf16>, tensor<64x16xf16>) -> tensor<4x16x16xf16>
  %6 = mp.softmax %5 : (tensor<4x16x16xf16>) -> tensor<4x16x16xf16>
  %7 = mp.matmul %b, %c : (tensor<4x16x64xbf16>, tensor<4x64x16xbf16>) -> tensor<4x16x16xbf16>
  %8 = mp.softmax %7 : (tensor<4x16x16xbf16>) -> tensor<4x16x16xbf16>
  %9 = mp.matmul %f, %g : (tensor<4x16x64xf32>, tensor<4x64x16xf32>) -> tensor<4x16x16xf32>
  %10 = mp.softmax %9 : (tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  return
}
