// RUN: mpopt-opt %s --mp-differentiate="wrt=all mark" --mp-print-gradients -o /dev/null 2>&1 | FileCheck %s

// One gradient that comes by e^x and by -x: of an x of 0.1 times a normal number
// the square of e^x - 1 is 0.0103, of independent gradients the sum of squares
// would be 2.02.
// CHECK: rms {{(1|1\.0[0-9]*)}},
// CHECK: rms 0.10{{[0-9]*}},
// CHECK-SAME: zero 0
// CHECK: = mp.add
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
#s = {mean = 0.0 : f64, std = 0.1 : f64, lo = -0.6 : f64, hi = 0.6 : f64, source = "option"}
func.func @divergence(%x: tensor<64x16xf32> {mp.name = "x", mp.assume = #s},
                      %g: tensor<64x16xf32> {mp.assume = #n}) -> tensor<f32> {
  %e = mp.exp %x : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %d = mp.sub %e, %x : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %p = mp.mul %d, %g : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1>, keepdims = false} : (tensor<64x16xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
