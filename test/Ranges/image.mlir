// RUN: mpopt-opt %s --mp-print-ranges -verify-diagnostics=only-expected

func.func @blocks(%s: tensor<1x8x2x2xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.2 : f64}}) {
  %w = mp.constant dense<[[[[1.0]], [[2.0]], [[3.0]], [[4.0]], [[5.0]], [[6.0]], [[7.0]], [[8.0]]]]> : tensor<1x8x1x1xf32>
  // expected-remark @below {{{1x8x1x1} [0, 1] [0, 2] [0, 3] [0, 4] [0, 5] [0, 6] [0, 7] [0, 8]}}
  %x = mp.mul %s, %w : (tensor<1x8x2x2xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x2x2xf32>
  // Channels 0, 2, 4, 6 and 1, 3, 5, 7 go together, or neighbours.
  // expected-remark @below {{{1x2x1x1} [0, 7] [0, 8]}}
  %0 = mp.depth_to_space %x {block_size = 2 : i64} : (tensor<1x8x2x2xf32>) -> tensor<1x2x4x4xf32>
  // expected-remark @below {{{1x2x1x1} [0, 4] [0, 8]}}
  %1 = mp.depth_to_space %x {block_size = 2 : i64, mode = "CRD"} : (tensor<1x8x2x2xf32>) -> tensor<1x2x4x4xf32>
  // expected-remark @below {{{1x8x1x1} [0, 7] [0, 8] [0, 7] [0, 8] [0, 7] [0, 8] [0, 7] [0, 8]}}
  %2 = mp.space_to_depth %0 {block_size = 2 : i64} : (tensor<1x2x4x4xf32>) -> tensor<1x8x2x2xf32>
  // expected-remark @below {{[0, 1]}}
  %3 = mp.im2col %s {kernel_shape = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x8x2x2xf32>) -> tensor<1x32x9xf32>
  return
}

func.func @windows(%x: tensor<1x8x16xf32> {mp.assume = {lo = -1.0 : f64, hi = 2.0 : f64, mean = 0.5 : f64, std = 0.2 : f64}}, %shape: tensor<2xi64>) {
  %image = mp.constant dense<5> : tensor<2xi64>
  %block = mp.constant dense<2> : tensor<2xi64>
  // Four windows over a pixel.
  // expected-remark @below {{[-4, 8]}}
  %0 = mp.col2im %x, %image, %block : (tensor<1x8x16xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2x5x5xf32>
  // expected-remark @below {{[-inf, inf] +inf -inf}}
  %1 = mp.col2im %x, %image, %shape : (tensor<1x8x16xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x?x5x5xf32>
  return
}

func.func @resampled(%s: tensor<1x2x4x4xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.2 : f64}}, %grid: tensor<1x3x3x2xf32>, %theta: tensor<1x2x3xf32>, %wild: tensor<1x3x3x2xf32> {mp.assume = {lo = 0.0 : f64, hi = 0x7FF0000000000000 : f64, mean = 0.5 : f64, std = 0.2 : f64}}) {
  %w = mp.constant dense<[[[[1.0]], [[10.0]]]]> : tensor<1x2x1x1xf32>
  // expected-remark @below {{{1x2x1x1} [0, 1] [0, 10]}}
  %x = mp.mul %s, %w : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %scales = mp.constant dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32>
  // Channels are told apart; the pixels are not.
  // expected-remark @below {{{1x2x1x1} [0, 1] [0, 10]}}
  %0 = mp.resize %x scales %scales : (tensor<1x2x4x4xf32>, tensor<4xf32>) -> tensor<1x2x8x8xf32>
  // expected-remark @below {{{1x2x1x1} [-9.53674e-07, 1] [-9.53674e-06, 10]}}
  %1 = mp.resize %x scales %scales {mode = "linear"} : (tensor<1x2x4x4xf32>, tensor<4xf32>) -> tensor<1x2x8x8xf32>
  // Overshoots by (1.375^2 - 1) / 2 of the width on each side.
  // expected-remark @below {{{1x2x1x1} [-0.445314, 1.44531] [-4.45314, 14.4531]}}
  %2 = mp.resize %x scales %scales {mode = "cubic"} : (tensor<1x2x4x4xf32>, tensor<4xf32>) -> tensor<1x2x8x8xf32>
  // expected-remark @below {{{1x2x1x1} [-9.53674e-07, 1] [-9.53674e-06, 10]}}
  %3 = mp.grid_sample %x, %grid {padding_mode = "border"} : (tensor<1x2x4x4xf32>, tensor<1x3x3x2xf32>) -> tensor<1x2x3x3xf32>
  // A position that is infinite has no neighbours.
  // expected-remark @below {{{1x2x1x1} [-9.53674e-07, 1] [-9.53674e-06, 10] nan}}
  %4 = mp.grid_sample %x, %wild : (tensor<1x2x4x4xf32>, tensor<1x3x3x2xf32>) -> tensor<1x2x3x3xf32>
  %size = mp.constant dense<[1, 2, 3, 3]> : tensor<4xi64>
  // expected-remark @below {{[-30, 30]}}
  %5 = mp.affine_grid %theta, %size : (tensor<1x2x3xf32>, tensor<4xi64>) -> tensor<1x3x3x2xf32>
  return
}

func.func @determinant(%x: tensor<2x2xf32> {mp.assume = {lo = -3.0 : f64, hi = 2.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %d: tensor<?x?xf32>) {
  // expected-remark @below {{[-18.0001, 18.0001]}}
  %0 = mp.det %x : (tensor<2x2xf32>) -> tensor<f32>
  // expected-remark @below {{[-inf, inf] nan +inf -inf}}
  %1 = mp.det %d : (tensor<?x?xf32>) -> tensor<f32>
  return
}

// -----

// What is left of such weights may sum to nearly 0, by which they are divided.
func.func @renormalised(%x: tensor<1x1x4x4xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64}}) {
  %scales = mp.constant dense<[1.0, 1.0, 13.1, 1.0]> : tensor<4xf32>
  // expected-remark @below {{[-inf, inf]}}
  %0 = mp.resize %x scales %scales {mode = "cubic", cubic_coeff_a = 1.0 : f64, exclude_outside} : (tensor<1x1x4x4xf32>, tensor<4xf32>) -> tensor<1x1x52x4xf32>
  return
}
