// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// |y| <= sqrt(n - 1) and ‖y‖ <= sqrt(n), whatever comes in.
func.func @layer_norm(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %gain = mp.constant dense<[1.0, 2.0, 3.0, -4.0]> : tensor<4xf32>
  %bias = mp.constant dense<[0.0, 0.0, 0.0, 1.0]> : tensor<4xf32>
  // expected-remark @below {{[-1.73205, 1.73205] norm(1) <= 2}}
  %0 = mp.layer_norm %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{#0: {1x4} [-1.73205, 1.73205] [-3.46411, 3.46411] [-5.19616, 5.19616] [-5.92822, 7.92822] norm(1) <= 9.00001}}
  // expected-remark @below {{#1: [-10, 10]}}
  // expected-remark @below {{#2: [0.0999998, 316.228]}}
  %1:3 = mp.layer_norm %x scale %gain bias %bias : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  // expected-remark @below {{{1x4} [-2, 2] [-4, 4] [-6.00001, 6.00001] [-8.00001, 8.00001] norm(1) <= 8.00001}}
  %2 = mp.rms_norm %x scale %gain : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %1#0 : tensor<2x4xf32>
}

// -----

// The epsilon holds small values down; signs survive where no mean is taken.
func.func @epsilon(%x: tensor<2x1024xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0e-4 : f64}}) -> tensor<2x1024xf32> {
  // expected-remark @below {{[-0.0316247, 0.0316247] norm(1) <= 32.002}}
  %0 = mp.layer_norm %x : (tensor<2x1024xf32>) -> tensor<2x1024xf32>
  // expected-remark @below {{[0, 0.0316228] norm(1) <= 32.002}}
  %1 = mp.rms_norm %x : (tensor<2x1024xf32>) -> tensor<2x1024xf32>
  // Without one a row of zeros is 0 / 0.
  // expected-remark @below {{[0, inf] nan +inf -inf}}
  %2 = mp.rms_norm %x {epsilon = 0.0 : f64} : (tensor<2x1024xf32>) -> tensor<2x1024xf32>
  return %0 : tensor<2x1024xf32>
}

// -----

// 1024 squares of up to 500 overflow in FP16, not in FP32.
func.func @accumulator(%x: tensor<4x1024xf16> {mp.assume = {lo = -500.0 : f64, hi = 500.0 : f64}}) -> tensor<4x1024xf16> {
  // expected-remark @below {{nan}}
  %0 = mp.rms_norm %x {stash_type = f16} : (tensor<4x1024xf16>) -> tensor<4x1024xf16>
  // expected-remark @below {{[-32.002, 32.002] norm(1) <= 32.002}}
  %1 = mp.rms_norm %x : (tensor<4x1024xf16>) -> tensor<4x1024xf16>
  return %0 : tensor<4x1024xf16>
}

// -----

// Infinite operands make the row NaN.
func.func @infinite(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = mp.opaque "com.acme::Foo"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{nan norm(1) <= 2}}
  %1 = mp.layer_norm %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

func.func @positions(%x: tensor<2x4x8x8xf32>, %unknown: tensor<?x4x?x?xf32>) -> tensor<2x4x8x8xf32> {
  %gain = mp.constant dense<[1.0, 2.0, 3.0, -4.0]> : tensor<4xf32>
  %bias = mp.constant dense<[0.0, 0.0, 0.0, 1.0]> : tensor<4xf32>
  // sqrt(63) and sqrt(127), by channel.
  // expected-remark @below {{{1x4x1x1} [-7.9373, 7.9373] [-15.8746, 15.8746] [-23.8119, 23.8119] [-30.7492, 32.7492]}}
  %0 = mp.instance_norm %x scale %gain bias %bias : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  // A position's channels are parts of two groups of 128.
  // expected-remark @below {{{1x4x1x1} [-11.2696, 11.2696] [-22.5391, 22.5391] [-33.8087, 33.8087] [-44.0782, 46.0782] norm(1) <= 65.0005}}
  %1 = mp.group_norm %x scale %gain bias %bias {num_groups = 2} : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  // A row of unknown length.
  // expected-remark @below {{[-2560, 2560]}}
  %2 = mp.instance_norm %unknown : (tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
  return %0 : tensor<2x4x8x8xf32>
}
