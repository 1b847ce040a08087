// RUN: mpopt-opt %s --split-input-file --mp-differentiate="wrt=all mark" --mp-print-gradients -o /dev/null 2>&1 | FileCheck %s

// Losses, whose targets are independent or have been learnt.

// Even probabilities of 10 classes, 32 rows:
// E g^2 = (0.9^2 / 10 + 0.9 * 0.1^2) / 32^2.
// CHECK: rms 0.009375,
// CHECK: = mp.cross_entropy_grad
#s = {mean = 0.0 : f64, std = 0.01 : f64, lo = -0.06 : f64, hi = 0.06 : f64, source = "option"}
func.func @independent(
    %new: tensor<32x10xf32> {mp.name = "new", mp.assume = #s},
    %t: tensor<32xi64> {mp.name = "t"}) -> tensor<f32> {
  %l = mp.cross_entropy %new, %t : (tensor<32x10xf32>, tensor<32xi64>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Learnt: 2 L^2 / ((1 + L)(1 + 2 L)) = 0.01515 of the target's class, which is
// one of ten, and a tenth of that squared and shared out among the others.
// CHECK: rms 0.00127,
// CHECK: = mp.cross_entropy_grad
#s = {mean = 0.0 : f64, std = 0.01 : f64, lo = -0.06 : f64, hi = 0.06 : f64, source = "option"}
func.func @learnt(
    %learnt: tensor<32x10xf32> {mp.name = "learnt", mp.assume = #s},
    %t: tensor<32xi64> {mp.name = "t"}) -> tensor<f32> attributes {mp.loss = ["loss"], mp.loss_value = 0.1 : f64} {
  %l = mp.cross_entropy %learnt, %t : (tensor<32x10xf32>, tensor<32xi64>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// 2 (x - t) / 32, where x - t has variance 2: 0.0884, less what 33 points of a
// normal distribution lack.
// CHECK: rms 0.08{{[78]}}
// CHECK: = mp.mse_loss_grad
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @mse(
    %far: tensor<8x4xf32> {mp.name = "far", mp.assume = #n},
    %t: tensor<8x4xf32> {mp.assume = #n}) -> tensor<f32> {
  %l = mp.mse_loss %far, %t : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A loss of 1/4 is the mean square of x - t: 2 / 2 / 32, nearly as above.
// CHECK: rms 0.031
// CHECK: = mp.mse_loss_grad
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @mse_value(
    %near: tensor<8x4xf32> {mp.name = "near", mp.assume = #n},
    %t: tensor<8x4xf32> {mp.assume = #n}) -> tensor<f32> attributes {mp.loss = ["loss"], mp.loss_value = 0.25 : f64} {
  %l = mp.mse_loss %near, %t : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
