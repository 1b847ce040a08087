// Scores of 170 pick one key in nearly every row. What q and k are rounded by
// moves the few rows in which two keys are about equal: emulated, the largest
// error of eight runs is 0.02 to 0.07 of the largest value, the root mean square
// 0.003 to 0.008. Scores of 0.6 move all rows alike, by 0.0006 to 0.001.
// RUN: mpopt --check %s --precision fp16 --format json --fail-on never | FileCheck %s
// CHECK: "expected_error": 0.0{{[2-6]}}
// CHECK: "expected_rms": 0.00{{[3-7]}}
// CHECK: "expected_error": 0.000{{[5-9]}}
func.func @main(%q: tensor<64x32xf32> {mp.name = "q", mp.assume = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %k: tensor<32x32xf32> {mp.name = "k", mp.assume = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %v: tensor<32x16xf32> {mp.name = "v", mp.assume = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) -> (tensor<64x16xf32> {mp.name = "far"}, tensor<64x16xf32> {mp.name = "near"}) {
  %scale = mp.constant dense<30.0> : tensor<f32>
  %0 = mp.matmul %q, %k : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %1 = mp.mul %0, %scale : (tensor<64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
  %2 = mp.softmax %1 {axis = 1 : i64} : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %3 = mp.matmul %2, %v : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  %tenth = mp.constant dense<0.1> : tensor<f32>
  %4 = mp.mul %0, %tenth : (tensor<64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
  %5 = mp.softmax %4 {axis = 1 : i64} : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %6 = mp.matmul %5, %v : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  return %3, %6 : tensor<64x16xf32>, tensor<64x16xf32>
}
