// RUN: mpopt-opt %s -split-input-file -verify-diagnostics

func.func @count(%g: tensor<f32>, %x: tensor<4xf32>) {
  // expected-error @below {{has 1 results for 2 wanted operands}}
  %0 = mp.mse_loss_grad %g, %x, %x {wanted = array<i64: 1, 2>} : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @range(%g: tensor<f32>, %x: tensor<4xf32>) {
  // expected-error @below {{has no operand 3, or names it out of order}}
  %0 = mp.mse_loss_grad %g, %x, %x {wanted = array<i64: 3>} : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @order(%g: tensor<f32>, %x: tensor<4xf32>) {
  // expected-error @below {{has no operand 1, or names it out of order}}
  %0:2 = mp.mse_loss_grad %g, %x, %x {wanted = array<i64: 2, 1>} : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}
