// RUN: mpopt-opt %s --mp-infer-types -split-input-file -verify-diagnostics

func.func @weights(%x: tensor<5x2x3xf32>, %w: tensor<1x12x3xf32>, %r: tensor<1x16x4xf32>) {
  // expected-error @below {{weights must be [1, 16, 3], got 'tensor<1x12x3xf32>'}}
  %0:3 = mp.lstm %x, %w, %r {hidden_size = 4 : i64, activations = ["Sigmoid", "Tanh", "Tanh"]} : (tensor<5x2x3xf32>, tensor<1x12x3xf32>, tensor<1x16x4xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// -----

func.func @activations(%x: tensor<5x2x3xf32>, %w: tensor<1x12x3xf32>, %r: tensor<1x12x4xf32>) {
  // expected-error @below {{has 1 activations, needs 2}}
  %0:2 = mp.gru %x, %w, %r {hidden_size = 4 : i64, activations = ["Sigmoid"]} : (tensor<5x2x3xf32>, tensor<1x12x3xf32>, tensor<1x12x4xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// -----

func.func @activation(%x: tensor<5x2x3xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>) {
  // expected-error @below {{unknown activation 'Sine'}}
  %0:2 = mp.rnn %x, %w, %r {hidden_size = 4 : i64, activations = ["Sine"]} : (tensor<5x2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// -----

func.func @direction(%x: tensor<5x2x3xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>) {
  // expected-error @below {{unknown direction 'foward'}}
  %0:2 = mp.rnn %x, %w, %r {hidden_size = 4 : i64, activations = ["Tanh"], direction = "foward"} : (tensor<5x2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// -----

func.func @state(%x: tensor<5x2x3xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>, %h: tensor<1x3x4xf32>) {
  // expected-error @below {{initial_h must be [1, 2, 4], got 'tensor<1x3x4xf32>'}}
  %0:2 = mp.rnn %x, %w, %r initial %h {hidden_size = 4 : i64, activations = ["Tanh"]} : (tensor<5x2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>, tensor<1x3x4xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// -----

func.func @cell(%x: tensor<2x3xf32>, %h: tensor<2x4xf32>, %w: tensor<12x3xf32>, %r: tensor<12x4xf32>) {
  // expected-error @below {{hidden weights must be [4 H, H]}}
  %0:2 = mp.lstm_cell %x, %h, %h, %w, %r : (tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<12x3xf32>, tensor<12x4xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}
