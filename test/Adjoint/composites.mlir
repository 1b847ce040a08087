// RUN: mpopt-opt %s --mp-differentiate="wrt=inputs" | FileCheck %s

// Each has one op for its gradient, of the operands that are asked for.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[V1:.*]] = mp.softmax_grad %arg1, %[[V0:.*]] {axis = 1 : i64} : (tensor<2x4xf16>, tensor<2x4xf16>) -> tensor<2x4xf16>
// CHECK: return %[[V0]], %[[V1]] : tensor<2x4xf16>, tensor<2x4xf16>
func.func @softmax(%x: tensor<2x4xf16> {mp.name = "x"}) -> tensor<2x4xf16> {
  %0 = mp.softmax %x {axis = 1 : i64} : (tensor<2x4xf16>) -> tensor<2x4xf16>
  return %0 : tensor<2x4xf16>
}

// CHECK-LABEL: func.func @norm
// CHECK: %[[V0:.*]], %[[V1:.*]], %[[V2:.*]] = mp.layer_norm_grad %arg3, %arg0, %arg1 {axis = 2 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x3x4xf16>, tensor<2x3x4xf16>, tensor<4xf32>) -> (tensor<2x3x4xf16>, tensor<4xf32>, tensor<4xf32>)
// CHECK: return %[[V3:.*]], %[[V0]], %[[V1]] : tensor<2x3x4xf16>, tensor<2x3x4xf16>, tensor<4xf32>
func.func @norm(%x: tensor<2x3x4xf16> {mp.name = "x"}, %s: tensor<4xf32> {mp.name = "s"}, %b: tensor<4xf32>) -> tensor<2x3x4xf16> {
  %0 = mp.layer_norm %x scale %s bias %b {epsilon = 1.0e-5 : f64} : (tensor<2x3x4xf16>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf16>
  return %0 : tensor<2x3x4xf16>
}

// CHECK-LABEL: func.func @loss
// CHECK: %[[V0:.*]] = mp.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V1:.*]] = mp.cross_entropy_grad %[[V0]], %arg0, %arg1 {label_smoothing = 1.000000e-01 : f64, wanted = array<i64: 1>} : (tensor<f32>, tensor<8x10xf32>, tensor<8xi64>) -> tensor<8x10xf32>
// CHECK: return %[[V2:.*]], %[[V1]] : tensor<f32>, tensor<8x10xf32>
func.func @loss(%x: tensor<8x10xf32> {mp.name = "x"}, %t: tensor<8xi64>) -> tensor<f32> {
  %0 = mp.cross_entropy %x, %t {label_smoothing = 0.1 : f64} : (tensor<8x10xf32>, tensor<8xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @attention
// CHECK: %[[V0:.*]]:2 = mp.attention_grad %arg4, %arg0, %arg1, %arg2, %arg3 {is_causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 0, 0>, wanted = array<i64: 1, 3>} : (tensor<1x2x3x4xf16>, tensor<1x2x3x4xf16>, tensor<1x2x3x4xf16>, tensor<1x2x3x4xf16>, tensor<3x3xi1>) -> (tensor<1x2x3x4xf16>, tensor<1x2x3x4xf16>)
// CHECK: return %[[V1:.*]], %[[V0]]#0, %[[V0]]#1 : tensor<1x2x3x4xf16>, tensor<1x2x3x4xf16>, tensor<1x2x3x4xf16>
func.func @attention(%q: tensor<1x2x3x4xf16> {mp.name = "q"}, %k: tensor<1x2x3x4xf16>, %v: tensor<1x2x3x4xf16> {mp.name = "v"}, %m: tensor<3x3xi1>) -> tensor<1x2x3x4xf16> {
  %0 = mp.attention %q, %k, %v mask %m {is_causal} : (tensor<1x2x3x4xf16>, tensor<1x2x3x4xf16>, tensor<1x2x3x4xf16>, tensor<3x3xi1>) -> tensor<1x2x3x4xf16>
  return %0 : tensor<1x2x3x4xf16>
}

// CHECK-LABEL: func.func @lstm
// CHECK: %[[V0:.*]]:2 = mp.lstm_grad %arg3, %arg0, %arg1, %arg2 {activations = ["Sigmoid", "Tanh", "Tanh"], hidden_size = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0>, wanted = array<i64: 1, 2>} : (tensor<1x1x3xf32>, tensor<5x1x2xf32>, tensor<1x12x2xf32>, tensor<1x12x3xf32>) -> (tensor<5x1x2xf32>, tensor<1x12x2xf32>)
// CHECK: return %[[V1:.*]], %[[V0]]#0, %[[V0]]#1 : tensor<1x1x3xf32>, tensor<5x1x2xf32>, tensor<1x12x2xf32>
func.func @lstm(%x: tensor<5x1x2xf32> {mp.name = "x"}, %w: tensor<1x12x2xf32> {mp.name = "w"}, %r: tensor<1x12x3xf32>) -> tensor<1x1x3xf32> {
  %0, %1, %2 = mp.lstm %x, %w, %r {hidden_size = 3 : i64, activations = ["Sigmoid", "Tanh", "Tanh"]} : (tensor<5x1x2xf32>, tensor<1x12x2xf32>, tensor<1x12x3xf32>) -> (tensor<5x1x1x3xf32>, tensor<1x1x3xf32>, tensor<1x1x3xf32>)
  return %2 : tensor<1x1x3xf32>
}

// CHECK-LABEL: func.func @pool
// CHECK: %[[V0:.*]] = mp.max_pool_grad %arg1, %arg0 {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, wanted = array<i64: 1>} : (tensor<1x2x4x4xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
// CHECK: return %[[V1:.*]], %[[V0]] : tensor<1x2x4x4xf32>, tensor<1x2x8x8xf32>
func.func @pool(%x: tensor<1x2x8x8xf32> {mp.name = "x"}) -> tensor<1x2x4x4xf32> {
  %0 = mp.max_pool %x {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}
