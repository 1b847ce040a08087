// RUN: mpopt-opt %s --mp-print-ranges="likely" -split-input-file -verify-diagnostics=only-expected

// x clip(x + 3, 0, 6) / 6 of a standard normal x, within 3 of which nearly all
// of it is: E x (x + 3) / 6 = 1/6, and never far below 0.
func.func @hard_swish(%x: tensor<64x64xf32> {mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
  %three = mp.constant dense<3.0> : tensor<f32>
  %zero = mp.constant dense<0.0> : tensor<f32>
  %six = mp.constant dense<6.0> : tensor<f32>
  %0 = mp.add %x, %three : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %1 = mp.clip %0 min %zero max %six : (tensor<64x64xf32>, tensor<f32>, tensor<f32>) -> tensor<64x64xf32>
  // expected-remark @below {{likely (propagated) [-2.}}
  %2 = mp.mul %x, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // expected-remark @below {{mean 0.16}}
  %3 = mp.div %2, %six : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  return
}

// -----

// (x x) x has the variance of x^3, which is 15, and its extremes: 4.08^3.
func.func @cube(%x: tensor<64x64xf32> {mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
  %0 = mp.mul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // expected-remark @below {{likely (propagated) [-67.8}}
  %1 = mp.mul %0, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return
}

// -----

// The running statistics say what the sums were in training: 5 and 3 on
// average, with deviations of 2 and 4. An estimate of another order of
// magnitude is of another input, and statistics of 0 and 1 were never trained.
func.func @statistics(%x: tensor<1x2x8x8xf32> {mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %y: tensor<1x2x8x8xf32> {mp.assume = {lo = -800.0 : f64, hi = 800.0 : f64, mean = 0.0 : f64, std = 100.0 : f64}}) {
  %m = mp.constant dense<[5.0, 3.0]> : tensor<2xf32>
  %v = mp.constant dense<[4.0, 16.0]> : tensor<2xf32>
  %zero = mp.constant dense<0.0> : tensor<2xf32>
  %one = mp.constant dense<1.0> : tensor<2xf32>
  // expected-remark @below {{mean 5 std 2 }}
  %0 = mp.neg %x : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %1 = mp.batch_norm %0 scale %one bias %zero mean %m variance %v : (tensor<1x2x8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32>
  // expected-remark @below {{mean 0 std 99.7}}
  %2 = mp.neg %y : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %3 = mp.batch_norm %2 scale %one bias %zero mean %m variance %v : (tensor<1x2x8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32>
  %two = mp.constant dense<2.0> : tensor<1x2x8x8xf32>
  // expected-remark @below {{mean 0 std 2}}
  %4 = mp.mul %x, %two : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %5 = mp.batch_norm %4 scale %one bias %zero mean %zero variance %one : (tensor<1x2x8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32>
  return
}

// -----

// No channels have the same statistics after training, and none are 20
// deviations from where the weights put them: both are of other weights, and
// the norm does what its formula says.
func.func @other_weights(%x: tensor<1x2x8x8xf32> {mp.assume = {lo = 0.0 : f64, hi = 80.0 : f64, mean = 40.0 : f64, std = 1.0 : f64}}) {
  %filled = mp.constant dense<0.5> : tensor<2xf32>
  %zero = mp.constant dense<0.0> : tensor<2xf32>
  %one = mp.constant dense<1.0> : tensor<2xf32>
  %m = mp.constant dense<[5.0, 3.0]> : tensor<2xf32>
  %v = mp.constant dense<[4.0, 1.0]> : tensor<2xf32>
  // expected-remark @below {{mean -40 std 0.99}}
  %0 = mp.neg %x : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  // expected-remark @below {{mean -57.2}}
  %1 = mp.batch_norm %0 scale %one bias %zero mean %filled variance %filled : (tensor<1x2x8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32>
  // expected-remark @below {{mean 40 std 0.99}}
  %2 = mp.neg %0 : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  // expected-remark @below {{mean 17.5 }}
  %3 = mp.batch_norm %2 scale %one bias %zero mean %m variance %v : (tensor<1x2x8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32>
  return
}

// -----

// Integers of a float that may be Inf are expected where the float is.
func.func @integers(%x: tensor<64xf32> {mp.assume = {lo = -100000.0 : f64, hi = 100000.0 : f64, mean = 0.0 : f64, std = 10.0 : f64}}) {
  %0 = mp.cast %x : (tensor<64xf32>) -> tensor<64xf16>
  // expected-remark @below {{likely (declared) [-28, 28] mean 0 std 10}}
  %1 = mp.cast %0 : (tensor<64xf16>) -> tensor<64xi32>
  return
}

// -----

// Codes of a rectified value lie where its values do: of 0 to 4.2 in 255 steps
// the mean, 0.38, is the 23rd.
func.func @codes(%x: tensor<64x64xf32> {mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
  %0 = mp.relu %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  // expected-remark @below {{integral likely (propagated) [0, 255] mean 23.}}
  %1, %2, %3 = mp.dynamic_quantize %0 : (tensor<64x64xf32>) -> (tensor<64x64xui8>, tensor<f32>, tensor<ui8>)
  return
}

// -----

// (m + w) - (m - w) is 2 w. Roundings of values of likely size take little from
// it, although w may be 60000.
func.func @width(%m: tensor<64x64xf16> {mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %w: tensor<64x64xf16> {mp.assume = {lo = 0.0 : f64, hi = 60000.0 : f64, mean = 1.0 : f64, std = 0.1 : f64}}) {
  %0 = mp.add %m, %w : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %1 = mp.sub %m, %w : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  // expected-remark @below {{mean 2 std 0.2}}
  %2 = mp.sub %0, %1 : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  return
}

// -----

// A spectrum whose magnitudes are raised to a power: no part of a number is larger
// than its magnitude, so that results are expected in the range of the factor.
func.func @compressed(%x: tensor<4x64x2xf32>) -> tensor<4x64x2xf32> {
  %two = mp.constant dense<2.0> : tensor<f32>
  %half = mp.constant dense<0.5> : tensor<f32>
  %power = mp.constant dense<0.3> : tensor<f32>
  %least = mp.constant dense<1.0e-12> : tensor<f32>
  %0 = mp.pow %x, %two : (tensor<4x64x2xf32>, tensor<f32>) -> tensor<4x64x2xf32>
  %1 = mp.reduce_sum %0 {axes = array<i64: -1>, keep_dims = true} : (tensor<4x64x2xf32>) -> tensor<4x64x1xf32>
  %2 = mp.pow %1, %half : (tensor<4x64x1xf32>, tensor<f32>) -> tensor<4x64x1xf32>
  %3 = mp.clip %2 min %least : (tensor<4x64x1xf32>, tensor<f32>) -> tensor<4x64x1xf32>
  %4 = mp.pow %3, %power : (tensor<4x64x1xf32>, tensor<f32>) -> tensor<4x64x1xf32>
  %5 = mp.mul %4, %x : (tensor<4x64x1xf32>, tensor<4x64x2xf32>) -> tensor<4x64x2xf32>
  // expected-remark @below {{likely (propagated) [-1.49934, 1.49934]}}
  %6 = mp.div %5, %3 : (tensor<4x64x2xf32>, tensor<4x64x1xf32>) -> tensor<4x64x2xf32>
  return %6 : tensor<4x64x2xf32>
}

// -----

// What is divided by a sum that it is part of: as a softmax has it, with the
// maximum taken off or without.
func.func @probabilities(%x: tensor<64x16xf32> {mp.assume = {lo = -10.0 : f64, hi = 10.0 : f64, mean = 0.0 : f64, std = 3.0 : f64}}) {
  // Simulated: 0.161.
  // expected-remark @below {{mean 0.0625 std 0.1609}}
  %0 = mp.softmax %x {axis = 1 : i64} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %max = mp.reduce_max %x {axes = array<i64: 1>, keep_dims = true} : (tensor<64x16xf32>) -> tensor<64x1xf32>
  %z = mp.sub %x, %max : (tensor<64x16xf32>, tensor<64x1xf32>) -> tensor<64x16xf32>
  %e = mp.exp %z : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %sum = mp.reduce_sum %e {axes = array<i64: 1>, keep_dims = true} : (tensor<64x16xf32>) -> tensor<64x1xf32>
  // expected-remark @below {{mean 0.0625 std 0.14}}
  %1 = mp.div %e, %sum : (tensor<64x16xf32>, tensor<64x1xf32>) -> tensor<64x16xf32>
  %f = mp.exp %x : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %all = mp.reduce_sum %f {axes = array<i64: 1>, keep_dims = true} : (tensor<64x16xf32>) -> tensor<64x1xf32>
  // expected-remark @below {{mean 0.0625 std 0.14}}
  %2 = mp.div %f, %all : (tensor<64x16xf32>, tensor<64x1xf32>) -> tensor<64x16xf32>
  return
}

// -----

// Steps of a running average move it by their factor: after two of 1 / 10 the
// change is 0.19 x - 0.19 s of one x, with a deviation of 0.27, not of two.
#n = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}
func.func @running_average(%x: tensor<4x64xf32> {mp.assume = #n}, %s: tensor<4x64xf32> {mp.assume = #n}) -> tensor<4x64xf32> {
  %rate = mp.constant dense<0.1> : tensor<f32>
  %0 = mp.sub %x, %s : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = mp.mul %0, %rate : (tensor<4x64xf32>, tensor<f32>) -> tensor<4x64xf32>
  %2 = mp.add %s, %1 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %3 = mp.sub %x, %2 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %4 = mp.mul %3, %rate : (tensor<4x64xf32>, tensor<f32>) -> tensor<4x64xf32>
  %5 = mp.add %2, %4 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  // expected-remark @below {{mean 0 std 0.2687}}
  %6 = mp.sub %5, %s : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return %6 : tensor<4x64xf32>
}

// -----

// Layers of nearly equal weights, of which a cosine of 0.9998 is left in what
// they make: a difference of 0.009, where that of strangers has 0.9.
#n = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}
func.func @twins(%x: tensor<64x4xf32> {mp.assume = #n}) -> (tensor<64x2xf32>, tensor<64x2xf32>) {
  %u = mp.constant dense<[[0.5, -0.5], [0.5, 0.5], [0.5, -0.5], [-0.5, -0.5]]> : tensor<4x2xf32>
  %v = mp.constant dense<[[0.51, -0.5], [0.5, 0.51], [0.5, -0.49], [-0.49, -0.5]]> : tensor<4x2xf32>
  %w = mp.constant dense<[[0.5, 0.5], [0.5, -0.5], [-0.5, 0.5], [-0.5, 0.5]]> : tensor<4x2xf32>
  %0 = mp.matmul %x, %u : (tensor<64x4xf32>, tensor<4x2xf32>) -> tensor<64x2xf32>
  %1 = mp.matmul %x, %v : (tensor<64x4xf32>, tensor<4x2xf32>) -> tensor<64x2xf32>
  %2 = mp.matmul %x, %w : (tensor<64x4xf32>, tensor<4x2xf32>) -> tensor<64x2xf32>
  %3 = mp.tanh %0 : (tensor<64x2xf32>) -> tensor<64x2xf32>
  %4 = mp.tanh %1 : (tensor<64x2xf32>) -> tensor<64x2xf32>
  // expected-remark @below {{mean 0 std 0.0088}}
  %5 = mp.sub %3, %4 : (tensor<64x2xf32>, tensor<64x2xf32>) -> tensor<64x2xf32>
  // expected-remark @below {{mean 0 std 1.414}}
  %6 = mp.sub %0, %2 : (tensor<64x2xf32>, tensor<64x2xf32>) -> tensor<64x2xf32>
  return %5, %6 : tensor<64x2xf32>, tensor<64x2xf32>
}

// -----

// Shares of a row's range: hues and saturations of colours, and numbers between the least
// and the largest, are 1 at most however small the range is. Numbers of other rows are not.
#n = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.29 : f64}
func.func @shares_of_range(%x: tensor<64x3x16xf32> {mp.assume = #n}, %y: tensor<64x3x16xf32> {mp.assume = #n}) -> tensor<64x1x16xf32> {
  %zero = mp.constant dense<0.0> : tensor<f32>
  %one = mp.constant dense<1.0> : tensor<f32>
  %max = mp.reduce_max %x {axes = array<i64: 1>, keep_dims = true} : (tensor<64x3x16xf32>) -> tensor<64x1x16xf32>
  %min = mp.reduce_min %x {axes = array<i64: 1>, keep_dims = true} : (tensor<64x3x16xf32>) -> tensor<64x1x16xf32>
  %range = mp.sub %max, %min : (tensor<64x1x16xf32>, tensor<64x1x16xf32>) -> tensor<64x1x16xf32>
  // expected-remark @below {{likely (propagated) [-1, 1]}}
  %saturation = mp.div %range, %max : (tensor<64x1x16xf32>, tensor<64x1x16xf32>) -> tensor<64x1x16xf32>
  %black = mp.equal %range, %zero : (tensor<64x1x16xf32>, tensor<f32>) -> tensor<64x1x16xi1>
  %safe = mp.where %black, %one, %range : (tensor<64x1x16xi1>, tensor<f32>, tensor<64x1x16xf32>) -> tensor<64x1x16xf32>
  %red, %green, %blue = mp.split %x {axis = 1 : i64} : (tensor<64x3x16xf32>) -> (tensor<64x1x16xf32>, tensor<64x1x16xf32>, tensor<64x1x16xf32>)
  // Parts of one tensor are taken as independent.
  // expected-remark @below {{mean 0 std 0.41}}
  %d = mp.sub %green, %blue : (tensor<64x1x16xf32>, tensor<64x1x16xf32>) -> tensor<64x1x16xf32>
  // expected-remark @below {{likely (propagated) [-1, 1]}}
  %hue = mp.div %d, %safe : (tensor<64x1x16xf32>, tensor<64x1x16xf32>) -> tensor<64x1x16xf32>
  %above = mp.sub %x, %min : (tensor<64x3x16xf32>, tensor<64x1x16xf32>) -> tensor<64x3x16xf32>
  // expected-remark @below {{likely (propagated) [-1, 1]}}
  %between = mp.div %above, %range : (tensor<64x3x16xf32>, tensor<64x1x16xf32>) -> tensor<64x3x16xf32>
  %most = mp.reduce_max %y {axes = array<i64: 1>, keep_dims = true} : (tensor<64x3x16xf32>) -> tensor<64x1x16xf32>
  // expected-remark @below {{likely (propagated) [-60.}}
  %other = mp.div %range, %most : (tensor<64x1x16xf32>, tensor<64x1x16xf32>) -> tensor<64x1x16xf32>
  return %hue : tensor<64x1x16xf32>
}

// -----

// Shares of a sum are one in as many as it has terms, on average, however many
// of the terms are 0, and a guard makes them less.
func.func @guarded_shares(%x: tensor<64x16xf32> {mp.assume = {lo = -60.0 : f64, hi = 1.0 : f64, mean = -4.0 : f64, std = 3.0 : f64}}) {
  %eps = mp.constant dense<1.0e-6> : tensor<f32>
  %r = mp.relu %x : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %u = mp.reduce_sum %r {axes = array<i64: 1>, keep_dims = true} : (tensor<64x16xf32>) -> tensor<64x1xf32>
  %v = mp.add %u, %eps : (tensor<64x1xf32>, tensor<f32>) -> tensor<64x1xf32>
  // expected-remark @below {{mean 0.0625 }}
  %p = mp.div %r, %v : (tensor<64x16xf32>, tensor<64x1xf32>) -> tensor<64x16xf32>
  return
}
