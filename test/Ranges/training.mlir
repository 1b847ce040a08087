// RUN: mpopt-opt %s --mp-print-ranges -verify-diagnostics=only-expected

func.func @gradients(%g: tensor<4x8xf32> {mp.assume = {lo = -1.0 : f64, hi = 2.0 : f64, mean = 0.0 : f64, std = 0.5 : f64}}, %x: tensor<4x8xf32>, %y: tensor<4x8xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.1 : f64, std = 0.1 : f64}}) {
  // expected-remark @below {{[-1, 2]}}
  %0 = mp.relu_grad %g, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // A quarter at most.
  // expected-remark @below {{[-0.2525, 0.505]}}
  %1 = mp.sigmoid_grad %g, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{[-1.15, 2.3]}}
  %2 = mp.gelu_grad %g, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // A quarter of the width, and what a row's sum is off by.
  // expected-remark @below {{[-1.01172, 1.01172] norm(1) <= 1.78908}}
  %3 = mp.softmax_grad %g, %y {axis = 1 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

func.func @steps(%w: tensor<4xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.3 : f64}}, %g: tensor<4xf32> {mp.assume = {lo = -2.0 : f64, hi = 2.0 : f64, mean = 0.0 : f64, std = 0.1 : f64}}, %v: tensor<4xf32> {mp.assume = {lo = 0.0 : f64, hi = 3.0 : f64, mean = 0.0 : f64, std = 0.3 : f64}}, %scale: tensor<f32> {mp.assume = {lo = 1024.0 : f64, hi = 65536.0 : f64, mean = 65536.0 : f64, std = 0.3 : f64}}, %go: tensor<i1>, %h: tensor<4xf16>) {
  // expected-remark @below {{[-2, 2]}}
  %0 = mp.sgd %w, %g {learning_rate = 0.5 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // Gradients divided by the scale; the old weight where the step is left out.
  // expected-remark @below {{[-1.00098, 1.00098]}}
  %1 = mp.sgd %w, %g signal %go loss_scale %scale {learning_rate = 0.5 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<i1>, tensor<f32>) -> tensor<4xf32>
  // expected-remark @+2 {{#0: [-5.7, 3]}}
  // expected-remark @below {{#1: [-2, 4.7]}}
  %2, %3 = mp.momentum %w, %g states(%v) {learning_rate = 0.5 : f64, alpha = 0.9 : f64, beta = 0.5 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // The root of the second moment may be 0: epsilon decides.
  // expected-remark @+3 {{#0: [-30, 3]}}
  // expected-remark @+2 {{#1: [-0.2, 2.9]}}
  // expected-remark @below {{#2: [0, 3.01]}}
  %4, %5, %6 = mp.adam %w, %g states(%v, %v) {alpha = 0.9 : f64, beta = 0.99 : f64, epsilon = 0.1 : f64, weight_decay = 0.0 : f64, correct_bias = false} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  // Past f16's edge.
  // expected-remark @below {{[-655360, 655360] +inf -inf}}
  %7 = mp.loss_scale %h, %scale : (tensor<4xf16>, tensor<f32>) -> tensor<4xf16>
  // expected-remark @below {{[0, 4.47214]}}
  %8 = mp.global_norm %w, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  // expected-remark @below {{[1, 1] integral}}
  %9 = mp.all_finite %w, %h : (tensor<4xf32>, tensor<4xf16>) -> tensor<i1>
  return
}
