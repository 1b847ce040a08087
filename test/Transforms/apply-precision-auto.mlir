// RUN: mpopt-opt --mp-apply-precision %s | FileCheck %s

// Weights stored in f16 and widened before they are used: computes in f32.
// CHECK: mp.precision = "autocast-fp16"
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = mp.constant dense<1.0> : tensor<4xf16>
  %0 = mp.cast %w : (tensor<4xf16>) -> tensor<4xf32>
  %1 = mp.add %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
