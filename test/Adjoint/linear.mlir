// RUN: mpopt-opt %s --mp-differentiate="wrt=inputs" | FileCheck %s

// CHECK-LABEL: func.func @linear
// CHECK: %[[V0:.*]] = mp.matmul %arg3, %arg1 : (tensor<2x5x3xf32>, tensor<3x4xf32>) -> tensor<2x5x4xf32>
// CHECK: %[[V1:.*]] = mp.constant dense<[-1, 3]> : tensor<2xi64>
// CHECK: %[[V2:.*]] = mp.reshape %arg3, %[[V1]] {allow_zero} : (tensor<2x5x3xf32>, tensor<2xi64>) -> tensor<10x3xf32>
// CHECK: %[[V3:.*]] = mp.constant dense<[-1, 4]> : tensor<2xi64>
// CHECK: %[[V4:.*]] = mp.reshape %arg0, %[[V3]] {allow_zero} : (tensor<2x5x4xf32>, tensor<2xi64>) -> tensor<10x4xf32>
// CHECK: %[[V5:.*]] = mp.gemm %[[V2]], %[[V4]] {trans_a = true} : (tensor<10x3xf32>, tensor<10x4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V6:.*]] = mp.reduce_sum %arg3 {axes = array<i64: 0, 1>} : (tensor<2x5x3xf32>) -> tensor<3xf32>
// CHECK: return %[[V7:.*]], %[[V0]], %[[V5]], %[[V6]] : tensor<2x5x3xf32>, tensor<2x5x4xf32>, tensor<3x4xf32>, tensor<3xf32>
func.func @linear(%x: tensor<2x5x4xf32> {mp.name = "x"}, %w: tensor<3x4xf32> {mp.name = "w"}, %b: tensor<3xf32> {mp.name = "b"}) -> tensor<2x5x3xf32> {
  %0 = mp.linear %x, %w bias %b : (tensor<2x5x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<2x5x3xf32>
  return %0 : tensor<2x5x3xf32>
}

// A batch of matrices times one: the gradient of the one is summed.
// CHECK-LABEL: func.func @batch
// CHECK: %[[V0:.*]] = mp.constant dense<[-1, 4]> : tensor<2xi64>
// CHECK: %[[V1:.*]] = mp.reshape %arg0, %[[V0]] {allow_zero} : (tensor<?x5x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
// CHECK: %[[V2:.*]] = mp.constant dense<[-1, 3]> : tensor<2xi64>
// CHECK: %[[V3:.*]] = mp.reshape %arg2, %[[V2]] {allow_zero} : (tensor<?x5x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
// CHECK: %[[V4:.*]] = mp.gemm %[[V1]], %[[V3]] {trans_a = true} : (tensor<?x4xf32>, tensor<?x3xf32>) -> tensor<4x3xf32>
// CHECK: %[[V5:.*]] = mp.matmul %arg2, %arg1 {trans_b = true} : (tensor<?x5x3xf32>, tensor<4x3xf32>) -> tensor<?x5x4xf32>
// CHECK: return %[[V6:.*]], %[[V5]], %[[V4]] : tensor<?x5x3xf32>, tensor<?x5x4xf32>, tensor<4x3xf32>
func.func @batch(%x: tensor<?x5x4xf32> {mp.name = "x"}, %w: tensor<4x3xf32> {mp.name = "w"}) -> tensor<?x5x3xf32> {
  %0 = mp.matmul %x, %w : (tensor<?x5x4xf32>, tensor<4x3xf32>) -> tensor<?x5x3xf32>
  return %0 : tensor<?x5x3xf32>
}

// CHECK-LABEL: func.func @conv
// CHECK: %[[V0:.*]], %[[V1:.*]], %[[V2:.*]] = mp.conv_grad %arg2, %arg0, %arg1 {pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<2x4x4x4xf16>, tensor<2x3x8x8xf16>, tensor<4x3x3x3xf16>) -> (tensor<2x3x8x8xf16>, tensor<4x3x3x3xf16>, tensor<4xf16>)
// CHECK: return %[[V3:.*]], %[[V0]], %[[V1]] : tensor<2x4x4x4xf16>, tensor<2x3x8x8xf16>, tensor<4x3x3x3xf16>
func.func @conv(%x: tensor<2x3x8x8xf16> {mp.name = "x"}, %w: tensor<4x3x3x3xf16> {mp.name = "w"}) -> tensor<2x4x4x4xf16> {
  %0 = mp.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>} : (tensor<2x3x8x8xf16>, tensor<4x3x3x3xf16>) -> tensor<2x4x4x4xf16>
  return %0 : tensor<2x4x4x4xf16>
}

// A label that only one operand has stands for a sum.
// CHECK-LABEL: func.func @einsum
// CHECK: %[[V0:.*]] = mp.constant dense<1.000000e+00> : tensor<2xf32>
// CHECK: %[[V1:.*]] = mp.einsum %arg2, %arg1, %[[V0]] {equation = "k,jk,i->ij"} : (tensor<4xf32>, tensor<3x4xf32>, tensor<2xf32>) -> tensor<2x3xf32>
// CHECK: %[[V2:.*]] = mp.einsum %arg2, %arg0 {equation = "k,ij->jk"} : (tensor<4xf32>, tensor<2x3xf32>) -> tensor<3x4xf32>
// CHECK: return %[[V3:.*]], %[[V1]], %[[V2]] : tensor<4xf32>, tensor<2x3xf32>, tensor<3x4xf32>
func.func @einsum(%x: tensor<2x3xf32> {mp.name = "x"}, %y: tensor<3x4xf32> {mp.name = "y"}) -> tensor<4xf32> {
  %0 = mp.einsum %x, %y {equation = "ij,jk->k"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
