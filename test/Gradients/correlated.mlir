// RUN: mpopt-opt %s --mp-differentiate="wrt=all mark" --mp-print-gradients -o /dev/null 2>&1 | FileCheck %s

// The width of a box is the difference of its ends, which have its centre in
// common: the gradient by the centre is 0, not twice one of variance 1. An x of
// 2 has in x / (x + 2) the slope 1/4 - 2/16, which is 0.125 and not the 0.28 of
// independent terms.
// CHECK: rms 0, {{.*}}, zero 1
// CHECK: = mp.mul
// CHECK: rms 0.12{{[0-9]*}},
// CHECK: = mp.add
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
#p = {mean = 2.0 : f64, std = 0.1 : f64, lo = 1.4 : f64, hi = 2.6 : f64, source = "option"}
func.func @width(%c: tensor<64x16xf32> {mp.name = "c", mp.assume = #n},
                 %s: tensor<64x16xf32> {mp.assume = #n},
                 %x: tensor<64x16xf32> {mp.name = "x", mp.assume = #p},
                 %m: tensor<64x1xf32> {mp.assume = #p},
                 %g: tensor<64x16xf32> {mp.assume = #n}) -> tensor<f32> {
  %sum = mp.add %x, %m : (tensor<64x16xf32>, tensor<64x1xf32>) -> tensor<64x16xf32>
  %q = mp.div %x, %sum : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %lo = mp.sub %c, %s : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %hi = mp.add %c, %s : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %d = mp.sub %hi, %lo : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %e = mp.add %d, %q : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %p = mp.mul %e, %g : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1>, keepdims = false} : (tensor<64x16xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
