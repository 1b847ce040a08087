// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-near-overflow --mp-emit-findings

// expected-note @below {{input in [300, 310]}}
// expected-note @below {{input in [3.2e+38, 3.25e+38]}}
func.func @fires(%x: tensor<4xf16> {mp.assume = {lo = 300.0 : f64, hi = 310.0 : f64, mean = 305.0 : f64, std = 1.0 : f64, source = "option"}}, %y: tensor<4xbf16> {mp.assume = {lo = 3.2e38 : f64, hi = 3.25e38 : f64, mean = 3.22e38 : f64, std = 1.0e36 : f64, source = "option"}}) -> (tensor<4xf16>, tensor<4xbf16>) {
  %c = mp.constant dense<204.0> : tensor<f16>
  // expected-warning-re @below {{magnitudes are expected to reach {{6[0-9.]+}}, {{[0-9]+}} % below the largest f16 value, 65504 [MP211 likely]}}
  // expected-note @below {{grows from}}
  %0 = mp.mul %x, %c : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // expected-warning @below {{MP211 likely}}
  %1 = mp.abs %y : (tensor<4xbf16>) -> tensor<4xbf16>
  return %0, %1 : tensor<4xf16>, tensor<4xbf16>
}

// -----

// A binade of room; FP16's margin is no matter in BF16; past the edge is MP201.
func.func @clean(%x: tensor<4xf16> {mp.assume = {lo = 300.0 : f64, hi = 310.0 : f64, mean = 305.0 : f64, std = 1.0 : f64, source = "option"}}, %y: tensor<4xbf16> {mp.assume = {lo = 60000.0 : f64, hi = 61000.0 : f64, mean = 60500.0 : f64, std = 100.0 : f64, source = "option"}}) {
  %c = mp.constant dense<100.0> : tensor<f16>
  %d = mp.constant dense<300.0> : tensor<f16>
  %0 = mp.mul %x, %c : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %1 = mp.abs %y : (tensor<4xbf16>) -> tensor<4xbf16>
  %2 = mp.mul %x, %d : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  return
}

// -----

module attributes {mp.thresholds = {"near-overflow" = 30000.0 : f64}} {
  // expected-note @below {{input in [300, 310]}}
  func.func @threshold(%x: tensor<4xf16> {mp.assume = {lo = 300.0 : f64, hi = 310.0 : f64, mean = 305.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<4xf16> {
    %c = mp.constant dense<100.0> : tensor<f16>
    // expected-warning @below {{MP211 likely}}
    // expected-note @below {{grows from}}
    %0 = mp.mul %x, %c : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
    return %0 : tensor<4xf16>
  }
}

// -----

// FP32 has room.
func.func @clean_f32(%x: tensor<4xf32> {mp.assume = {lo = 60000.0 : f64, hi = 65000.0 : f64, mean = 62000.0 : f64, std = 1000.0 : f64, source = "option"}}) -> tensor<4xf32> {
  %0 = mp.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A scale that is calibrated takes codes to the largest one.
func.func @clean_codes(%x: tensor<64xf32> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<64xf8E4M3FN> {
  %scale = mp.constant dense<0.00892857> : tensor<f32>
  %q = mp.quantize %x, %scale : (tensor<64xf32>, tensor<f32>) -> tensor<64xf8E4M3FN>
  return %q : tensor<64xf8E4M3FN>
}
