// RUN: mpopt-opt %s --mp-differentiate="wrt=all mark" --mp-print-gradients -o /dev/null 2>&1 | FileCheck %s

// The gradient of x / exp(s) by s is -x / exp(s): where s has the deviation 1
// its square is exp(2) on average, and not exp(10) as of a divisor exp(s)^2
// and a factor exp(s) that are independent.
// CHECK: rms 2.{{[67][0-9]*}},
// CHECK: = mp.mul
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @quotient(%x: tensor<64x16xf32> {mp.assume = #n},
                    %s: tensor<64x16xf32> {mp.name = "s", mp.assume = #n},
                    %g: tensor<64x16xf32> {mp.assume = #n}) -> tensor<f32> {
  %e = mp.exp %s : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %q = mp.div %x, %e : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %p = mp.mul %q, %g : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1>, keepdims = false} : (tensor<64x16xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
