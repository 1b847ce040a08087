// A logarithm of a sum of exponentials, and one of probabilities that an epsilon limits below, are as
// exact as their arguments: written out, the terms meet a gradient that is divided by their sum.
// RUN: mpopt --check %s --precision bf16 --format json --fail-on never | FileCheck %s
// CHECK: "output": "sum"
// CHECK-NEXT: "expected_error": 0.00{{[1-9]}}
// CHECK: "output": "limited"
// CHECK-NEXT: "expected_error": 0.0{{[01]}}
func.func @main(%x: tensor<16x64xf32> {mp.name = "x", mp.assume = {lo = -30.0 : f64, hi = 30.0 : f64, mean = 0.0 : f64, std = 6.0 : f64, source = "option"}}, %z: tensor<16x64xf32> {mp.name = "z"}) -> (tensor<16xf32> {mp.name = "sum"}, tensor<16x64xf32> {mp.name = "limited"}) {
  %0 = mp.exp %x : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %1 = mp.reduce_sum %0 {axes = array<i64: 1>, keepdims = true} : (tensor<16x64xf32>) -> tensor<16xf32>
  %2 = mp.log %1 : (tensor<16xf32>) -> tensor<16xf32>
  %e = mp.constant dense<1.0e-7> : tensor<f32>
  %3 = mp.softmax %z {axis = 1 : i64} : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %4 = mp.clip %3 min %e : (tensor<16x64xf32>, tensor<f32>) -> tensor<16x64xf32>
  %5 = mp.log %4 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  return %2, %5 : tensor<16xf32>, tensor<16x64xf32>
}
