// RUN: mpopt-opt %s --mp-differentiate="wrt=inputs" | FileCheck %s

// Dropout gives its mask, which the gradient reads; without training it is the
// identity.
// CHECK-LABEL: func.func @dropout
// CHECK: %[[Y:.*]], %[[MASK:.*]] = mp.dropout %arg0 {ratio = 2.500000e-01 : f64, training} : (tensor<4xf16>) -> (tensor<4xf16>, tensor<4xi1>)
// CHECK: %[[Z:.*]] = mp.dropout %[[Y]]
// CHECK: %[[RATIO:.*]] = mp.constant dense<2.500000e-01> : tensor<f32>
// CHECK: %[[G:.*]] = mp.dropout_grad %arg1, %[[MASK]] ratio %[[RATIO]]
// CHECK: return %[[Z]], %[[G]]
func.func @dropout(%x: tensor<4xf16> {mp.name = "x"}) -> tensor<4xf16> {
  %0 = mp.dropout %x {ratio = 0.25 : f64, training} : (tensor<4xf16>) -> tensor<4xf16>
  %1 = mp.dropout %0 : (tensor<4xf16>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}

// Straight through: what was quantised has the gradient of the number that it
// stands for, in that number's dtype, and none where the code saturates.
// CHECK-LABEL: func.func @quantised
// CHECK: %[[ABOVE:.*]] = mp.greater_equal %arg0
// CHECK: %[[BELOW:.*]] = mp.less_equal %arg0
// CHECK: %[[INSIDE:.*]] = mp.logical_and %[[ABOVE]], %[[BELOW]]
// CHECK: %[[WHERE:.*]] = mp.where %[[INSIDE]], %arg1
// CHECK: %[[G:.*]] = mp.cast %[[WHERE]] {{.*}} : (tensor<4xf32>) -> tensor<4xf16>
// CHECK-NEXT: return %{{.*}}, %[[G]] : tensor<4xf32>, tensor<4xf16>
func.func @quantised(%x: tensor<4xf16> {mp.name = "x"}) -> tensor<4xf32> {
  %s = mp.constant dense<0.5> : tensor<f16>
  %0 = mp.quantize %x, %s : (tensor<4xf16>, tensor<f16>) -> tensor<4xui8>
  %t = mp.constant dense<0.5> : tensor<f32>
  %1 = mp.dequantize %0, %t : (tensor<4xui8>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A mean of more elements than f16 can count divides by a wide number.
// CHECK-LABEL: func.func @mean
// CHECK: %[[N:.*]] = mp.constant dense<1.000000e+05> : tensor<f32>
// CHECK: mp.loss_scale %{{.*}}, %[[N]] {divide = true} : (tensor<1xf16>, tensor<f32>) -> tensor<1xf16>
func.func @mean(%x: tensor<100000xf16> {mp.name = "x"}) -> tensor<f16> {
  %0 = mp.reduce_mean %x {keep_dims = false} : (tensor<100000xf16>) -> tensor<f16>
  return %0 : tensor<f16>
}

// A batch norm that trains has the batch's own statistics, in the parameters' dtype.
// CHECK-LABEL: func.func @batch_norm
// CHECK: %[[WIDE:.*]] = mp.cast %arg0 {{.*}} : (tensor<8x3x4xf16>) -> tensor<8x3x4xf32>
// CHECK: %[[MEAN:.*]] = mp.reduce_mean %[[WIDE]] {axes = array<i64: 0, 2>}
// CHECK: mp.variance %[[WIDE]] {axes = array<i64: 0, 2>, correction = 0.000000e+00 : f64}
// CHECK: mp.rsqrt
// CHECK: mp.batch_norm_grad {{.*}} -> (tensor<8x3x4xf16>, tensor<3xf32>, tensor<3xf32>)
func.func @batch_norm(%x: tensor<8x3x4xf16> {mp.name = "x"}, %s: tensor<3xf32> {mp.name = "s"}, %b: tensor<3xf32> {mp.name = "b"}) -> tensor<8x3x4xf16> {
  %0 = mp.batch_norm %x scale %s bias %b {training = true} : (tensor<8x3x4xf16>, tensor<3xf32>, tensor<3xf32>) -> tensor<8x3x4xf16>
  return %0 : tensor<8x3x4xf16>
}
