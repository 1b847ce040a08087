// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// tanh states are at most 1; relu states grow with the steps.
func.func @rnn(%x: tensor<3x1x2xf32>, %unknown: tensor<?x1x2xf32>) -> tensor<3x1x1x2xf32> {
  %w = mp.constant dense<1.0> : tensor<1x2x2xf32>
  %r = mp.constant dense<0.5> : tensor<1x2x2xf32>
  // expected-remark @below {{#0: {1x1x1x2} [-1, 1]}}
  // expected-remark @below {{#1: {1x1x2} [-1, 1]}}
  %0:2 = mp.rnn %x, %w, %r {hidden_size = 2 : i64, activations = ["Tanh"]} : (tensor<3x1x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> (tensor<3x1x1x2xf32>, tensor<1x1x2xf32>)
  // Three steps of 20 each.
  // expected-remark @below {{#0: {1x1x1x2} [0, 60.0}}
  // expected-remark @below {{#1: {1x1x2} [0, 60.0}}
  %1:2 = mp.rnn %x, %w, %r {hidden_size = 2 : i64, activations = ["Relu"]} : (tensor<3x1x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> (tensor<3x1x1x2xf32>, tensor<1x1x2xf32>)
  // No bound without the number of steps, but for a clip.
  // expected-remark @below {{#0: {1x1x1x2} [0, inf]}}
  // expected-remark @below {{#1: {1x1x2} [0, inf]}}
  %2:2 = mp.rnn %unknown, %w, %r {hidden_size = 2 : i64, activations = ["Relu"]} : (tensor<?x1x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> (tensor<?x1x1x2xf32>, tensor<1x1x2xf32>)
  // expected-remark @below {{#0: {1x1x1x2} [0, 7.00001]}}
  // expected-remark @below {{#1: {1x1x2} [0, 7.00001]}}
  %3:2 = mp.rnn %unknown, %w, %r {hidden_size = 2 : i64, activations = ["Relu"], clip = 7.0 : f64} : (tensor<?x1x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> (tensor<?x1x1x2xf32>, tensor<1x1x2xf32>)
  return %0#0 : tensor<3x1x1x2xf32>
}

// -----

// The cell grows by 1 a step; gates that are never open for long hold it.
func.func @lstm(%x: tensor<3x1x2xf32>, %small: tensor<?x1x2xf32> {mp.assume = {lo = -0.25 : f64, hi = 0.25 : f64}}) -> tensor<3x1x1x2xf32> {
  %w = mp.constant dense<1.0> : tensor<1x8x2xf32>
  %r = mp.constant dense<0.25> : tensor<1x8x2xf32>
  // expected-remark @below {{#0: {1x1x1x2} [-0.99505}}
  // expected-remark @below {{#1: {1x1x2} [-0.99505}}
  // expected-remark @below {{#2: {1x1x2} [-3.0000}}
  %0:3 = mp.lstm %x, %w, %r {hidden_size = 2 : i64, activations = ["Sigmoid", "Tanh", "Tanh"]} : (tensor<3x1x2xf32>, tensor<1x8x2xf32>, tensor<1x8x2xf32>) -> (tensor<3x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  // F = sigmoid(1) at most: F G / (1 - F), G = tanh(1).
  // expected-remark @below {{#2: {1x1x2} [-2.070}}
  // expected-remark @below {{#1: {1x1x2} [-0.70}}
  // expected-remark @below {{#0: {1x1x1x2} [-0.70}}
  %1:3 = mp.lstm %small, %w, %r {hidden_size = 2 : i64, activations = ["Sigmoid", "Tanh", "Tanh"]} : (tensor<?x1x2xf32>, tensor<1x8x2xf32>, tensor<1x8x2xf32>) -> (tensor<?x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  return %0#0 : tensor<3x1x1x2xf32>
}

// -----

// A convex combination of numbers in [-1, 1] and the state before.
func.func @gru(%x: tensor<3x1x2xf32>, %h: tensor<1x1x2xf32> {mp.assume = {lo = -2.0 : f64, hi = 0.5 : f64}}) -> tensor<3x1x1x2xf32> {
  %w = mp.constant dense<1.0> : tensor<1x6x2xf32>
  %r = mp.constant dense<0.5> : tensor<1x6x2xf32>
  // expected-remark @below {{#0: {1x1x1x2} [-1.00001, 1.00001]}}
  // expected-remark @below {{#1: {1x1x2} [-1.00001, 1.00001]}}
  %0:2 = mp.gru %x, %w, %r {hidden_size = 2 : i64, activations = ["Sigmoid", "Tanh"]} : (tensor<3x1x2xf32>, tensor<1x6x2xf32>, tensor<1x6x2xf32>) -> (tensor<3x1x1x2xf32>, tensor<1x1x2xf32>)
  // expected-remark @below {{#0: {1x1x1x2} [-2.00002, 1.00002]}}
  // expected-remark @below {{#1: {1x1x2} [-2.00002, 1.00002]}}
  %1:2 = mp.gru %x, %w, %r initial %h {hidden_size = 2 : i64, activations = ["Sigmoid", "Tanh"]} : (tensor<3x1x2xf32>, tensor<1x6x2xf32>, tensor<1x6x2xf32>, tensor<1x1x2xf32>) -> (tensor<3x1x1x2xf32>, tensor<1x1x2xf32>)
  // Of a cell whose gate is none nothing is known.
  // expected-remark @below {{#0: [-inf, inf] nan +inf -inf}}
  // expected-remark @below {{#1: [-inf, inf] nan +inf -inf}}
  %2:2 = mp.gru %x, %w, %r {hidden_size = 2 : i64, activations = ["Relu", "Tanh"]} : (tensor<3x1x2xf32>, tensor<1x6x2xf32>, tensor<1x6x2xf32>) -> (tensor<3x1x1x2xf32>, tensor<1x1x2xf32>)
  return %0#0 : tensor<3x1x1x2xf32>
}

// -----

// Nothing is known of other activations, whatever bounds they have, nor of
// numbers that are not clear to whom they belong.
func.func @others(%x: tensor<3x1x2xf32>) {
  %w = mp.constant dense<1.0> : tensor<1x2x2xf32>
  // expected-remark @below {{#0: [-inf, inf] nan +inf -inf}}
  // expected-remark @below {{#1: [-inf, inf] nan +inf -inf}}
  %0:2 = mp.rnn %x, %w, %w {hidden_size = 2 : i64, activations = ["Softsign"]} : (tensor<3x1x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> (tensor<3x1x1x2xf32>, tensor<1x1x2xf32>)
  // expected-remark @below {{#0: {1x1x1x2} [0, 1]}}
  // expected-remark @below {{#1: {1x1x2} [0, 1]}}
  %1:2 = mp.rnn %x, %w, %w {hidden_size = 2 : i64, activations = ["HardSigmoid"], activation_alpha = array<f64: 0.25>, activation_beta = array<f64: 0.5>} : (tensor<3x1x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> (tensor<3x1x1x2xf32>, tensor<1x1x2xf32>)
  // expected-remark @below {{#0: [-inf, inf] nan +inf -inf}}
  // expected-remark @below {{#1: [-inf, inf] nan +inf -inf}}
  %2:2 = mp.rnn %x, %w, %w {hidden_size = 2 : i64, activations = ["Relu"], activation_alpha = array<f64: 0.25>} : (tensor<3x1x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> (tensor<3x1x1x2xf32>, tensor<1x1x2xf32>)
  return
}

// -----

func.func @cells(%x: tensor<1x2xf32>, %h: tensor<1x2xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64}}, %c: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w1 = mp.constant dense<1.0> : tensor<2x2xf32>
  %w3 = mp.constant dense<1.0> : tensor<6x2xf32>
  %w4 = mp.constant dense<1.0> : tensor<8x2xf32>
  // expected-remark @below {{[0, 22.0}}
  %0 = mp.rnn_cell %x, %h, %w1, %w1 {activation = "relu"} : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  // expected-remark @below {{#0: [-1, 1]}}
  // expected-remark @below {{#1: [-11, 11]}}
  %1:2 = mp.lstm_cell %x, %h, %c, %w4, %w4 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>)
  // expected-remark @below {{[-1, 1]}}
  %2 = mp.gru_cell %x, %h, %w3, %w3 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}

// -----

// Unit by unit: relu keeps the states at or above 0, so the second unit never
// grows, nor does the first, which it feeds. The weights are found behind the
// changes of their layout.
func.func @units(%x: tensor<8x1x1xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64}}) -> tensor<8x1x1x2xf32> {
  %first = mp.constant dense<[[1.0]]> : tensor<1x1xf32>
  %second = mp.constant dense<[[-1.0], [5.0]]> : tensor<2x1xf32>
  %cut = mp.slice %second {axes = array<i64: 0>, starts = array<i64: 0>, ends = array<i64: 1>} : (tensor<2x1xf32>) -> tensor<1x1xf32>
  %both = mp.concat %first, %cut {axis = 0 : i64} : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  %w = mp.unsqueeze %both {axes = array<i64: 0>} : (tensor<2x1xf32>) -> tensor<1x2x1xf32>
  %r = mp.constant dense<[[[-1.0, 4.0], [0.0, -4.0]]]> : tensor<1x2x2xf32>
  // expected-remark @below {{#0: {1x1x1x2} [0, 1.00001] [0, 1.00001]}}
  // expected-remark @below {{#1: {1x1x2} [0, 1.00001] [0, 1.00001]}}
  %0:2 = mp.rnn %x, %w, %r {hidden_size = 2 : i64, activations = ["Relu"]} : (tensor<8x1x1xf32>, tensor<1x2x1xf32>, tensor<1x2x2xf32>) -> (tensor<8x1x1x2xf32>, tensor<1x1x2xf32>)
  return %0#0 : tensor<8x1x1x2xf32>
}
