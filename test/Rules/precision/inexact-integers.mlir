// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-inexact-integers --mp-emit-findings

func.func @fires(%i: tensor<8xi64> {mp.assume = {lo = 0.0 : f64, hi = 4095.0 : f64, mean = 2000.0 : f64, std = 1000.0 : f64, source = "option"}}, %j: tensor<8xi64> {mp.assume = {lo = 0.0 : f64, hi = 511.0 : f64, mean = 255.0 : f64, std = 100.0 : f64, source = "option"}}) {
  // expected-warning @below {{in f16, which holds all of them up to 2048 only [MP303}}
  %0 = mp.cast %i : (tensor<8xi64>) -> tensor<8xf16>
  // expected-warning @below {{in bf16, which holds all of them up to 256 only [MP303}}
  %1 = mp.cast %j : (tensor<8xi64>) -> tensor<8xbf16>
  return
}

// -----

func.func @clean(%i: tensor<8xi64> {mp.assume = {lo = 0.0 : f64, hi = 4095.0 : f64, mean = 2000.0 : f64, std = 1000.0 : f64, source = "option"}}, %j: tensor<8xi64> {mp.assume = {lo = 0.0 : f64, hi = 255.0 : f64, mean = 127.0 : f64, std = 50.0 : f64, source = "option"}}) {
  %0 = mp.cast %j : (tensor<8xi64>) -> tensor<8xf16>
  %1 = mp.cast %j : (tensor<8xi64>) -> tensor<8xbf16>
  %2 = mp.cast %i : (tensor<8xi64>) -> tensor<8xf32>
  return
}
