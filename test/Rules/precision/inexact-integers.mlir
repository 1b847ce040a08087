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

// -----

// Neighbours that become equal change what is chosen, however near they are; a
// number that no other is rounded to is told from all others.
func.func @choices(%i: tensor<2x8xi64> {mp.assume = {lo = 0.0 : f64, hi = 49407.0 : f64, mean = 20000.0 : f64, std = 10000.0 : f64, source = "option"}}) {
  %last = mp.constant dense<49407.0> : tensor<f16>
  %pad = mp.constant dense<0.0> : tensor<f16>
  // expected-warning @below {{in f16, which holds all of them up to 2048 only [MP303}}
  %0 = mp.cast %i : (tensor<2x8xi64>) -> tensor<2x8xf16>
  // expected-note @below {{chooses by them, and neighbours are equal}}
  %1 = mp.arg_max %0 {axis = 1 : i64} : (tensor<2x8xf16>) -> tensor<2xi64>
  // expected-warning @below {{in f16, which holds all of them up to 2048 only [MP303}}
  %2 = mp.cast %i : (tensor<2x8xi64>) -> tensor<2x8xf16>
  %3 = mp.unsqueeze %2 {axes = array<i64: 0>} : (tensor<2x8xf16>) -> tensor<1x2x8xf16>
  // expected-note @below {{chooses by them, and neighbours are equal}}
  %4 = mp.equal %3, %last : (tensor<1x2x8xf16>, tensor<f16>) -> tensor<1x2x8xi1>
  // expected-warning @below {{in f16, which holds all of them up to 2048 only [MP303}}
  %5 = mp.cast %i : (tensor<2x8xi64>) -> tensor<2x8xf16>
  %6 = mp.equal %5, %pad : (tensor<2x8xf16>, tensor<f16>) -> tensor<2x8xi1>
  return
}

// -----

// A grid that is a constant, to which a number is compared: 2049 is stored as 2048. Where nothing is chosen by it, or all
// of it is held, it is a constant as any other.
func.func @constant_grid(%x: tensor<4xf16>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xf16>) {
  %grid = mp.constant dense<[2046.0, 2047.0, 2048.0, 2049.0]> : tensor<4xf32>
  %held = mp.constant dense<[2046.0, 2047.0, 2048.0, 2050.0]> : tensor<4xf32>
  %0 = mp.cast %grid {origin = #mp.cast_origin<storage>} : (tensor<4xf32>) -> tensor<4xf16>
  %1 = mp.cast %held {origin = #mp.cast_origin<storage>} : (tensor<4xf32>) -> tensor<4xf16>
  // expected-warning @below {{integers up to 2049 of the constant are compared in f16, which holds all of them up to 2048 only [MP303 likely]}}
  // expected-note @below {{chooses by them, and neighbours are equal}}
  %2 = mp.less %0, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xi1>
  %3 = mp.less %1, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xi1>
  %4 = mp.add %0, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %2, %3, %4 : tensor<4xi1>, tensor<4xi1>, tensor<4xf16>
}
