// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-square-sum-overflow --mp-emit-findings

// expected-note @below {{input in [-2000, 2000]}}
func.func @f16(%x: tensor<4x64xf16> {mp.assume = {lo = -2000.0 : f64, hi = 2000.0 : f64, mean = 0.0 : f64, std = 400.0 : f64, source = "option"}}) -> tensor<4x1xf16> {
  // expected-error @below {{squares of values past 255.969: magnitudes are expected to reach}}
  // expected-note @below {{grows from}}
  %0 = mp.mul %x, %x : (tensor<4x64xf16>, tensor<4x64xf16>) -> tensor<4x64xf16>
  %a = mp.constant dense<1> : tensor<1xi64>
  // What follows: the mean of squares that are too large.
  // expected-error @below {{a sum of squares: magnitudes are expected to reach}}
  %1 = mp.reduce_mean %0 axes %a : (tensor<4x64xf16>, tensor<1xi64>) -> tensor<4x1xf16>
  return %1 : tensor<4x1xf16>
}

// -----

// expected-note @below {{input in [-1e+21, 1e+21]}}
func.func @bf16(%x: tensor<4x64xbf16> {mp.assume = {lo = -1.0e21 : f64, hi = 1.0e21 : f64, mean = 0.0 : f64, std = 2.0e20 : f64, source = "option"}}) -> tensor<4x1xbf16> {
  // expected-error @below {{squares of values past 1.84287e+19}}
  // expected-note @below {{grows from}}
  %0 = mp.square %x : (tensor<4x64xbf16>) -> tensor<4x64xbf16>
  %a = mp.constant dense<1> : tensor<1xi64>
  // expected-error @below {{a sum of squares: magnitudes are expected to reach}}
  %1 = mp.reduce_mean %0 axes %a : (tensor<4x64xbf16>, tensor<1xi64>) -> tensor<4x1xbf16>
  return %1 : tensor<4x1xbf16>
}

// -----

// Small enough; BF16 with what FP16 does not hold; a square that is not summed.
func.func @clean(%x: tensor<4x64xf16> {mp.assume = {lo = -10.0 : f64, hi = 10.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}, %y: tensor<4x64xbf16> {mp.assume = {lo = -2000.0 : f64, hi = 2000.0 : f64, mean = 0.0 : f64, std = 400.0 : f64, source = "option"}}, %z: tensor<4xf16> {mp.assume = {lo = -2000.0 : f64, hi = 2000.0 : f64, mean = 0.0 : f64, std = 400.0 : f64, source = "option"}}) {
  %a = mp.constant dense<1> : tensor<1xi64>
  %0 = mp.square %x : (tensor<4x64xf16>) -> tensor<4x64xf16>
  %1 = mp.reduce_mean %0 axes %a : (tensor<4x64xf16>, tensor<1xi64>) -> tensor<4x1xf16>
  %2 = mp.square %y : (tensor<4x64xbf16>) -> tensor<4x64xbf16>
  %3 = mp.reduce_mean %2 axes %a : (tensor<4x64xbf16>, tensor<1xi64>) -> tensor<4x1xbf16>
  %4 = mp.square %z : (tensor<4xf16>) -> tensor<4xf16>
  return
}

// -----

// expected-note @below {{input in}}
func.func @fires_f32(%x: tensor<4x64xf32> {mp.assume = {lo = -1.0e21 : f64, hi = 1.0e21 : f64, mean = 0.0 : f64, std = 1.0e20 : f64, source = "option"}}) -> tensor<4x1xf32> {
  // expected-error @below {{MP209 likely}}
  // expected-note @below {{grows from}}
  %0 = mp.square %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  // expected-error @below {{a sum of squares: }}
  %1 = mp.reduce_mean %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xf32>) -> tensor<4x1xf32>
  return %1 : tensor<4x1xf32>
}

// -----

func.func @clean_f32(%x: tensor<4x64xf32> {mp.assume = {lo = -1.0e18 : f64, hi = 1.0e18 : f64, mean = 0.0 : f64, std = 1.0e17 : f64, source = "option"}}) -> tensor<4x1xf32> {
  %0 = mp.square %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = mp.reduce_mean %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xf32>) -> tensor<4x1xf32>
  return %1 : tensor<4x1xf32>
}
