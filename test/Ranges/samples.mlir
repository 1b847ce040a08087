// RUN: mpopt-opt %s --mp-print-ranges="likely" 2>&1 | FileCheck %s

// Where an input has samples, the ops behind it are evaluated on them.

// A tone of amplitude 1 has n / 2 in its own bin, and nothing elsewhere: noise of
// its power would have 2 in each. The window adds halves of it to the neighbours.
func.func @tone(%x: tensor<1x16x1xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.7 : f64,
    samples = dense<[[[1.0], [0.0], [-1.0], [0.0], [1.0], [0.0], [-1.0], [0.0], [1.0], [0.0], [-1.0], [0.0], [1.0], [0.0], [-1.0], [0.0]]]> : tensor<1x16x1xf32>}}) {
  %step = mp.constant dense<8> : tensor<i64>
  %size = mp.constant dense<8> : tensor<i64>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}} [{{-?0|-[0-9.]+e-[0-9]+}}, 8]
  %spectrum = mp.dft %x {axis = 1 : i64, onesided} : (tensor<1x16x1xf32>) -> tensor<1x9x2xf32>
  // Squares of it follow.
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}}, 64]
  %power = mp.mul %spectrum, %spectrum : (tensor<1x9x2xf32>, tensor<1x9x2xf32>) -> tensor<1x9x2xf32>
  %window = mp.window %size {kind = "hann"} : (tensor<i64>) -> tensor<8xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}} [-1, 2]
  %frames = mp.stft %x, %step window %window : (tensor<1x16x1xf32>, tensor<i64>, tensor<8xf32>) -> tensor<1x2x5x2xf32>
  return
}

// A row of ones adds up to its length, where noise of its power would not.
func.func @ones(%x: tensor<2x4xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, samples = dense<1.0> : tensor<32x4xf32>}}) {
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}} [1, 1] mean 1 std 0 [2, 2] mean 2 std 0 [3, 3] mean 3 std 0 [4, 4] mean 4 std 0
  %integral = mp.cum_sum %x {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// Two evaluations, of a row that adds up and of one that does not.
func.func @sums(%x: tensor<2x4xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 1.0 : f64,
    samples = dense<[[1.0, 1.0, 1.0, 1.0], [-1.0, -1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0], [-1.0, 1.0, -1.0, 1.0]]> : tensor<4x4xf32>}}) {
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}} [-1, 1]
  %end = mp.slice %x {starts = array<i64: 3>, ends = array<i64: 4>, axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %three = mp.slice %x {starts = array<i64: -2>, ends = array<i64: -4>, axes = array<i64: 1>, steps = array<i64: -1>} : (tensor<2x4xf32>) -> tensor<2x2xf32>
  %both = mp.concat %end, %three {axis = 1 : i64} : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x3xf32>
  %filter = mp.constant dense<[[[1.0, 1.0]], [[1.0, -1.0]]]> : tensor<2x1x2xf32>
  %row = mp.unsqueeze %both {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
  // Pairs of equal numbers cancel in one channel, those of opposite ones in the other.
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}} [-2, 2]
  %responses = mp.conv %row, %filter : (tensor<2x1x3xf32>, tensor<2x1x2xf32>) -> tensor<2x2x2xf32>
  %wide = mp.pad %both {pads = array<i64: 0, 1, 0, 0>} : (tensor<2x3xf32>) -> tensor<2x4xf32>
  %ones = mp.constant dense<1.0> : tensor<4x1xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}} [-3, 3]
  %all = mp.matmul %wide, %ones : (tensor<2x4xf32>, tensor<4x1xf32>) -> tensor<2x1xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}} [-1, 1]
  %mean = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = false} : (tensor<2x4xf32>) -> tensor<2xf32>
  return
}

// A sample of another shape says nothing.
func.func @other(%x: tensor<4x4xf32> {mp.assume = {lo = -9.0 : f64, hi = 9.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, samples = dense<1.0> : tensor<2x3xf32>}}) {
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}} std 1.41421 {{.*}} std 2
  %sum = mp.cum_sum %x {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// Nor does a number of another rank.
func.func @rank(%x: tensor<4x4xf32> {mp.assume = {lo = -9.0 : f64, hi = 9.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, samples = dense<1.0> : tensor<1xf32>}}) {
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}} std 1.41421 {{.*}} std 2
  %sum = mp.cum_sum %x {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
