// RUN: mpopt-opt %s --mp-infer-types | FileCheck %s

// Each result has the type of the operand that it is the gradient of.
// CHECK-LABEL: func.func @wanted
func.func @wanted(%g: tensor<f32>, %x: tensor<4x8xf32>, %t: tensor<4x8xf16>, %y: tensor<2x3x4xf32>, %w: tensor<1x16x4xf32>, %r: tensor<1x16x4xf32>, %h: tensor<2x1x3x4xf32>) {
  // CHECK: mp.mse_loss_grad {{.*}} -> (tensor<4x8xf32>, tensor<4x8xf16>)
  %0:2 = mp.mse_loss_grad %g, %x, %t {wanted = array<i64: 1, 2>} : (tensor<f32>, tensor<4x8xf32>, tensor<4x8xf16>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.mse_loss_grad {{.*}} -> tensor<4x8xf16>
  %1 = mp.mse_loss_grad %g, %x, %t {wanted = array<i64: 2>} : (tensor<f32>, tensor<4x8xf32>, tensor<4x8xf16>) -> tensor<*x!mp.unknown>
  // Gradients of results that nothing uses are left out.
  // CHECK: mp.lstm_grad {{.*}} -> tensor<1x16x4xf32>
  %2 = mp.lstm_grad %h, %y, %w, %r {operandSegmentSizes = array<i32: 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0>, hidden_size = 4 : i64, activations = ["Sigmoid", "Tanh", "Tanh"], wanted = array<i64: 2>} : (tensor<2x1x3x4xf32>, tensor<2x3x4xf32>, tensor<1x16x4xf32>, tensor<1x16x4xf32>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: func.func @weights_of_four_bits
func.func @weights_of_four_bits(%g: tensor<3x8xf32>, %x: tensor<3x64xf32>, %w: tensor<8x2x16xui8>, %s: tensor<8x2xf32>) {
  // CHECK: mp.matmul_nbits_grad {{.*}} -> tensor<3x64xf32>
  %0 = mp.matmul_nbits_grad %g, %x, %w, %s {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, k = 64 : i64, n = 8 : i64, bits = 4 : i64, block_size = 32 : i64, wanted = array<i64: 1>} : (tensor<3x8xf32>, tensor<3x64xf32>, tensor<8x2x16xui8>, tensor<8x2xf32>) -> tensor<*x!mp.unknown>
  return
}
