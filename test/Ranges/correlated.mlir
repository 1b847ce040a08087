// RUN: mpopt-opt %s --mp-print-ranges="likely" -split-input-file -verify-diagnostics=only-expected

// Averages of correlated positions. The digits are those of simulations with
// normal numbers, of which estimates are within a fifth.

// Copies of one position: their mean is that position.
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64}
func.func @copies(%x: tensor<8x1x16xf32> {mp.assume = #n}) -> tensor<8x16xf32> {
  %shape = mp.constant dense<[8, 32, 16]> : tensor<3xi64>
  %0 = mp.expand %x, %shape : (tensor<8x1x16xf32>, tensor<3xi64>) -> tensor<8x32x16xf32>
  // expected-remark @below {{mean 0 std 1}}
  %1 = mp.reduce_mean %0 {axes = array<i64: 1>, keep_dims = false} : (tensor<8x32x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// -----

// Independent ones have 1 / sqrt(32) of it.
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64}
func.func @independent(%x: tensor<8x32x16xf32> {mp.assume = #n}) -> tensor<8x16xf32> {
  // expected-remark @below {{mean 0 std 0.17}}
  %0 = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = false} : (tensor<8x32x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// Causal attention with scores of 0: row i averages i + 1 independent values,
// sqrt(mean of 1 / (i + 1)) = 0.305 over 48 rows. Rows of one size that are so
// correlated keep 0.84 in a second average, independent ones would keep 0.305.
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64}
#z = {mean = 0.0 : f64, std = 1.0e-3 : f64, lo = -0.01 : f64, hi = 0.01 : f64}
func.func @causal(%q: tensor<2x4x48x32xf32> {mp.assume = #z}, %v: tensor<2x4x48x32xf32> {mp.assume = #n}) -> tensor<2x4x48x32xf32> {
  // expected-remark @below {{mean 0 std 0.30}}
  %0 = mp.attention %q, %q, %v {is_causal} : (tensor<2x4x48x32xf32>, tensor<2x4x48x32xf32>, tensor<2x4x48x32xf32>) -> tensor<2x4x48x32xf32>
  %1 = mp.rms_norm %0 {axis = -1 : i64, epsilon = 1.0e-6 : f64} : (tensor<2x4x48x32xf32>) -> tensor<2x4x48x32xf32>
  // expected-remark @below {{mean 0 std 0.6}}
  %2 = mp.attention %q, %q, %1 {is_causal} : (tensor<2x4x48x32xf32>, tensor<2x4x48x32xf32>, tensor<2x4x48x32xf32>) -> tensor<2x4x48x32xf32>
  return %2 : tensor<2x4x48x32xf32>
}

// -----

// Tokens of Zipf frequencies repeat: two of 1,000 are equal with 0.029 (the sum
// of the squared frequencies), and a mean over 64 has sqrt(1 / 64 + 0.029) of
// a row's deviation.
#t = {lo = 0.0 : f64, hi = 999.0 : f64, zipf = 1.0 : f64}
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64}
func.func @repeated(%i: tensor<8x64xi64> {mp.assume = #t}, %table: tensor<1000x16xf32> {mp.assume = #n}) -> tensor<8x16xf32> {
  %0 = mp.gather %table, %i {axis = 0 : i64} : (tensor<1000x16xf32>, tensor<8x64xi64>) -> tensor<8x64x16xf32>
  // expected-remark @below {{mean 0 std 0.21}}
  %1 = mp.reduce_mean %0 {axes = array<i64: 1>, keep_dims = false} : (tensor<8x64x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// -----

// The common part of all positions is gone from x - mean(x): a deviation of 0.5
// is left beside the part of 3, where independent numbers would have 4.
#n = {mean = 0.0 : f64, std = 3.0 : f64, lo = -18.0 : f64, hi = 18.0 : f64}
#m = {mean = 0.0 : f64, std = 0.5 : f64, lo = -3.0 : f64, hi = 3.0 : f64}
func.func @centred(%c: tensor<8x1x16xf32> {mp.assume = #n}, %x: tensor<8x32x16xf32> {mp.assume = #m}) -> tensor<8x32x16xf32> {
  %shape = mp.constant dense<[8, 32, 16]> : tensor<3xi64>
  %all = mp.expand %c, %shape : (tensor<8x1x16xf32>, tensor<3xi64>) -> tensor<8x32x16xf32>
  %0 = mp.add %x, %all : (tensor<8x32x16xf32>, tensor<8x32x16xf32>) -> tensor<8x32x16xf32>
  %1 = mp.reduce_mean %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<8x32x16xf32>) -> tensor<8x1x16xf32>
  // expected-remark @below {{mean 0 std 0.4}}
  %2 = mp.sub %0, %1 : (tensor<8x32x16xf32>, tensor<8x1x16xf32>) -> tensor<8x32x16xf32>
  return %2 : tensor<8x32x16xf32>
}
