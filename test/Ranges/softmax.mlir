// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// Rows sum to 1; operands that differ by 2 at most leave less than [0, 1].
func.func @spread(%x: tensor<2x4xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64}}) -> tensor<2x4xf32> {
  // 1 / (1 + 3 e^2) and 1 / (1 + 3 e^-2), then 1 / (1 + e^2) and 1 / (1 + e^-2).
  // expected-remark @below {{[0.0431644, 0.711237] sum(1) in [0.999997, 1]}}
  %0 = mp.softmax %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{[0.119203, 0.8808] sum(0) in}}
  %1 = mp.softmin %x {axis = 0} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{[-3.14276, -0.340734]}}
  %2 = mp.log_softmax %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // The whole is one row of 8.
  // expected-remark @below {{[0.0189668, 0.513521]}}
  %3 = mp.softmax %x {axis = 0, flatten} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{[0, 1] integral sum(1) in [1, 1]}}
  %4 = mp.hardmax %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// Elements told apart: the largest one takes most.
func.func @elements() -> tensor<1x3xf32> {
  %x = mp.constant dense<[[0.0, 1.0, 8.0]]> : tensor<1x3xf32>
  // expected-remark @below {{{1x3} [0.000335043, 0.000335046] [0.000910742, 0.00091075] [0.99875, 0.998759] sum(1)}}
  %0 = mp.softmax %x : (tensor<1x3xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}

// -----

// Rows of unknown length, and of unknown rank.
func.func @unknown(%x: tensor<2x?xf32>, %y: tensor<*xf32>) -> tensor<2x?xf32> {
  // expected-remark @below {{[0, 1]}}
  %0 = mp.softmax %x : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // expected-remark @below {{[0, 1]}}
  %1 = mp.softmax %y : (tensor<*xf32>) -> tensor<*xf32>
  return %0 : tensor<2x?xf32>
}

// -----

// A row of -Inf is 0 / 0.
func.func @masked(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %all = mp.constant dense<0xFF800000> : tensor<2x2xf32>
  // expected-remark @below {{nan}}
  %0 = mp.softmax %all : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // expected-remark @below {{-inf}}
  %1 = mp.log_softmax %all : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

// What is masked is 0, however close the other elements are.
func.func @masked_elements(%keep: tensor<2x3xi1>, %x: tensor<2x3xf32> {mp.assume = {lo = 0.0 : f64, hi = 0.1 : f64}}, %s: tensor<2x2xf32> {mp.assume = {lo = 0.0 : f64, hi = 0.1 : f64}}) -> tensor<2x3xf32> {
  %out = mp.constant dense<0xFF800000> : tensor<f32>
  %m = mp.where %keep, %x, %out : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  // expected-remark @below {{[0, 1}}
  %0 = mp.softmax %m : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-remark @below {{-inf}}
  %1 = mp.log %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %causal = mp.constant dense<[[0.0, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  %a = mp.add %s, %causal : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // expected-remark @below {{[0, 1}}
  %2 = mp.softmax %a : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// A constant condition that keeps an element of each row leaves no row of -Inf, whatever
// stands between it and the softmax.
#s = {lo = -5.0 : f64, hi = 5.0 : f64}
func.func @kept_rows(%x: tensor<2x3x3xf32> {mp.assume = #s}) {
  %out = mp.constant dense<0xFF800000> : tensor<f32>
  %scale = mp.constant dense<0.5> : tensor<f32>
  %keep = mp.constant dense<[[[true, false, false], [true, true, false], [true, true, true]]]> : tensor<1x3x3xi1>
  %m = mp.where %keep, %x, %out : (tensor<1x3x3xi1>, tensor<2x3x3xf32>, tensor<f32>) -> tensor<2x3x3xf32>
  %scaled = mp.mul %scale, %m : (tensor<f32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  // expected-remark @below {{[0, 1] ... sum(2)}}
  %0 = mp.softmax %scaled : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  // Only the elements that are true are kept, here those beside the diagonal.
  %drop = mp.logical_not %keep : (tensor<1x3x3xi1>) -> tensor<1x3x3xi1>
  %other = mp.where %drop, %x, %out : (tensor<1x3x3xi1>, tensor<2x3x3xf32>, tensor<f32>) -> tensor<2x3x3xf32>
  // expected-remark @below {{[0, 1] ... nan sum(2)}}
  %1 = mp.softmax %other : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  // Each of two masks keeps an element of the last row, but not the same one.
  %first = mp.constant dense<[[[0.0, 0xFF800000, 0xFF800000]]]> : tensor<1x1x3xf32>
  %last = mp.constant dense<[[[0xFF800000, 0xFF800000, 0.0]]]> : tensor<1x1x3xf32>
  %a = mp.add %x, %first : (tensor<2x3x3xf32>, tensor<1x1x3xf32>) -> tensor<2x3x3xf32>
  // expected-remark @below {{[0, 1] sum(2)}}
  %2 = mp.softmax %a : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %b = mp.add %a, %last : (tensor<2x3x3xf32>, tensor<1x1x3xf32>) -> tensor<2x3x3xf32>
  // expected-remark @below {{[0, 1] nan sum(2)}}
  %3 = mp.softmax %b : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  return
}
