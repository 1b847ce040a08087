// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-large-angle --mp-emit-findings

// expected-note @below {{input in [0, 20]}}
// expected-note @below {{input in [0, 2000]}}
// expected-note @below {{input in [0, 200]}}
func.func @fires(%x: tensor<8xf16> {mp.assume = {lo = 0.0 : f64, hi = 20.0 : f64, mean = 10.0 : f64, std = 5.0 : f64, source = "option"}}, %y: tensor<8xf16> {mp.assume = {lo = 0.0 : f64, hi = 2000.0 : f64, mean = 1900.0 : f64, std = 5.0 : f64, source = "option"}}, %z: tensor<8xbf16> {mp.assume = {lo = 0.0 : f64, hi = 200.0 : f64, mean = 190.0 : f64, std = 5.0 : f64, source = "option"}}) {
  // expected-remark @below {{angles up to 20 are 0.015625 apart in f16 [MP307 likely]}}
  %0 = mp.sin %x : (tensor<8xf16>) -> tensor<8xf16>
  // expected-warning @below {{apart in f16 [MP307 likely]}}
  %1 = mp.cos %y : (tensor<8xf16>) -> tensor<8xf16>
  // expected-warning @below {{apart in bf16 [MP307 likely]}}
  %2 = mp.cos %z : (tensor<8xbf16>) -> tensor<8xbf16>
  return
}

// -----

func.func @clean(%x: tensor<8xf16> {mp.assume = {lo = 0.0 : f64, hi = 15.9 : f64, mean = 10.0 : f64, std = 1.0 : f64, source = "option"}}, %y: tensor<8xbf16> {mp.assume = {lo = -1.9 : f64, hi = 1.9 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}, %z: tensor<8xf32> {mp.assume = {lo = 0.0 : f64, hi = 100000.0 : f64, mean = 5000.0 : f64, std = 100.0 : f64, source = "option"}}) {
  %0 = mp.sin %x : (tensor<8xf16>) -> tensor<8xf16>
  %1 = mp.cos %y : (tensor<8xbf16>) -> tensor<8xbf16>
  %2 = mp.sin %z : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// In FP32 from 131072 on.
// expected-note @below {{input in}}
func.func @fires_f32(%x: tensor<4xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0e6 : f64, mean = 5.0e5 : f64, std = 3.0e5 : f64, source = "option"}}) -> tensor<4xf32> {
  // expected-remark-re @below {{angles up to {{.*}} apart in f32 [MP307 likely]}}
  %0 = mp.cos %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
