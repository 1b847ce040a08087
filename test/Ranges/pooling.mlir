// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// A maximum stays in the hull, padding never wins; channels stay apart.
func.func @windows(%x: tensor<1x2x4xf32> {mp.assume = {lo = 1.0 : f64, hi = 2.0 : f64}}) -> tensor<1x2x3xf32> {
  %c = mp.constant dense<[[1.0], [-3.0]]> : tensor<2x1xf32>
  // expected-remark @below {{{1x2x1} [1, 2] [-6, -3]}}
  %y = mp.mul %x, %c : (tensor<1x2x4xf32>, tensor<2x1xf32>) -> tensor<1x2x4xf32>
  // expected-remark @below {{{1x2x1} [1, 2] [-6, -3]}}
  %0 = mp.max_pool %y {kernel_shape = array<i64: 2>, pads = array<i64: 1, 1>} : (tensor<1x2x4xf32>) -> tensor<1x2x5xf32>
  // expected-remark @below {{{1x2x1} [1, 2] [-6, -3]}}
  %1 = mp.average_pool %y {kernel_shape = array<i64: 2>} : (tensor<1x2x4xf32>) -> tensor<1x2x3xf32>
  // Padding may count as zeros.
  // expected-remark @below {{{1x2x1} [0, 2] [-6, 0]}}
  %2 = mp.average_pool %y {kernel_shape = array<i64: 2>, pads = array<i64: 1, 1>, count_include_pad = true} : (tensor<1x2x4xf32>) -> tensor<1x2x5xf32>
  // sqrt(2) times as much.
  // expected-remark @below {{{1x2x1} [1.41421, 2.82843] [4.24263, 8.48529]}}
  %3 = mp.lp_pool %y {kernel_shape = array<i64: 2>} : (tensor<1x2x4xf32>) -> tensor<1x2x3xf32>
  // expected-remark @below {{{1x2x1} [0.999999, 2] [-6, -3]}}
  %4 = mp.global_average_pool %y : (tensor<1x2x4xf32>) -> tensor<1x2x1xf32>
  // expected-remark @below {{{1x2x1} [1, 2] [-6, -3]}}
  %5 = mp.global_max_pool %y : (tensor<1x2x4xf32>) -> tensor<1x2x1xf32>
  return %1 : tensor<1x2x3xf32>
}

// -----

// The mean of nobody knows how many elements lies between them, but for the
// errors of a long sum; where that may overflow anything may come of it.
func.func @unknown(%x: tensor<1x2x?xf32> {mp.assume = {lo = 1.0 : f64, hi = 2.0 : f64}}) -> tensor<1x2x1xf32> {
  // expected-remark @below {{[0, 4]}}
  %0 = mp.global_average_pool %x : (tensor<1x2x?xf32>) -> tensor<1x2x1xf32>
  // expected-remark @below {{[1, 2]}}
  %1 = mp.global_max_pool %x : (tensor<1x2x?xf32>) -> tensor<1x2x1xf32>
  %large = mp.constant dense<1.0e32> : tensor<f32>
  %2 = mp.mul %x, %large : (tensor<1x2x?xf32>, tensor<f32>) -> tensor<1x2x?xf32>
  // expected-remark @below {{[0, 4e+32] nan +inf -inf}}
  %3 = mp.global_average_pool %2 : (tensor<1x2x?xf32>) -> tensor<1x2x1xf32>
  return %0 : tensor<1x2x1xf32>
}

// -----

// A sum in 16 bits overflows where the mean would not.
module attributes {mp.target = "strict16"} {
  func.func @sum(%x: tensor<1x1x4xf16> {mp.assume = {lo = 0.0 : f64, hi = 30000.0 : f64}}) -> tensor<1x1x1xf16> {
    // expected-remark @below {{+inf}}
    %0 = mp.global_average_pool %x : (tensor<1x1x4xf16>) -> tensor<1x1x1xf16>
    // expected-remark @below {{+inf}}
    %1 = mp.global_lp_pool %x : (tensor<1x1x4xf16>) -> tensor<1x1x1xf16>
    return %0 : tensor<1x1x1xf16>
  }
}

// -----

// Elements that are told apart give windows that are told apart.
func.func @windows(%x: tensor<1x1x1x4xf32> {mp.assume = {lo_elements = dense<[[[[-1.0, 0.0, 3.0, -9.0]]]]> : tensor<1x1x1x4xf64>, hi_elements = dense<[[[[1.0, 2.0, 4.0, -8.0]]]]> : tensor<1x1x1x4xf64>}}) {
  // expected-remark @below {{{1x1x1x3} [0, 2] [3, 4] [3, 4]}}
  %0 = mp.max_pool %x {kernel_shape = array<i64: 1, 2>} : (tensor<1x1x1x4xf32>) -> tensor<1x1x1x3xf32>
  // Padding is no element of a maximum.
  // expected-remark @below {{{1x1x1x3} [-1, 1] [3, 4] [-9, -8]}}
  %1 = mp.max_pool %x {kernel_shape = array<i64: 1, 2>, strides = array<i64: 1, 2>, pads = array<i64: 0, 1, 0, 1>} : (tensor<1x1x1x4xf32>) -> tensor<1x1x1x3xf32>
  // The mean of the ends, not one of the elements.
  // expected-remark @below {{{1x1x1x3} [-0.5, 1.5] [1.5, 3] [-3, -2]}}
  %2 = mp.average_pool %x {kernel_shape = array<i64: 1, 2>} : (tensor<1x1x1x4xf32>) -> tensor<1x1x1x3xf32>
  // expected-remark @below {{[-1.75, -0.249999]}}
  %3 = mp.global_average_pool %x : (tensor<1x1x1x4xf32>) -> tensor<1x1x1x1xf32>
  // expected-remark @below {{[3, 4]}}
  %4 = mp.global_max_pool %x : (tensor<1x1x1x4xf32>) -> tensor<1x1x1x1xf32>
  return
}

// -----

// A maximum that may be passed over, or -Inf, leaves the other elements.
func.func @flagged(%x: tensor<1x1x1x2xf32> {mp.assume = {lo_elements = dense<[[[[5.0, 0.0]]]]> : tensor<1x1x1x2xf64>, hi_elements = dense<[[[[0x7FF0000000000000, 2.0]]]]> : tensor<1x1x1x2xf64>}}) {
  // expected-remark @below {{[-3.40282e+38, inf] +inf}}
  %0 = mp.max_pool %x {kernel_shape = array<i64: 1, 2>} : (tensor<1x1x1x2xf32>) -> tensor<1x1x1x1xf32>
  return
}
