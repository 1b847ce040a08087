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
