// A generalised mean is a norm of rows: the root is steep where all powers are next to 0, and the
// powers are flat there. 0.0003 are measured.
// RUN: mpopt --check %s --precision fp16 --format json | FileCheck %s
//
// CHECK: "expected_rms": 0.000{{[1-6]}}

func.func @main(%x: tensor<16x8x16xf32> {mp.name = "x"}) -> (tensor<16x16xf32> {mp.name = "result"}) {
  %axis = mp.constant dense<1> : tensor<1xi64>
  %eps = mp.constant dense<1.0e-5> : tensor<f32>
  %three = mp.constant dense<3.0> : tensor<f32>
  %third = mp.constant dense<0.333333333> : tensor<f32>
  %0 = mp.clip %x min %eps : (tensor<16x8x16xf32>, tensor<f32>) -> tensor<16x8x16xf32>
  %1 = mp.pow %0, %three : (tensor<16x8x16xf32>, tensor<f32>) -> tensor<16x8x16xf32>
  %2 = mp.reduce_mean %1 axes %axis {keep_dims = false} : (tensor<16x8x16xf32>, tensor<1xi64>) -> tensor<16x16xf32>
  %3 = mp.pow %2, %third : (tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
  return %3 : tensor<16x16xf32>
}
