// RUN: mpopt-opt %s --mp-print-ranges -verify-diagnostics=only-expected

func.func @transforms(%x: tensor<2x16x1xf32> {mp.assume = {lo = -2.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.5 : f64}}, %c: tensor<2x16x2xf32> {mp.assume = {lo = -2.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.5 : f64}}, %d: tensor<2x?x1xf32>) {
  // 16 samples of magnitude 2.
  // expected-remark @below {{[-32.0002, 32.0002]}}
  %0 = mp.dft %x {axis = 1 : i64} : (tensor<2x16x1xf32>) -> tensor<2x16x2xf32>
  // A mean of both parts.
  // expected-remark @below {{[-4.00004, 4.00004]}}
  %1 = mp.dft %c {axis = 1 : i64, inverse} : (tensor<2x16x2xf32>) -> tensor<2x16x2xf32>
  %length = mp.constant dense<4> : tensor<i64>
  // expected-remark @below {{[-8.00002, 8.00002]}}
  %2 = mp.dft %x length %length {axis = 1 : i64} : (tensor<2x16x1xf32>, tensor<i64>) -> tensor<2x4x2xf32>
  // expected-remark @below {{[-inf, inf] nan +inf -inf}}
  %3 = mp.dft %d {axis = 1 : i64} : (tensor<2x?x1xf32>) -> tensor<2x?x2xf32>
  %step = mp.constant dense<4> : tensor<i64>
  %size = mp.constant dense<8> : tensor<i64>
  // expected-remark @below {{[-1.23842e-06, 1]}}
  %window = mp.window %size {kind = "hann"} : (tensor<i64>) -> tensor<8xf32>
  // expected-remark @below {{[-16.0001, 16.0001]}}
  %4 = mp.stft %x, %step window %window : (tensor<2x16x1xf32>, tensor<i64>, tensor<8xf32>) -> tensor<2x3x5x2xf32>
  // expected-remark @below {{[0.0789998, 1]}}
  %5 = mp.window %size {kind = "hamming"} : (tensor<i64>) -> tensor<8xf32>
  %low = mp.constant dense<0.0> : tensor<f32>
  // expected-remark @below {{[0, 1]}}
  %6 = mp.mel_weight_matrix %size, %size, %size, %low, %low : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<5x8xf32>
  return
}

// -----

// One sample of a symmetric window is 0 / 0.
func.func @one_sample(%length: tensor<i64>) {
  %one = mp.constant dense<1> : tensor<i64>
  // expected-remark @below {{nan}}
  %0 = mp.window %one {kind = "hann", periodic = false} : (tensor<i64>) -> tensor<1xf32>
  %two = mp.constant dense<2> : tensor<i64>
  // expected-remark @below {{[-1.23842e-06, 1]}}
  %1 = mp.window %two {kind = "hann", periodic = false} : (tensor<i64>) -> tensor<2xf32>
  return
}
