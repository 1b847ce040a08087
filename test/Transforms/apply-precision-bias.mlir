// RUN: mpopt-opt %s --mp-apply-precision=mode=autocast-fp16 | FileCheck %s

// A bias that the exporter wrote as an op of its own belongs to its product.

// CHECK-LABEL: @conv
func.func @conv(%x: tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = mp.constant dense<1.0> : tensor<4x1x3x3xf32>
  %b = mp.constant dense<1.0> : tensor<4x1x1xf32>
  %0 = mp.conv %x, %w {pads = array<i64: 1, 1, 1, 1>}
      : (tensor<1x1x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32>
  // CHECK: mp.add {{.*}} -> tensor<1x4x8x8xf16>
  %1 = mp.add %0, %b : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32>
  return %1 : tensor<1x4x8x8xf32>
}

// CHECK-LABEL: @through_views
func.func @through_views(%x: tensor<2x8xf32>) -> tensor<2x4x3xf32> {
  %w = mp.constant dense<1.0> : tensor<8x12xf32>
  %b = mp.constant dense<1.0> : tensor<4x3xf32>
  %shape = mp.constant dense<[2, 4, 3]> : tensor<3xi64>
  %0 = mp.matmul %x, %w : (tensor<2x8xf32>, tensor<8x12xf32>) -> tensor<2x12xf32>
  %1 = mp.reshape %0, %shape : (tensor<2x12xf32>, tensor<3xi64>) -> tensor<2x4x3xf32>
  // CHECK: mp.add {{.*}} -> tensor<2x4x3xf16>
  %2 = mp.add %1, %b : (tensor<2x4x3xf32>, tensor<4x3xf32>) -> tensor<2x4x3xf32>
  return %2 : tensor<2x4x3xf32>
}

// Another count of elements, or a product that others read: no bias.
// CHECK-LABEL: @no_bias
func.func @no_bias(%x: tensor<2x8xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = mp.constant dense<1.0> : tensor<8x4xf32>
  %p = mp.constant dense<1.0> : tensor<2x4xf32>
  %b = mp.constant dense<1.0> : tensor<4xf32>
  %0 = mp.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  // CHECK: mp.add {{.*}} -> tensor<2x4xf32>
  %1 = mp.add %0, %p : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = mp.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  // CHECK: mp.add {{.*}} -> tensor<2x4xf32>
  %3 = mp.add %2, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %1, %2, %3 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
