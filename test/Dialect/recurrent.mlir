// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @lstm
func.func @lstm(%x: tensor<5x?x3xf16>, %w: tensor<1x16x3xf16>, %r: tensor<1x16x4xf16>, %b: tensor<1x32xf16>, %h: tensor<1x?x4xf16>) {
  // CHECK: mp.lstm %arg0, %arg1, %arg2 bias %arg3 initial %arg4 initial_c %arg4
  // CHECK-SAME: -> (tensor<5x1x?x4xf16>, tensor<1x?x4xf16>, tensor<1x?x4xf16>)
  %0:3 = mp.lstm %x, %w, %r bias %b initial %h initial_c %h {hidden_size = 4 : i64, activations = ["Sigmoid", "Tanh", "Tanh"]} : (tensor<5x?x3xf16>, tensor<1x16x3xf16>, tensor<1x16x4xf16>, tensor<1x32xf16>, tensor<1x?x4xf16>, tensor<1x?x4xf16>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// CHECK-LABEL: @both_ways
func.func @both_ways(%x: tensor<5x2x3xf32>, %w: tensor<2x16x3xf32>, %r: tensor<2x16x4xf32>) {
  // CHECK: mp.lstm {{.*}} -> (tensor<5x2x2x4xf32>, tensor<5x2x4xf32>, tensor<5x2x4xf32>)
  %0:3 = mp.lstm %x, %w, %r {hidden_size = 4 : i64, batch_first = true, direction = "bidirectional", activations = ["Sigmoid", "Tanh", "Tanh", "Sigmoid", "Tanh", "Tanh"]} : (tensor<5x2x3xf32>, tensor<2x16x3xf32>, tensor<2x16x4xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// CHECK-LABEL: @others
func.func @others(%x: tensor<5x2x3xf32>, %w: tensor<1x12x3xf32>, %r: tensor<1x12x4xf32>, %v: tensor<1x4x3xf32>, %q: tensor<1x4x4xf32>, %l: tensor<2xi32>) {
  // CHECK: mp.gru %arg0, %arg1, %arg2 lengths %arg5 {{.*}}linear_before_reset = true{{.*}} -> (tensor<5x1x2x4xf32>, tensor<1x2x4xf32>)
  %0:2 = mp.gru %x, %w, %r lengths %l {hidden_size = 4 : i64, activations = ["Sigmoid", "Tanh"], linear_before_reset = true} : (tensor<5x2x3xf32>, tensor<1x12x3xf32>, tensor<1x12x4xf32>, tensor<2xi32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.rnn %arg0, %arg3, %arg4 {activations = ["Relu"], clip = 5.000000e+00 : f64, direction = "reverse", hidden_size = 4 : i64} : {{.*}} -> (tensor<5x1x2x4xf32>, tensor<1x2x4xf32>)
  %1:2 = mp.rnn %x, %v, %q {hidden_size = 4 : i64, activations = ["Relu"], direction = "reverse", clip = 5.0} : (tensor<5x2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// CHECK-LABEL: @cells
func.func @cells(%x: tensor<2x3xf16>, %h: tensor<?x4xf16>, %w: tensor<16x3xf16>, %r: tensor<16x4xf16>, %b: tensor<16xf16>, %w3: tensor<12x3xf16>, %r3: tensor<12x4xf16>, %w1: tensor<4x3xf16>, %r1: tensor<4x4xf16>) {
  // CHECK: mp.lstm_cell %arg0, %arg1, %arg1, %arg2, %arg3 input_bias %arg4 : {{.*}} -> (tensor<2x4xf16>, tensor<2x4xf16>)
  %0:2 = mp.lstm_cell %x, %h, %h, %w, %r input_bias %b : (tensor<2x3xf16>, tensor<?x4xf16>, tensor<?x4xf16>, tensor<16x3xf16>, tensor<16x4xf16>, tensor<16xf16>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.gru_cell {{.*}} -> tensor<2x4xf16>
  %1 = mp.gru_cell %x, %h, %w3, %r3 : (tensor<2x3xf16>, tensor<?x4xf16>, tensor<12x3xf16>, tensor<12x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.rnn_cell {{.*}} -> tensor<2x4xf16>
  %2 = mp.rnn_cell %x, %h, %w1, %r1 {activation = "relu"} : (tensor<2x3xf16>, tensor<?x4xf16>, tensor<4x3xf16>, tensor<4x4xf16>) -> tensor<*x!mp.unknown>
  return
}
