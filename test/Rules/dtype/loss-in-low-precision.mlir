// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-loss-in-low-precision --mp-emit-findings

func.func @f16(%x: tensor<4xf16>, %t: tensor<4xf16>) -> tensor<f16> {
  // expected-note @below {{is f16}}
  %p = mp.relu %x : (tensor<4xf16>) -> tensor<4xf16>
  // expected-error @below {{loss computed in f16: a batch's sum passes 65504 and small losses are 0 [MP106 certain]}}
  %l = mp.mse_loss %p, %t : (tensor<4xf16>, tensor<4xf16>) -> tensor<f16>
  return %l : tensor<f16>
}

// -----

func.func @bf16(%x: tensor<4x8xbf16>, %t: tensor<4xi64>) -> tensor<bf16> {
  // expected-note @below {{is bf16}}
  %p = mp.relu %x : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  // expected-error @below {{loss computed in bf16: 5.00 and 5.01 are the same loss}}
  %l = mp.cross_entropy %p, %t : (tensor<4x8xbf16>, tensor<4xi64>) -> tensor<bf16>
  return %l : tensor<bf16>
}

// -----

// The elements in FP32, the sum over them not.
func.func @reduction(%x: tensor<4xf32>, %t: tensor<4xf32>) -> tensor<f16> {
  // expected-note @below {{is the loss, before it was rounded}}
  %l = mp.mse_loss %x, %t {reduction = "none"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %h = mp.cast %l : (tensor<4xf32>) -> tensor<4xf16>
  // expected-error @below {{loss reduced in f16}}
  %s = mp.reduce_sum %h : (tensor<4xf16>) -> tensor<f16>
  return %s : tensor<f16>
}

// -----

// Clean: FP32, a sum that is no loss, and a forbidden op, which MP102 reports.
func.func @clean(%x: tensor<4xf32>, %h: tensor<4xf16>) {
  %0 = mp.mse_loss %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %1 = mp.reduce_sum %h : (tensor<4xf16>) -> tensor<f16>
  %2 = mp.binary_cross_entropy %h, %h {mp.category = "banned"} : (tensor<4xf16>, tensor<4xf16>) -> tensor<f16>
  return
}

// -----

// Nor is the gradient of a loss one: its predictions are behind it.
func.func @clean_gradient(%log: tensor<4x8xf16>, %t: tensor<4xi64>) -> tensor<4x8xf16> {
  %g = mp.softmax_cross_entropy_grad %log, %t : (tensor<4x8xf16>, tensor<4xi64>) -> tensor<4x8xf16>
  return %g : tensor<4x8xf16>
}
