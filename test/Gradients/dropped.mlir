// RUN: mpopt-opt %s --mp-differentiate="wrt=all mark" --mp-print-gradients -o /dev/null 2>&1 | FileCheck %s

// A ratio of 0 leaves a gradient of variance 1 as it is; one of 1/4 leaves 3/4
// of the elements, 4/3 as large: the root of 4/3 is 1.155.
// CHECK: rms 1.155, {{.*}}, zero 0.25
// CHECK: = mp.dropout_grad
// CHECK: rms 1, {{.*}}, zero 0,
// CHECK: = mp.dropout_grad
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @dropped(%x: tensor<64x16xf32> {mp.name = "x", mp.assume = #n},
                   %y: tensor<64x16xf32> {mp.name = "y", mp.assume = #n},
                   %g: tensor<64x16xf32> {mp.assume = #n}) -> tensor<f32> {
  %a = mp.dropout %y {ratio = 0.0 : f64, training} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %b = mp.dropout %x {ratio = 0.25 : f64, training} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %c = mp.add %a, %b : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %p = mp.mul %c, %g : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1>, keepdims = false} : (tensor<64x16xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
