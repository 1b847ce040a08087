// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

func.func @lp(%x: tensor<2x4xf32>, %away: tensor<2x4xf32> {mp.assume = {lo = 1.0 : f64, hi = 2.0 : f64}}) -> tensor<2x4xf32> {
  // Squares of the smallest FP32 values vanish.
  // expected-remark @below {{[-2.23608, 2.23608] nan +inf -inf norm(1) <= 2.23608}}
  %0 = mp.lp_normalize %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{[-1.00001, 1.00001] norm(1) <= 1.00001}}
  %1 = mp.lp_normalize %x {epsilon = 1.0e-12 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{[0, 1.00001] norm(1) <= 1.00001}}
  %2 = mp.lp_normalize %away {p = 1.0 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{[0, 1.00001]}}
  %3 = mp.lp_normalize %away {p = 3.0 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// FP16 values are 6e-8 at least; their squares are FP32 numbers.
func.func @half(%x: tensor<2x4xf16>) -> tensor<2x4xf16> {
  // expected-remark @below {{[-1.00001, 1.00001] nan norm(1) <= 1.00001}}
  %0 = mp.lp_normalize %x : (tensor<2x4xf16>) -> tensor<2x4xf16>
  return %0 : tensor<2x4xf16>
}

// -----

func.func @others(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  // expected-remark @below {{[-10, 10]}}
  %0 = mp.lrn %x {size = 3} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  // The denominator may vanish without a bias.
  // expected-remark @below {{[-inf, inf] nan +inf -inf}}
  %1 = mp.lrn %x {size = 3, bias = 0.0 : f64} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  // E[x^2] - E[x]^2 cancels.
  // expected-remark @below {{nan}}
  %2 = mp.mean_variance_norm %x {axes = array<i64: 2>} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}

// -----

// F.normalize as exporters write it: the length is repeated along the row.
func.func @expanded(%x: tensor<1x8x5xf32>) -> tensor<1x8x5xf32> {
  %length = mp.reduce_l2 %x {axes = array<i64: 1>, keep_dims = true} : (tensor<1x8x5xf32>) -> tensor<1x1x5xf32>
  %least = mp.constant dense<1.0e-5> : tensor<f32>
  %above = mp.clip %length min %least : (tensor<1x1x5xf32>, tensor<f32>) -> tensor<1x1x5xf32>
  %shape = mp.constant dense<[1, 8, 5]> : tensor<3xi64>
  %all = mp.expand %above, %shape : (tensor<1x1x5xf32>, tensor<3xi64>) -> tensor<1x8x5xf32>
  // expected-remark @below {{norm(1) <= 1}}
  %0 = mp.div %x, %all : (tensor<1x8x5xf32>, tensor<1x8x5xf32>) -> tensor<1x8x5xf32>
  %inverse = mp.reciprocal %all : (tensor<1x8x5xf32>) -> tensor<1x8x5xf32>
  // expected-remark @below {{norm(1) <= 1}}
  %1 = mp.mul %x, %inverse : (tensor<1x8x5xf32>, tensor<1x8x5xf32>) -> tensor<1x8x5xf32>
  return %1 : tensor<1x8x5xf32>
}

// -----

// A length that is repeated in another axis belongs to no row of it.
func.func @other_rows(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %length = mp.reduce_l2 %x {axes = array<i64: 0>, keep_dims = true} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %column = mp.transpose %length {perm = array<i64: 1, 0>} : (tensor<1x4xf32>) -> tensor<4x1xf32>
  %shape = mp.constant dense<[4, 4]> : tensor<2xi64>
  %all = mp.expand %column, %shape : (tensor<4x1xf32>, tensor<2xi64>) -> tensor<4x4xf32>
  // expected-remark @below {{e+45] nan +inf -inf}}
  %0 = mp.div %x, %all : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
