// RUN: mpopt-opt %s --mp-print-ranges="likely" -split-input-file -verify-diagnostics=only-expected

func.func @sums(%x: tensor<2x8xf32> {mp.assume = {lo = -1.0 : f64, hi = 3.0 : f64, mean = 1.0 : f64, std = 0.5 : f64}}) {
  // The last digits are what eight additions in f32 may be off by.
  // expected-remark @below {{[-8.00001, 24] likely (propagated) [6.33489, 9.66511] mean 8 std 1.41421}}
  %0 = mp.reduce_sum %x {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  // expected-remark @below {{[-1, 3] likely (propagated) [0.791861, 1.20814] mean 1 std 0.176777}}
  %1 = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  // expected-remark @below {{[0, 72.0001] likely (propagated) [6.46777, 14.9372] mean 10 std 3}}
  %2 = mp.reduce_sum_square %x {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  // expected-remark @below {{[0, 8.48529] likely (propagated) [2.54318, 3.86487] mean 3.16228 std 0.474342}}
  %3 = mp.reduce_l2 %x {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  // expected-remark @below {{[0, 24] likely (propagated) [6.46061, 9.72103] mean 8.06793 std 1.36513}}
  %4 = mp.reduce_l1 %x {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  // expected-remark @below {{[-1, 3] likely (propagated) [1.39092, 2.17741] mean 1.76116 std 0.314453}}
  %5 = mp.reduce_max %x {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  // expected-remark @below {{[-1, 3] likely (propagated) [-0.17741, 0.60908] mean 0.238839 std 0.314453}}
  %6 = mp.reduce_min %x {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  // Different numbers of either sign: eight of them may have a negative product.
  // expected-remark @below {{[-6561, 6561] likely (propagated) [-4.62183, 4.62183] mean 0 std 6.2839}}
  %7 = mp.reduce_prod %x {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  // Of a sum that may be negative or 0.
  // expected-remark @below {{[-103.279, 3.17806] nan -inf likely (propagated) [1.84607, 2.26852] mean 2.07944 std 0.176777}}
  %8 = mp.reduce_log_sum %x {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  // Between the largest and that plus log 8.
  // expected-remark @below {{[-1, 5.07945] likely (propagated) [2.98259, 3.42629] mean 3.20444 std 0.188423}}
  %9 = mp.reduce_log_sum_exp %x {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  // 8/7 of a quarter of the squared width.
  // expected-remark @below {{[0, 4.57144] likely (propagated) [0.117513, 0.453916] mean 0.285714 std 0.142857}}
  %10 = mp.variance %x {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  // expected-remark @below {{[0, 2.13809] likely (propagated) [0.342801, 0.673733] mean 0.534522 std 0.133631}}
  %11 = mp.std %x {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  // expected-remark @below {{[0, 6.00002] likely (propagated) [2.01698, 3.20136] mean 2.23607 std 0.482645}}
  %12 = mp.norm %x {axes = array<i64: 1>, ord = 3.0 : f64} : (tensor<2x8xf32>) -> tensor<2xf32>
  // expected-remark @below {{[0, 3] likely (propagated) [1.38584, 2.17741] mean 1.74323 std 0.303539}}
  %13 = mp.norm %x {axes = array<i64: 1>, ord = 0x7FF0000000000000 : f64} : (tensor<2x8xf32>) -> tensor<2xf32>
  // expected-remark @below {{[0, 1] integral likely (propagated) [0, 1] mean 1 std 0}}
  %14 = mp.reduce_any %x {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xi1>
  // expected-remark @below {{[0, 8] integral likely (propagated) [8, 8] mean 8 std 0}}
  %15 = mp.count_nonzero %x {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xi64>
  return
}

// -----

// Elements that are told apart stay so where their axis is not reduced.
func.func @kept() {
  %c = mp.constant dense<[[1.0, 2.0, 300.0], [4.0, -5.0, 300.0]]> : tensor<2x3xf16>
  // expected-remark @below {{{2} [303, 303] [299, 299] likely (propagated) {2} [303, 303] mean 303 std 0 [299, 299] mean 299 std 0}}
  %0 = mp.reduce_sum %c {axes = array<i64: 1>} : (tensor<2x3xf16>) -> tensor<2xf16>
  // expected-remark @below {{{3} [4, 4] [2, 2] [300, 300] integral likely (propagated) {3} [4, 4] mean 4 std 0 [2, 2] mean 2 std 0 [300, 300] mean 300 std 0}}
  %1 = mp.reduce_max %c {axes = array<i64: 0>} : (tensor<2x3xf16>) -> tensor<3xf16>
  // expected-remark @below {{{2} [600, 600] [-6000, -6000] likely (propagated) {2} [600, 600] mean 600 std 0 [-6000, -6000] mean -6000 std 0}}
  %2 = mp.reduce_prod %c {axes = array<i64: 1>} : (tensor<2x3xf16>) -> tensor<2xf16>
  // expected-remark @below {{[1, 1] integral likely (propagated) [1, 1] mean 1 std 0}}
  %3 = mp.reduce_all %c : (tensor<2x3xf16>) -> tensor<i1>
  return
}

// -----

// Nobody knows how many elements there are.
func.func @dynamic(%x: tensor<2x?xf32>, %axis: tensor<1xi64>) {
  // expected-remark @below {{[-inf, inf] nan +inf -inf likely (propagated) [-1.73205, 1.73205] mean 0 std 1}}
  %0 = mp.reduce_sum %x {axes = array<i64: 1>} : (tensor<2x?xf32>) -> tensor<2xf32>
  // expected-remark @below {{[0, 0] integral likely (weight) [0, 0] mean 0 std 0}}
  %z = mp.sub %x, %x : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
  // expected-remark @below {{[0, 0] likely (propagated) [0, 0] mean 0 std 0}}
  %1 = mp.reduce_sum %z {axes = array<i64: 1>} : (tensor<2x?xf32>) -> tensor<2xf32>
  // expected-remark @below {{[-20, 20] likely (propagated) [-1.73205, 1.73205] mean 0 std 1}}
  %2 = mp.reduce_mean %x {axes = array<i64: 1>} : (tensor<2x?xf32>) -> tensor<2xf32>
  // expected-remark @below {{[-10, 10] likely (propagated) [-1.73205, 1.73205] mean 0 std 1}}
  %3 = mp.reduce_max %x {axes = array<i64: 1>} : (tensor<2x?xf32>) -> tensor<2xf32>
  // expected-remark @below {{[-10, 33.097] likely (propagated) [-1.17741, 1.17741] mean 0 std 1}}
  %4 = mp.reduce_log_sum_exp %x {axes = array<i64: 1>} : (tensor<2x?xf32>) -> tensor<2xf32>
  // expected-remark @below {{[-10, 10] likely (propagated) [-0.615555, 1.73205] mean 0.5642 std 1.00199}}
  %5 = mp.reduce_max %x axes %axis : (tensor<2x?xf32>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

// A softmax' rows sum to 1, a normalisation's have a norm.
func.func @facts(%x: tensor<2x16xf32>, %g: tensor<16xf32> {mp.assume = {lo = 1.0 : f64, hi = 1.0 : f64, mean = 1.0 : f64, std = 0.0 : f64}}) {
  // expected-remark @below {{[1.37409e-10, 1] sum(1) in [0.999991, 1.00001] likely (assumption) [0.00289804, 0.360019] mean 0.0625 std 0.0597346}}
  %p = mp.softmax %x {axis = 1 : i64} : (tensor<2x16xf32>) -> tensor<2x16xf32>
  // expected-remark @below {{[0.99999, 1.00001] likely (propagated) [0.99999, 1.00001] mean 1 std 1.00138e-05}}
  %0 = mp.reduce_sum %p {axes = array<i64: 1>} : (tensor<2x16xf32>) -> tensor<2xf32>
  // expected-remark @below {{[2.74818e-10, 2] sum(0) in [1.99998, 2.00002] likely (propagated) [0.0239969, 0.458954] mean 0.125 std 0.0844774}}
  %1 = mp.reduce_sum %p {axes = array<i64: 0>} : (tensor<2x16xf32>) -> tensor<16xf32>
  return
}

// -----

// The root fits into f16, the sum of squares does not fit into an accumulator
// of f16.
module attributes {mp.target = "strict16"} {
  func.func @intermediate(%x: tensor<100xf16> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 30.0 : f64}}) {
    // expected-remark @below {{[0, 1049.61] +inf likely (propagated) [274.402, 325.463] mean 300 std 21.2132}}
    %0 = mp.reduce_l2 %x : (tensor<100xf16>) -> tensor<f16>
    // expected-remark @below {{[0, 108.085] +inf likely (propagated) [27.5267, 32.5648] mean 30.1511 std 2.13201}}
    %1 = mp.std %x : (tensor<100xf16>) -> tensor<f16>
    // The exponentials are taken as they are.
    // expected-remark @below {{[-100.404, 105.206] +inf -inf likely (propagated) [63.1034, 92.9583] mean 78.0308 std 12.6782}}
    %2 = mp.reduce_log_sum_exp %x : (tensor<100xf16>) -> tensor<f16>
    return
  }
}

// -----

func.func @intermediate(%x: tensor<100xf16> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 30.0 : f64}}) {
  // expected-remark @below {{[0, 1000.01] likely (propagated) [274.402, 325.463] mean 300 std 21.2132}}
  %0 = mp.reduce_l2 %x : (tensor<100xf16>) -> tensor<f16>
  // expected-remark @below {{[0, 100.505] likely (propagated) [27.5267, 32.5648] mean 30.1511 std 2.13201}}
  %1 = mp.std %x : (tensor<100xf16>) -> tensor<f16>
  return
}

// -----

// The logarithm of 0 in one group only.
func.func @zeros() {
  %c = mp.constant dense<[[0.0, 0.0], [2.0, -1.0], [1.0, 3.0]]> : tensor<3x2xf32>
  // expected-remark @below {{{3} none [-1.78814e-07, 2.38419e-07] [1.38629, 1.3863] -inf likely (propagated) {3} [-103.279, -103.279] mean -103.279 std 0 [0, 0] mean 0 std 0 [1.38629, 1.38629] mean 1.38629 std 0}}
  %0 = mp.reduce_log_sum %c {axes = array<i64: 1>} : (tensor<3x2xf32>) -> tensor<3xf32>
  return
}

// -----

// Nothing sums to 0; what its largest, mean and product are is the runtime's
// business.
func.func @nothing(%x: tensor<2x0x4xf32> {mp.assume = {lo = -2.0 : f64, hi = -1.0 : f64}}) -> tensor<2x4xf32> {
  // expected-remark @below {{[0, 0]}}
  %0 = mp.reduce_sum %x {axes = array<i64: 1>} : (tensor<2x0x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{nan +inf -inf}}
  %1 = mp.reduce_max %x {axes = array<i64: 1>} : (tensor<2x0x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{nan +inf -inf}}
  %2 = mp.reduce_min %x {axes = array<i64: 1>} : (tensor<2x0x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{nan +inf -inf}}
  %3 = mp.reduce_log_sum_exp %x {axes = array<i64: 1>} : (tensor<2x0x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{nan +inf -inf}}
  %4 = mp.reduce_mean %x {axes = array<i64: 1>} : (tensor<2x0x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{nan +inf -inf}}
  %5 = mp.reduce_prod %x {axes = array<i64: 1>} : (tensor<2x0x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
