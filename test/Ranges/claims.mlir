// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// Claims about rows end where rows are put together from elements of several.

// The largest of each column do not sum to 1, nor have they a row's norm; the
// elements of one row in another order do.
func.func @sorted(%x: tensor<4x8xf32>) {
  %s = mp.softmax %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark-re @below {{#0: [2.94448e-10, 1]{{$}}}}
  // expected-remark @below {{#1: [0, 3] integral}}
  %0, %1 = mp.sort %s {axis = 0 : i64} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi64>)
  // expected-remark @below {{#0: [2.94448e-10, 1] sum(1) in [0.999992, 1.00001]}}
  // expected-remark @below {{#1: [0, 7] integral}}
  %2, %3 = mp.sort %s {axis = 1 : i64} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi64>)
  %n, %m, %i = mp.layer_norm %x : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  // expected-remark-re @below {{#0: [-2.64576, 2.64576]{{$}}}}
  // expected-remark @below {{#1: [0, 3] integral}}
  %4, %5 = mp.top_k %n {axis = 0 : i64, k = 2 : i64} : (tensor<4x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xi64>)
  // expected-remark @below {{[2.35558e-09, 8.00001]}}
  %6 = mp.reduce_sum %0 {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  return
}

// -----

// Each batch is reversed by its own length, and written at its own place.
func.func @moved(%x: tensor<4x8x2xf32>, %u: tensor<4x1x2xf32>, %lengths: tensor<8xi64>, %at: tensor<4xi64>) {
  %s = mp.softmax %x {axis = 1 : i64} : (tensor<4x8x2xf32>) -> tensor<4x8x2xf32>
  // expected-remark-re @below {{[2.94448e-10, 1]{{$}}}}
  %0 = mp.reverse_sequence %s, %lengths : (tensor<4x8x2xf32>, tensor<8xi64>) -> tensor<4x8x2xf32>
  %one = mp.softmax %u {axis = 1 : i64} : (tensor<4x1x2xf32>) -> tensor<4x1x2xf32>
  // expected-remark-re @below {{[2.94448e-10, 1]{{$}}}}
  %1 = mp.tensor_scatter %s, %one, %at {axis = 1 : i64} : (tensor<4x8x2xf32>, tensor<4x1x2xf32>, tensor<4xi64>) -> tensor<4x8x2xf32>
  return
}

// -----

// What is claimed of the rows is not claimed of their deviations.
func.func @statistics(%x: tensor<4x8x2xf32>) {
  %s = mp.softmax %x {axis = 1 : i64} : (tensor<4x8x2xf32>) -> tensor<4x8x2xf32>
  // expected-remark @below {{#0: [-1, 1] norm(2) <= 1.41421}}
  // expected-remark @below {{#1: [-5.95752e-07, 1]}}
  // expected-remark-re @below {{#2: [1.99995, 316.228]{{$}}}}
  %0:3 = mp.layer_norm %s : (tensor<4x8x2xf32>) -> (tensor<4x8x2xf32>, tensor<4x8x1xf32>, tensor<4x8x1xf32>)
  // expected-remark @below {{#0: [0, 1.41421] norm(2) <= 1.41421}}
  // expected-remark-re @below {{#1: [0.999994, 316.228]{{$}}}}
  %1:2 = mp.rms_norm %s : (tensor<4x8x2xf32>) -> (tensor<4x8x2xf32>, tensor<4x8x1xf32>)
  return
}

// -----

// Zero becomes the smallest power of two, which is no whole number.
func.func @scales() {
  %c = mp.constant dense<[0, 1]> : tensor<2xi32>
  // expected-remark-re @below {{{2} [-5.87747e-39, 5.87747e-39] [0, 2]{{$}}}}
  %0 = mp.cast %c {round_mode = "up", saturate} : (tensor<2xi32>) -> tensor<2xf8E8M0FNU>
  return
}

// -----

// Axes of a tensor without elements are other ones behind a reshape.
func.func @empty(%x: tensor<0x4x8xf32>) {
  %s = mp.softmax %x : (tensor<0x4x8xf32>) -> tensor<0x4x8xf32>
  %shape = mp.constant dense<[0, 2]> : tensor<2xi64>
  // expected-remark-re @below {{[2.94448e-10, 1]{{$}}}}
  %0 = mp.reshape %s, %shape {allowzero} : (tensor<0x4x8xf32>, tensor<2xi64>) -> tensor<0x2xf32>
  return
}
