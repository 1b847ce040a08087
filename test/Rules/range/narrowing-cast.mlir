// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-narrowing-cast --mp-emit-findings

// expected-note @below {{input in [-1e+06, 1e+06]}}
func.func @overflow(%x: tensor<64xf32> {mp.assume = {lo = -1.0e6 : f64, hi = 1.0e6 : f64, mean = 0.0 : f64, std = 1.0e5 : f64, source = "option"}}) -> (tensor<64xf16>, tensor<64xbf16>) {
  // expected-error @below {{cast from f32 to f16: magnitudes are expected to reach}}
  %0 = mp.cast %x : (tensor<64xf32>) -> tensor<64xf16>
  %1 = mp.cast %x : (tensor<64xf32>) -> tensor<64xbf16>
  return %0, %1 : tensor<64xf16>, tensor<64xbf16>
}

// -----

func.func @flush(%x: tensor<64xf32> {mp.assume = {lo = -1.0e-8 : f64, hi = 1.0e-8 : f64, mean = 0.0 : f64, std = 2.0e-9 : f64, source = "option"}}) -> (tensor<64xf16>, tensor<64xbf16>) {
  // expected-warning @below {{cast from f32 to f16: nearly all of the non-zero values are below 2.98023e-08 and become 0 in f16 [MP213 likely]}}
  %0 = mp.cast %x : (tensor<64xf32>) -> tensor<64xf16>
  %1 = mp.cast %x : (tensor<64xf32>) -> tensor<64xbf16>
  return %0, %1 : tensor<64xf16>, tensor<64xbf16>
}

// -----

// expected-note @below {{input in [-1e+60, 1e+60]}}
func.func @bf16(%x: tensor<64xf64> {mp.assume = {lo = -1.0e60 : f64, hi = 1.0e60 : f64, mean = 0.0 : f64, std = 1.0e59 : f64, source = "option"}}) -> tensor<64xbf16> {
  // expected-error @below {{cast from f64 to bf16}}
  %0 = mp.cast %x : (tensor<64xf64>) -> tensor<64xbf16>
  return %0 : tensor<64xbf16>
}

// -----

// Constants are MP202's; widening loses nothing.
func.func @clean(%x: tensor<4xf16> {mp.assume = {lo = -6.0e4 : f64, hi = 6.0e4 : f64, mean = 0.0 : f64, std = 1.0e4 : f64, source = "option"}}) -> (tensor<f16>, tensor<4xf32>) {
  %c = mp.constant dense<1.0e9> : tensor<f32>
  %0 = mp.cast %c : (tensor<f32>) -> tensor<f16>
  %1 = mp.cast %x : (tensor<4xf16>) -> tensor<4xf32>
  return %0, %1 : tensor<f16>, tensor<4xf32>
}

// -----

// expected-note @below {{input in}}
func.func @fires_f32(%x: tensor<4xf64> {mp.assume = {lo = -1.0e60 : f64, hi = 1.0e60 : f64, mean = 0.0 : f64, std = 1.0e59 : f64, source = "option"}}) -> tensor<4xf32> {
  // expected-error @below {{cast from f64 to f32: magnitudes are expected to reach}}
  %0 = mp.cast %x : (tensor<4xf64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @clean_f32(%x: tensor<4xf64> {mp.assume = {lo = -1.0e30 : f64, hi = 1.0e30 : f64, mean = 0.0 : f64, std = 1.0e29 : f64, source = "option"}}) -> tensor<4xf32> {
  %0 = mp.cast %x : (tensor<4xf64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @clean_bf16(%x: tensor<4xf32> {mp.assume = {lo = -1.0e30 : f64, hi = 1.0e30 : f64, mean = 0.0 : f64, std = 1.0e29 : f64, source = "option"}}) -> tensor<4xbf16> {
  %0 = mp.cast %x : (tensor<4xf32>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}
