// RUN: mpopt-opt %s --mp-print-ranges="likely" -split-input-file -verify-diagnostics=only-expected

// Under independence: means W m, variances W^2 v. x has mean 1, deviation 0.5.
func.func @weights(%x: tensor<64x2xf32> {mp.assume = {lo = -3.0 : f64, hi = 5.0 : f64, mean = 1.0 : f64, std = 0.5 : f64}}) {
  %w = mp.constant dense<[[1.0, 0.0, -2.0], [1.0, 3.0, 1.0]]> : tensor<2x3xf32>
  // Deviations are 0.5 times sqrt(2), 3 and sqrt(5).
  // expected-remark @below {{likely (propagated) {1x3} [-0.292923, 4.29292] mean 2 std 0.707107 [-1.6727, 7.6727] mean 3 std 1.5 [-4.62543, 2.62543] mean -1 std 1.11803}}
  %0 = mp.matmul %x, %w : (tensor<64x2xf32>, tensor<2x3xf32>) -> tensor<64x3xf32>
  %b = mp.constant dense<[10.0, 20.0, 30.0]> : tensor<3xf32>
  // alpha doubles mean and deviation, the bias moves.
  // expected-remark @below {{[9.41415, 18.5858] mean 14 std 1.41421 [16.6546, 35.3454] mean 26 std 3 [20.7491, 35.2509] mean 28 std 2.23607}}
  %1 = mp.gemm %x, %w bias %b {alpha = 2.0 : f64} : (tensor<64x2xf32>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<64x3xf32>
  %t = mp.constant dense<[[1.0, 1.0], [0.0, 3.0], [-2.0, 1.0]]> : tensor<3x2xf32>
  // expected-remark @below {{mean 12 std 0.707107 [18.3273, 27.6727] mean 23 std 1.5 [25.3746, 32.6254] mean 29 std 1.11803}}
  %2 = mp.linear %x, %t bias %b : (tensor<64x2xf32>, tensor<3x2xf32>, tensor<3xf32>) -> tensor<64x3xf32>
  // Weights on the left.
  // expected-remark @below {{mean 2 std 0.707107 [-1.6727, 7.6727] mean 3 std 1.5}}
  %3 = mp.matmul %t, %x {trans_b = true} : (tensor<3x2xf32>, tensor<64x2xf32>) -> tensor<3x64xf32>
  return
}

// -----

// A map that is smaller than its window: the outer taps read padding only,
// whether the window or an op of its own puts it there. Of the padded map's
// elements two thirds are 0.
func.func @border(%x: tensor<1x1x2xf32> {mp.assume = {lo = -3.0 : f64, hi = 5.0 : f64, mean = 1.0 : f64, std = 0.5 : f64}}) {
  %w = mp.constant dense<[[[99.0, 1.0, 1.0, 1.0, 99.0]]]> : tensor<1x1x5xf32>
  // expected-remark @below {{mean 2 std 0.707107}}
  %0 = mp.conv %x, %w {pads = array<i64: 2, 2>} : (tensor<1x1x2xf32>, tensor<1x1x5xf32>) -> tensor<1x1x2xf32>
  // expected-remark @below {{mean 0.333333 std 0.552771}}
  %1 = mp.pad %x {pads = array<i64: 0, 0, 2, 0, 0, 2>} : (tensor<1x1x2xf32>) -> tensor<1x1x6xf32>
  // expected-remark @below {{mean 2 std 0.707107}}
  %2 = mp.conv %1, %w : (tensor<1x1x6xf32>, tensor<1x1x5xf32>) -> tensor<1x1x2xf32>
  return
}

// -----

// A convolution: each output is a sum over nine taps.
func.func @conv(%x: tensor<1x1x16x16xf32> {mp.assume = {lo = -3.0 : f64, hi = 5.0 : f64, mean = 1.0 : f64, std = 0.5 : f64}}) {
  %w = mp.constant dense<[[[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]], [[[0.0, 0.0, 0.0], [0.0, -2.0, 0.0], [0.0, 0.0, 0.0]]]]> : tensor<2x1x3x3xf32>
  // expected-remark @below {{mean 9 std 1.5}}
  %0 = mp.conv %x, %w : (tensor<1x1x16x16xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x14x14xf32>
  // expected-remark @below {{mean 9 std 1.5 [-5.4558, 1.4558] mean -2 std 1}}
  %1 = mp.conv %x, %w : (tensor<1x1x16x16xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x14x14xf32>
  return
}

// -----

// Of two random operands: 64 products of deviation 1 are 8 together.
func.func @scores(%q: tensor<4x64xf32> {mp.assume = {lo = -5.0 : f64, hi = 5.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %k: tensor<4x64xf32> {mp.assume = {lo = -5.0 : f64, hi = 5.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
  // expected-remark @below {{mean 0 std 8}}
  %0 = mp.matmul %q, %k {trans_b = true} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x4xf32>
  return
}

// -----

// One feature is +-100 whatever comes, the other 63 of order one: the sum ends
// near 100, though three deviations are beyond that.
func.func @outlier(%x: tensor<32x64xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.3 : f64}}, %s: tensor<32x1xf32> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 57.7 : f64}}) {
  %ones = mp.constant dense<1.0> : tensor<65x1xf32>
  %0 = mp.concat %x, %s {axis = 1 : i64} : (tensor<32x64xf32>, tensor<32x1xf32>) -> tensor<32x65xf32>
  // expected-remark @below {{likely (propagated) [-106.319, 106.319] mean 0 std 57.7499}}
  %1 = mp.matmul %0, %ones : (tensor<32x65xf32>, tensor<65x1xf32>) -> tensor<32x1xf32>
  return
}

// -----

// Neither powers nor filters are negative, and all three bins of a band are seldom
// near 0 together: a gamma distribution of that mean and variance has its least
// of 64 draws at 0.52.
func.func @band(%x: tensor<64x3xf32> {mp.assume = {lo = 0.0 : f64, hi = 1000.0 : f64, mean = 1.0 : f64, std = 1.0 : f64}}) {
  %w = mp.constant dense<1.0> : tensor<3x1xf32>
  // expected-remark @below {{[0, 3000] likely (propagated) [0.515938, 7.99533] mean 3}}
  %0 = mp.matmul %x, %w : (tensor<64x3xf32>, tensor<3x1xf32>) -> tensor<64x1xf32>
  // With a filter that is negative somewhere all is possible.
  %v = mp.constant dense<[[1.0], [-1.0], [1.0]]> : tensor<3x1xf32>
  // expected-remark @below {{[-3.99533, 5.99533] mean 1 std 1.73205}}
  %1 = mp.matmul %x, %v : (tensor<64x3xf32>, tensor<3x1xf32>) -> tensor<64x1xf32>
  return
}
