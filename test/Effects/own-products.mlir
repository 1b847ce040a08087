// A product of numbers that depend on each other has the relative error of its factors, however large
// one of them is where the other is small: x / sqrt(|x|) by a reciprocal.
// RUN: mpopt --check %s --precision fp16 --format json --fail-on never | FileCheck %s

// CHECK: "expected_error": 0.00{{[0-9]+}},
func.func @main(%x: tensor<64x64xf32> {mp.name = "x", mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<64x64xf32> {mp.name = "y"}) {
  %e = mp.constant dense<1.0e-6> : tensor<f32>
  %0 = mp.abs %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = mp.add %0, %e : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %2 = mp.sqrt %1 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = mp.reciprocal %2 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = mp.mul %x, %3 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}
