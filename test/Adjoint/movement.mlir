// RUN: mpopt-opt %s --mp-differentiate="wrt=inputs" | FileCheck %s

// Parts go back to their places.
// CHECK-LABEL: func.func @parts
// CHECK: %[[V0:.*]]:2 = mp.split %arg2 {axis = 1 : i64, sizes = array<i64: 2, 2>} : (tensor<4x4xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>)
// CHECK: %[[V1:.*]] = mp.constant dense<0> : tensor<1xi64>
// CHECK: %[[V2:.*]] = mp.constant dense<6> : tensor<1xi64>
// CHECK: %[[V3:.*]] = mp.constant dense<1> : tensor<1xi64>
// CHECK: %[[V4:.*]] = mp.constant dense<3> : tensor<1xi64>
// CHECK: %[[V5:.*]] = mp.constant dense<[4, 6]> : tensor<2xi64>
// CHECK: %[[V6:.*]] = mp.slice_grad %[[V0]]#0, %[[V5]], %[[V1]], %[[V2]], %[[V3]], %[[V4]] : (tensor<4x2xf32>, tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4x6xf32>
// CHECK: return %[[V7:.*]], %[[V6]], %[[V0]]#1 : tensor<4x4xf32>, tensor<4x6xf32>, tensor<4x2xf32>
func.func @parts(%x: tensor<4x6xf32> {mp.name = "x"}, %y: tensor<4x2xf32> {mp.name = "y"}) -> tensor<4x4xf32> {
  %0 = mp.slice %x {starts = array<i64: 0>, ends = array<i64: 6>, axes = array<i64: 1>, steps = array<i64: 3>} : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %1 = mp.concat %0, %y {axis = 1 : i64} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @embedding
// CHECK: %[[V0:.*]] = mp.constant dense<[100, 8]> : tensor<2xi64>
// CHECK: %[[V1:.*]] = mp.gather_grad %arg2, %[[V0]], %arg1 {padding_index = 0 : i64} : (tensor<2x5x8xf32>, tensor<2xi64>, tensor<2x5xi64>) -> tensor<100x8xf32>
// CHECK: return %[[V2:.*]], %[[V1]] : tensor<2x5x8xf32>, tensor<100x8xf32>
func.func @embedding(%t: tensor<100x8xf32> {mp.name = "t"}, %i: tensor<2x5xi64>) -> tensor<2x5x8xf32> {
  %0 = mp.embedding %t, %i {padding_index = 0 : i64} : (tensor<100x8xf32>, tensor<2x5xi64>) -> tensor<2x5x8xf32>
  return %0 : tensor<2x5x8xf32>
}

// The shape is read where it is not known.
// CHECK-LABEL: func.func @reduced
// CHECK: %[[V0:.*]] = mp.constant dense<1.000000e+00> : tensor<f16>
// CHECK: %[[V1:.*]] = mp.unsqueeze %[[V0]] {axes = array<i64: 0, 1>} : (tensor<f16>) -> tensor<1x1xf16>
// CHECK: %[[V2:.*]] = mp.size %arg0 : (tensor<?x8xf16>) -> tensor<i64>
// CHECK: %[[V3:.*]] = mp.cast %[[V2]] {origin = #mp.cast_origin<promotion>} : (tensor<i64>) -> tensor<f32>
// CHECK: %[[V5:.*]] = mp.size %[[V4:.*]] : (tensor<f16>) -> tensor<i64>
// CHECK: %[[V6:.*]] = mp.cast %[[V5]] {origin = #mp.cast_origin<promotion>} : (tensor<i64>) -> tensor<f32>
// CHECK: %[[V7:.*]] = mp.div %[[V3]], %[[V6]] : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK: %[[V8:.*]] = mp.loss_scale %[[V1]], %[[V7]] {divide = true} : (tensor<1x1xf16>, tensor<f32>) -> tensor<1x1xf16>
// CHECK: %[[V9:.*]] = mp.shape %arg0 : (tensor<?x8xf16>) -> tensor<2xi64>
// CHECK: %[[V10:.*]] = mp.expand %[[V8]], %[[V9]] : (tensor<1x1xf16>, tensor<2xi64>) -> tensor<?x8xf16>
// CHECK: return %[[V4]], %[[V10]] : tensor<f16>, tensor<?x8xf16>
func.func @reduced(%x: tensor<?x8xf16> {mp.name = "x"}) -> tensor<f16> {
  %0 = mp.reduce_mean %x {keep_dims = false} : (tensor<?x8xf16>) -> tensor<f16>
  return %0 : tensor<f16>
}

// CHECK-LABEL: func.func @picked
// CHECK: %[[V0:.*]] = mp.constant dense<[4, 6]> : tensor<2xi64>
// CHECK: %[[V2:.*]] = mp.gather_grad %arg1, %[[V0]], %[[V1:.*]] {axis = 1 : i64, kind = "elements"} : (tensor<4x2xf32>, tensor<2xi64>, tensor<4x2xi64>) -> tensor<4x6xf32>
// CHECK: return %[[V3:.*]], %[[V2]] : tensor<4x2xf32>, tensor<4x6xf32>
func.func @picked(%x: tensor<4x6xf32> {mp.name = "x"}) -> tensor<4x2xf32> {
  %0, %1 = mp.top_k %x {k = 2 : i64, axis = 1 : i64} : (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  return %0 : tensor<4x2xf32>
}
