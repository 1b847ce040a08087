// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-exp-overflow --mp-emit-findings

func.func @fires_f16(%x: tensor<64xf16> {mp.assume = {lo = -12.0 : f64, hi = 12.0 : f64, mean = 0.0 : f64, std = 60.0 : f64, source = "option"}}) -> tensor<64xf16> {
  // expected-error @below {{is past 11.0901, where the result leaves f16 [MP207 likely]}}
  // expected-note @below {{grows from}}
  %0 = mp.exp %x : (tensor<64xf16>) -> tensor<64xf16>
  return %0 : tensor<64xf16>
}

// -----

func.func @clean_f16(%x: tensor<64xf16> {mp.assume = {lo = -11.0 : f64, hi = 11.0 : f64, mean = 0.0 : f64, std = 60.0 : f64, source = "option"}}) -> tensor<64xf16> {
  %0 = mp.exp %x : (tensor<64xf16>) -> tensor<64xf16>
  return %0 : tensor<64xf16>
}

// -----

// expected-note @below {{input in [-90, 90]}}
func.func @fires_bf16(%x: tensor<64xbf16> {mp.assume = {lo = -90.0 : f64, hi = 90.0 : f64, mean = 0.0 : f64, std = 60.0 : f64, source = "option"}}) -> tensor<64xbf16> {
  // expected-error @below {{is past 88.7209, where the result leaves bf16 [MP207 likely]}}
  // expected-note @below {{grows from}}
  %0 = mp.exp %x : (tensor<64xbf16>) -> tensor<64xbf16>
  return %0 : tensor<64xbf16>
}

// -----

func.func @clean_bf16(%x: tensor<64xbf16> {mp.assume = {lo = -88.0 : f64, hi = 88.0 : f64, mean = 0.0 : f64, std = 60.0 : f64, source = "option"}}) -> tensor<64xbf16> {
  %0 = mp.exp %x : (tensor<64xbf16>) -> tensor<64xbf16>
  return %0 : tensor<64xbf16>
}

// -----

// expected-note @below {{input in [-90, 90]}}
func.func @fires_f32(%x: tensor<64xf32> {mp.assume = {lo = -90.0 : f64, hi = 90.0 : f64, mean = 0.0 : f64, std = 60.0 : f64, source = "option"}}) -> tensor<64xf32> {
  // expected-error @below {{is past 88.7228, where the result leaves f32 [MP207 likely]}}
  // expected-note @below {{grows from}}
  %0 = mp.exp %x : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

func.func @clean_f32(%x: tensor<64xf32> {mp.assume = {lo = -88.0 : f64, hi = 88.0 : f64, mean = 0.0 : f64, std = 60.0 : f64, source = "option"}}) -> tensor<64xf32> {
  %0 = mp.exp %x : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// expected-note @below {{input in [20, 30]}}
func.func @others(%x: tensor<4xf16> {mp.assume = {lo = 20.0 : f64, hi = 30.0 : f64, mean = 25.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<4xf16> {
  // expected-error @below {{an argument of 30 is past 11.7833, where the result leaves f16 [MP207 certain]}}
  // expected-note @below {{grows from}}
  %0 = mp.cosh %x : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}
