// RUN: mpopt-opt %s --mp-differentiate="wrt=inputs" | FileCheck %s

// Sums over fan-out are adds; what was broadcast is summed.
// CHECK-LABEL: func.func @broadcast
// CHECK: %[[V0:.*]] = mp.mul %arg2, %arg1 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
// CHECK: %[[V1:.*]] = mp.add %arg2, %[[V0]] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK: %[[V2:.*]] = mp.mul %arg2, %arg0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK: %[[V3:.*]] = mp.reduce_sum %[[V2]] {axes = array<i64: 0>} : (tensor<4x3xf32>) -> tensor<3xf32>
// CHECK: return %[[V4:.*]], %[[V1]], %[[V3]] : tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xf32>
func.func @broadcast(%x: tensor<4x3xf32> {mp.name = "x"}, %b: tensor<3xf32> {mp.name = "b"}) -> (tensor<4x3xf32> {mp.name = "y"}) {
  %0 = mp.mul %x, %b : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = mp.add %0, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// A comparison ends the gradient, the operands that it chooses from get theirs.
// CHECK-LABEL: func.func @chosen
// CHECK: %[[V0:.*]] = mp.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V2:.*]] = mp.where %[[V1:.*]], %arg2, %[[V0]] : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK: %[[V3:.*]] = mp.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V4:.*]] = mp.where %[[V1]], %[[V3]], %arg2 : (tensor<4xi1>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: return %[[V5:.*]], %[[V2]], %[[V4]] : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
func.func @chosen(%x: tensor<4xf32> {mp.name = "x"}, %y: tensor<4xf32> {mp.name = "y"}) -> tensor<4xf32> {
  %0 = mp.less %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = mp.where %0, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A scalar needs no argument for its gradient.
// CHECK-LABEL: func.func @functions
// CHECK: %[[V0:.*]] = mp.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V2:.*]] = mp.tanh_grad %[[V0]], %[[V1:.*]] : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK: %[[V4:.*]] = mp.mul %[[V2]], %[[V3:.*]] : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK: %[[V5:.*]] = mp.constant dense<2.000000e+00> : tensor<f32>
// CHECK: %[[V7:.*]] = mp.mul %[[V6:.*]], %[[V5]] : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK: %[[V8:.*]] = mp.div %[[V4]], %[[V7]] : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK: return %[[V1]], %[[V8]] : tensor<f32>, tensor<f32>
func.func @functions(%x: tensor<f32> {mp.name = "x"}) -> tensor<f32> {
  %0 = mp.sqrt %x : (tensor<f32>) -> tensor<f32>
  %1 = mp.exp %0 : (tensor<f32>) -> tensor<f32>
  %2 = mp.tanh %1 : (tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}
