// Running statistics are rounded, too: a variance of 1e-8 is 0 in FP16, so that
// with an epsilon of 1e-8 all is off by 0.41 of its size. One of 1e-6 is a
// subnormal number, off by 1.3 %, which makes 0.66 %.
// RUN: mpopt --check %s --precision fp16 --input x=-0.0006:0.0006 --input x~0,0.0001 --format json --fail-on never | FileCheck %s
// CHECK: "output": "flushed"
// CHECK: "expected_rms": 0.{{[3-7]}}
// CHECK: "output": "held"
// CHECK: "expected_rms": 0.006{{[56]}}
func.func @main(%x: tensor<64x4x8x8xf32> {mp.name = "x"}) -> (tensor<64x4x8x8xf32> {mp.name = "flushed"}, tensor<64x4x8x8xf32> {mp.name = "held"}) {
  %one = mp.constant dense<1.0> : tensor<4xf32>
  %zero = mp.constant dense<0.0> : tensor<4xf32>
  %low = mp.constant dense<1.0e-8> : tensor<4xf32>
  %held = mp.constant dense<1.0e-6> : tensor<4xf32>
  %0 = mp.batch_norm %x scale %one bias %zero mean %zero variance %low {epsilon = 1.0e-8 : f64} : (tensor<64x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<64x4x8x8xf32>
  %1 = mp.batch_norm %x scale %one bias %zero mean %zero variance %held {epsilon = 1.0e-8 : f64} : (tensor<64x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<64x4x8x8xf32>
  return %0, %1 : tensor<64x4x8x8xf32>, tensor<64x4x8x8xf32>
}
