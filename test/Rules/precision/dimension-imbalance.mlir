// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-dimension-imbalance --mp-emit-findings

// Features of different units.
func.func @fires_f16(%x: tensor<8x4xf16>) -> tensor<8x4xf16> {
  %units = mp.constant dense<[1.0, 0.01, 2.0e4, 1.0]> : tensor<4xf16>
  // expected-remark-re @below {{3 of 4 channels (axis 1) are smaller than the largest by a factor of 10000 and more: typical magnitudes 0.01{{[0-9]*}} and 20000 [MP305 likely]}}
  %0 = mp.mul %x, %units : (tensor<8x4xf16>, tensor<4xf16>) -> tensor<8x4xf16>
  // Passed on, and not said again.
  %1 = mp.add %0, %x : (tensor<8x4xf16>, tensor<8x4xf16>) -> tensor<8x4xf16>
  return %1 : tensor<8x4xf16>
}

// -----

// Digits are lost.
func.func @subnormal_f16(%x: tensor<8x4xf16>) -> tensor<8x4xf16> {
  %units = mp.constant dense<[1.0e-5, 1.0e-5, 20.0, 1.0]> : tensor<4xf16>
  // expected-warning-re @below {{2 of 4 channels (axis 1) {{.*}}, the small ones below 6.10352e-05, where f16 loses digits [MP305 likely]}}
  %0 = mp.mul %x, %units : (tensor<8x4xf16>, tensor<4xf16>) -> tensor<8x4xf16>
  return %0 : tensor<8x4xf16>
}

// -----

// The channels of an image, behind a convolution.
func.func @fires_bf16(%x: tensor<1x4x8x8xbf16>) -> tensor<1x4x8x8xbf16> {
  %w = mp.constant dense<[[[[1.0]], [[0.0]], [[0.0]], [[0.0]]], [[[0.0]], [[1.0]], [[0.0]], [[0.0]]], [[[0.0]], [[0.0]], [[1.0e5]], [[0.0]]], [[[0.0]], [[0.0]], [[0.0]], [[1.0e5]]]]> : tensor<4x4x1x1xbf16>
  // expected-remark-re @below {{2 of 4 channels (axis 1) {{.*}} typical magnitudes 1 and 9{{[0-9]*}} [MP305 likely]}}
  %0 = mp.conv %x, %w : (tensor<1x4x8x8xbf16>, tensor<4x4x1x1xbf16>) -> tensor<1x4x8x8xbf16>
  return %0 : tensor<1x4x8x8xbf16>
}

// -----

// Of a size; one dead channel of eight; elements of a row; axis 0; FP32.
func.func @clean(%x: tensor<8x4xf16>, %y: tensor<8x8xf16>, %r: tensor<4xf16>, %b: tensor<8x4xbf16>, %w: tensor<8x4xf32>) {
  %near = mp.constant dense<[1.0, 0.1, 900.0, 1.0]> : tensor<4xf16>
  %0 = mp.mul %x, %near : (tensor<8x4xf16>, tensor<4xf16>) -> tensor<8x4xf16>
  %dead = mp.constant dense<[1.0, 1.0e-6, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]> : tensor<8xf16>
  %1 = mp.mul %y, %dead : (tensor<8x8xf16>, tensor<8xf16>) -> tensor<8x8xf16>
  %units = mp.constant dense<[1.0, 0.01, 2.0e4, 1.0]> : tensor<4xf16>
  %2 = mp.mul %r, %units : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %rows = mp.constant dense<[[1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0e5], [1.0]]> : tensor<8x1xbf16>
  %3 = mp.mul %b, %rows : (tensor<8x4xbf16>, tensor<8x1xbf16>) -> tensor<8x4xbf16>
  %wide = mp.constant dense<[1.0, 0.01, 2.0e4, 1.0]> : tensor<4xf32>
  %4 = mp.mul %w, %wide : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  return
}

// -----

module attributes {mp.thresholds = {"imbalance-ratio" = 1.0e7 : f64}} {
  func.func @set(%x: tensor<8x4xf16>) -> tensor<8x4xf16> {
    %units = mp.constant dense<[1.0, 0.01, 2.0e4, 1.0]> : tensor<4xf16>
    %0 = mp.mul %x, %units : (tensor<8x4xf16>, tensor<4xf16>) -> tensor<8x4xf16>
    return %0 : tensor<8x4xf16>
  }
}
