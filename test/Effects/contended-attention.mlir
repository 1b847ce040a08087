// As contended.mlir has it, with attention that is one op: emulated, the largest
// error of eight runs is 0.012 to 0.036 of the largest value and the root mean
// square 0.002 to 0.004 with scores of 170, and 0.0004 with those of 0.6.
// RUN: mpopt --check %s --precision fp16 --format json --fail-on never | FileCheck %s
// CHECK: "expected_error": 0.0{{[1-4]}}
// CHECK: "expected_rms": 0.00{{[2-5]}}
// CHECK: "expected_error": 0.00{{0[3-9]|10}}
func.func @main(%q: tensor<1x1x64x32xf32> {mp.name = "q", mp.assume = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %k: tensor<1x1x32x32xf32> {mp.name = "k", mp.assume = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %v: tensor<1x1x32x16xf32> {mp.name = "v", mp.assume = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) -> (tensor<1x1x64x16xf32> {mp.name = "far"}, tensor<1x1x64x16xf32> {mp.name = "near"}) {
  %0 = mp.attention %q, %k, %v {scale = 30.0 : f64} : (tensor<1x1x64x32xf32>, tensor<1x1x32x32xf32>, tensor<1x1x32x16xf32>) -> tensor<1x1x64x16xf32>
  %1 = mp.attention %q, %k, %v {scale = 0.1 : f64} : (tensor<1x1x64x32xf32>, tensor<1x1x32x32xf32>, tensor<1x1x32x16xf32>) -> tensor<1x1x64x16xf32>
  return %0, %1 : tensor<1x1x64x16xf32>, tensor<1x1x64x16xf32>
}
