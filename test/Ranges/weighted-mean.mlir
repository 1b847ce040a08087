// RUN: mpopt-opt %s --mp-print-ranges="likely" 2>&1 | FileCheck %s

// Quotients of sums with the same weights stay among what they average; sums of
// other weights do not.

func.func @masked(%w: tensor<2x8x1xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.1 : f64, std = 0.3 : f64}}, %v: tensor<2x8x1xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.1 : f64, std = 0.3 : f64}}, %x: tensor<2x8x4xf32> {mp.assume = {lo = -3.0 : f64, hi = 3.0 : f64}}) {
  %eps = mp.constant dense<1.0e-8> : tensor<f32>
  %wx = mp.mul %w, %x : (tensor<2x8x1xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %above = mp.reduce_sum %wx {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8x4xf32>) -> tensor<2x1x4xf32>
  %sum = mp.reduce_sum %w {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8x1xf32>) -> tensor<2x1x1xf32>
  %below = mp.add %sum, %eps : (tensor<2x1x1xf32>, tensor<f32>) -> tensor<2x1x1xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated) [{{-[0-2][.][0-9]*|-3}}, {{[0-2][.][0-9]*|3}}]
  %mean = mp.div %above, %below : (tensor<2x1x4xf32>, tensor<2x1x1xf32>) -> tensor<2x1x4xf32>
  // Divided once more, as on the way of a gradient: no larger than the sum of weights is small on average.
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated) [-{{[0-2](e-[0-9]+)?([.][0-9]*)?}}, {{[0-2]([.][0-9]*)?}}]
  %back = mp.div %mean, %below : (tensor<2x1x4xf32>, tensor<2x1x1xf32>) -> tensor<2x1x4xf32>
  %other = mp.reduce_sum %v {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8x1xf32>) -> tensor<2x1x1xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated) [-{{[3-9]|[0-9][0-9]}}
  %not = mp.div %above, %other : (tensor<2x1x4xf32>, tensor<2x1x1xf32>) -> tensor<2x1x4xf32>
  return
}

// Features of queries and keys, with running sums.
func.func @linear_attention(%q: tensor<1x8x4xf32> {mp.assume = {lo = 0.0 : f64, hi = 4.0 : f64, mean = 2.0 : f64, std = 1.0 : f64}}, %k: tensor<1x8x4xf32> {mp.assume = {lo = 0.0 : f64, hi = 4.0 : f64, mean = 2.0 : f64, std = 1.0 : f64}}, %v: tensor<1x8x6xf32> {mp.assume = {lo = -2.0 : f64, hi = 2.0 : f64}}) {
  %q4 = mp.unsqueeze %q {axes = array<i64: 2>} : (tensor<1x8x4xf32>) -> tensor<1x8x1x4xf32>
  %k4 = mp.unsqueeze %k {axes = array<i64: 3>} : (tensor<1x8x4xf32>) -> tensor<1x8x4x1xf32>
  %v4 = mp.unsqueeze %v {axes = array<i64: 2>} : (tensor<1x8x6xf32>) -> tensor<1x8x1x6xf32>
  %pairs = mp.mul %k4, %v4 : (tensor<1x8x4x1xf32>, tensor<1x8x1x6xf32>) -> tensor<1x8x4x6xf32>
  %states = mp.cum_sum %pairs {axis = 1 : i64} : (tensor<1x8x4x6xf32>) -> tensor<1x8x4x6xf32>
  %totals = mp.cum_sum %k {axis = 1 : i64} : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  %above4 = mp.matmul %q4, %states : (tensor<1x8x1x4xf32>, tensor<1x8x4x6xf32>) -> tensor<1x8x1x6xf32>
  %above = mp.squeeze %above4 {axes = array<i64: 2>} : (tensor<1x8x1x6xf32>) -> tensor<1x8x6xf32>
  %products = mp.mul %q, %totals : (tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  %below = mp.reduce_sum %products {axes = array<i64: 2>, keep_dims = true} : (tensor<1x8x4xf32>) -> tensor<1x8x1xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}} [-{{[01][.][0-9]*|2}}, {{[01][.][0-9]*|2}}]
  %mean = mp.div %above, %below : (tensor<1x8x6xf32>, tensor<1x8x1xf32>) -> tensor<1x8x6xf32>
  return
}

// Linear attention whose values have a column of ones, so that one product makes
// both sums; the same with a row of ones.
func.func @padded(%q: tensor<2x64x4xf32> {mp.assume = {lo = 0.0 : f64, hi = 4.0 : f64, mean = 0.4 : f64, std = 0.6 : f64}}, %k: tensor<2x64x4xf32> {mp.assume = {lo = 0.0 : f64, hi = 4.0 : f64, mean = 0.4 : f64, std = 0.6 : f64}}, %v: tensor<2x64x6xf32> {mp.assume = {lo = -2.0 : f64, hi = 2.0 : f64}}, %ones: tensor<2x1x64xf32> {mp.assume = {lo = 1.0 : f64, hi = 1.0 : f64, mean = 1.0 : f64, std = 0.0 : f64}}) {
  %eps = mp.constant dense<1.0e-8> : tensor<f32>
  %one = mp.constant dense<1.0> : tensor<f32>
  %v1 = mp.pad %v value %one {pads = array<i64: 0, 0, 0, 0, 0, 1>} : (tensor<2x64x6xf32>, tensor<f32>) -> tensor<2x64x7xf32>
  %kt = mp.transpose %k {perm = array<i64: 0, 2, 1>} : (tensor<2x64x4xf32>) -> tensor<2x4x64xf32>
  %kv = mp.matmul %kt, %v1 : (tensor<2x4x64xf32>, tensor<2x64x7xf32>) -> tensor<2x4x7xf32>
  %all = mp.matmul %q, %kv : (tensor<2x64x4xf32>, tensor<2x4x7xf32>) -> tensor<2x64x7xf32>
  %above = mp.slice %all {starts = array<i64: 0>, ends = array<i64: -1>, axes = array<i64: 2>} : (tensor<2x64x7xf32>) -> tensor<2x64x6xf32>
  %sum = mp.slice %all {starts = array<i64: -1>, ends = array<i64: 9223372036854775807>, axes = array<i64: -1>} : (tensor<2x64x7xf32>) -> tensor<2x64x1xf32>
  %below = mp.add %sum, %eps : (tensor<2x64x1xf32>, tensor<f32>) -> tensor<2x64x1xf32>
  // The column of ones alone makes the sum, and averages vary less than values.
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}} [-{{[01][.][0-9]*|2}}, {{[01][.][0-9]*|2}}] mean 0 std {{0[.][0-9]+|1}} [
  %mean = mp.div %above, %below : (tensor<2x64x6xf32>, tensor<2x64x1xf32>) -> tensor<2x64x6xf32>

  %vt = mp.transpose %v {perm = array<i64: 0, 2, 1>} : (tensor<2x64x6xf32>) -> tensor<2x6x64xf32>
  %vt1 = mp.concat %vt, %ones {axis = 1 : i64} : (tensor<2x6x64xf32>, tensor<2x1x64xf32>) -> tensor<2x7x64xf32>
  %vk = mp.matmul %vt1, %k : (tensor<2x7x64xf32>, tensor<2x64x4xf32>) -> tensor<2x7x4xf32>
  %rows = mp.matmul %vk, %q {trans_b = true} : (tensor<2x7x4xf32>, tensor<2x64x4xf32>) -> tensor<2x7x64xf32>
  %above_rows = mp.slice %rows {starts = array<i64: 0>, ends = array<i64: 6>, axes = array<i64: 1>} : (tensor<2x7x64xf32>) -> tensor<2x6x64xf32>
  %below_row = mp.slice %rows {starts = array<i64: 6>, ends = array<i64: 7>, axes = array<i64: 1>} : (tensor<2x7x64xf32>) -> tensor<2x1x64xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}} [-{{[01][.][0-9]*|2}}, {{[01][.][0-9]*|2}}]
  %mean_rows = mp.div %above_rows, %below_row : (tensor<2x6x64xf32>, tensor<2x1x64xf32>) -> tensor<2x6x64xf32>
  // A divisor of other columns is no sum of weights.
  %first = mp.slice %all {starts = array<i64: 0>, ends = array<i64: 1>, axes = array<i64: 2>} : (tensor<2x64x7xf32>) -> tensor<2x64x1xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}} [-{{[3-9]|[0-9][0-9]}}
  %not = mp.div %above, %first : (tensor<2x64x6xf32>, tensor<2x64x1xf32>) -> tensor<2x64x6xf32>
  return
}

// Of weights that are chosen, shares are 1 / n on average.
func.func @chosen(%w: tensor<64x4xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.3 : f64}}, %mask: tensor<64x4xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.3 : f64}}) {
  %kept = mp.mul %w, %mask : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<64x4xf32>
  %sum = mp.reduce_sum %kept {axes = array<i64: 1>, keep_dims = true} : (tensor<64x4xf32>) -> tensor<64x1xf32>
  // CHECK: [[#@LINE+1]]:{{.*}} mean 0.25 
  %share = mp.div %kept, %sum : (tensor<64x4xf32>, tensor<64x1xf32>) -> tensor<64x4xf32>
  return
}

// Values that are padded with ones: the last column of the sums is the divisor.
func.func @beside(%q: tensor<1x64x4xf32> {mp.assume = {lo = 0.0 : f64, hi = 400.0 : f64, mean = 1.0 : f64, std = 30.0 : f64}}, %k: tensor<1x4x64xf32> {mp.assume = {lo = 0.0 : f64, hi = 400.0 : f64, mean = 1.0 : f64, std = 30.0 : f64}}, %v: tensor<1x64x6xf32> {mp.assume = {lo = -2.0 : f64, hi = 2.0 : f64}}) {
  %one = mp.constant dense<1.0> : tensor<f32>
  %eps = mp.constant dense<1.0e-5> : tensor<f32>
  %padded = mp.pad %v value %one {pads = array<i64: 0, 0, 0, 0, 0, 1>} : (tensor<1x64x6xf32>, tensor<f32>) -> tensor<1x64x7xf32>
  %states = mp.matmul %k, %padded : (tensor<1x4x64xf32>, tensor<1x64x7xf32>) -> tensor<1x4x7xf32>
  %sums = mp.matmul %q, %states : (tensor<1x64x4xf32>, tensor<1x4x7xf32>) -> tensor<1x64x7xf32>
  %above = mp.slice %sums {starts = array<i64: 0>, ends = array<i64: 6>, axes = array<i64: 2>} : (tensor<1x64x7xf32>) -> tensor<1x64x6xf32>
  %total = mp.slice %sums {starts = array<i64: 6>, ends = array<i64: 7>, axes = array<i64: 2>} : (tensor<1x64x7xf32>) -> tensor<1x64x1xf32>
  %below = mp.add %total, %eps : (tensor<1x64x1xf32>, tensor<f32>) -> tensor<1x64x1xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated){{.*}} [-{{[01][.][0-9]*|2}}, {{[01][.][0-9]*|2}}]
  %mean = mp.div %above, %below : (tensor<1x64x6xf32>, tensor<1x64x1xf32>) -> tensor<1x64x6xf32>
  return
}

// A row of ones beside others is a group of its own; of a map with zeros around
// it half the elements are 0.
func.func @borders(%x: tensor<4x6xf32> {mp.assume = {lo = -2.0 : f64, hi = 2.0 : f64, mean = 0.0 : f64, std = 0.5 : f64}}) {
  %one = mp.constant dense<1.0> : tensor<f32>
  %rows = mp.pad %x value %one {pads = array<i64: 0, 0, 1, 0>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<5x6xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely ({{.*}}) [1, 1] mean 1 std 0
  %last = mp.slice %rows {starts = array<i64: 4>, ends = array<i64: 5>, axes = array<i64: 0>} : (tensor<5x6xf32>) -> tensor<1x6xf32>
  // CHECK: [[#@LINE+1]]:{{.*}} mean 0 std 0.353553
  %zeros = mp.pad %x {pads = array<i64: 1, 1, 1, 1>} : (tensor<4x6xf32>) -> tensor<6x8xf32>
  return
}
