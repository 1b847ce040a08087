// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// y has the norm 2; w g is (1, 1, 1, 1), so |w x| <= 2 * 2, where the largest
// gain would allow 2 * 10 * ‖w‖ = 20. The bias adds its own product.
func.func @fused(%x: tensor<2x4xf32>) {
  %g = mp.constant dense<[10.0, 1.0, 1.0, 1.0]> : tensor<4xf32>
  %b = mp.constant dense<[10.0, 0.0, 0.0, 0.0]> : tensor<4xf32>
  %w = mp.constant dense<[[0.1], [1.0], [1.0], [1.0]]> : tensor<4x1xf32>
  %0 = mp.rms_norm %x scale %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{[-4.000}}
  %1 = mp.matmul %0, %w : (tensor<2x4xf32>, tensor<4x1xf32>) -> tensor<2x1xf32>
  %2 = mp.layer_norm %x scale %g bias %b : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{[-3.000}}
  %3 = mp.matmul %2, %w : (tensor<2x4xf32>, tensor<4x1xf32>) -> tensor<2x1xf32>
  return
}

// -----

// A gain along another axis says nothing of the features.
func.func @other_axis(%x: tensor<4x4xf32>, %g: tensor<4x1xf32> {mp.assume = {lo = 1.0 : f64, hi = 10.0 : f64}}) {
  %w = mp.constant dense<[[0.1], [1.0], [1.0], [1.0]]> : tensor<4x1xf32>
  %0 = mp.rms_norm %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = mp.mul %0, %g : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  // expected-remark @below {{[-34.6988, 34.6988]}}
  %2 = mp.matmul %1, %w : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  return
}
