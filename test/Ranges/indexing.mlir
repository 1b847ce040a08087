// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// Places that are known are counted: two rows get one update each, or one both.
func.func @add(%x: tensor<4x2xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64}}, %u: tensor<2x2xf32> {mp.assume = {lo = 0.0 : f64, hi = 8.0 : f64}}, %at: tensor<2x1xi64>) -> tensor<4x2xf32> {
  %apart = mp.constant dense<[[0], [2]]> : tensor<2x1xi64>
  // expected-remark @below {{[-1, 9]}}
  %0 = mp.scatter_nd %x, %apart, %u {reduction = "add"} : (tensor<4x2xf32>, tensor<2x1xi64>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %same = mp.constant dense<[[3], [3]]> : tensor<2x1xi64>
  // expected-remark @below {{[-1, 17]}}
  %1 = mp.scatter_nd %x, %same, %u {reduction = "add"} : (tensor<4x2xf32>, tensor<2x1xi64>, tensor<2x2xf32>) -> tensor<4x2xf32>
  // Of unknown ones all may meet.
  // expected-remark @below {{[-1, 17]}}
  %2 = mp.scatter_nd %x, %at, %u {reduction = "add"} : (tensor<4x2xf32>, tensor<2x1xi64>, tensor<2x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

// As many as the axis is long; nothing is known of products.
func.func @elements(%x: tensor<4x2xf16> {mp.assume = {lo = 0.0 : f64, hi = 0.0 : f64}}, %u: tensor<3x2xf16> {mp.assume = {lo = -30000.0 : f64, hi = 1.0 : f64}}, %at: tensor<3x2xi64>) -> tensor<4x2xf16> {
  // expected-remark @below {{[-90131.8, 134.836] -inf}}
  %0 = mp.scatter_elements %x, %at, %u {axis = 0 : i64, reduction = "add"} : (tensor<4x2xf16>, tensor<3x2xi64>, tensor<3x2xf16>) -> tensor<4x2xf16>
  // expected-remark @below {{[-inf, inf] nan +inf -inf}}
  %1 = mp.scatter_elements %x, %at, %u {axis = 0 : i64, reduction = "mul"} : (tensor<4x2xf16>, tensor<3x2xi64>, tensor<3x2xf16>) -> tensor<4x2xf16>
  return %0 : tensor<4x2xf16>
}

// -----

// What a comparison or a test for NaN leaves of the branch.
func.func @choice(%x: tensor<4xf32> {mp.assume = {lo = -10.0 : f64, hi = 10.0 : f64}}) -> tensor<4xf32> {
  %one = mp.constant dense<1.0> : tensor<f32>
  %low = mp.constant dense<-2.0> : tensor<f32>
  %large = mp.greater %x, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  // expected-remark @below {{[-10, 1]}}
  %0 = mp.masked_fill %x, %large, %low : (tensor<4xf32>, tensor<4xi1>, tensor<f32>) -> tensor<4xf32>
  // expected-remark @below {{[0, 3.16228] nan}}
  %root = mp.sqrt %x : (tensor<4xf32>) -> tensor<4xf32>
  %bad = mp.is_nan %root : (tensor<4xf32>) -> tensor<4xi1>
  // expected-remark-re @below {{{{^}}{{.*}}[-2, 3.16228]{{$}}}}
  %1 = mp.where %bad, %low, %root : (tensor<4xi1>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
