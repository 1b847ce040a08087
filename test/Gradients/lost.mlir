// RUN: mpopt-opt %s --split-input-file --mp-differentiate="wrt=all mark" --mp-print-gradients -o /dev/null 2>&1 | FileCheck %s

// Halves are joined: what is lost of one of them is lost of half of all, and moving stored
// numbers rounds none of them again.
// CHECK: lost 1,
// CHECK: = mp.cast
// CHECK: lost 0.5,
// CHECK: = mp.concat
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @joined(%a: tensor<64x64xf16> {mp.name = "a", mp.assume = #n}) -> tensor<f32> {
  %p:2 = mp.split %a {axis = 1 : i64, sizes = array<i64: 32, 32>} : (tensor<64x64xf16>) -> (tensor<64x32xf16>, tensor<64x32xf16>)
  %f = mp.cast %p#0 : (tensor<64x32xf16>) -> tensor<64x32xf32>
  %g = mp.cast %p#1 : (tensor<64x32xf16>) -> tensor<64x32xf32>
  %c = mp.constant dense<1.0e-12> : tensor<f32>
  %s = mp.mul %f, %c : (tensor<64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
  %h = mp.add %s, %g : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %l = mp.reduce_sum %h {axes = array<i64: 0, 1>, keepdims = false} : (tensor<64x32xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
