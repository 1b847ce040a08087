// A logarithm of probabilities next to 0 is as exact as the scores: 0.04 % of the
// largest of them, whether it is written as one op, as two or with an epsilon. Autocast computes
// both in FP32.
// RUN: mpopt --check %s --precision autocast-fp16 --format json --fail-on never | FileCheck %s
// CHECK: "output": "two"
// CHECK-NEXT: "expected_error": 0.000{{[3-5]}}
// CHECK: "output": "one"
// CHECK-NEXT: "expected_error": 0.000{{[3-5]}}
// CHECK: "output": "guarded"
// CHECK-NEXT: "expected_error": 0.00{{[0-2]}}
func.func @main(%x: tensor<64x32xf32> {mp.name = "x"}) -> (tensor<64x100xf32> {mp.name = "two"}, tensor<64x100xf32> {mp.name = "one"}, tensor<64x100xf32> {mp.name = "guarded"}) {
  %w = mp.constant dense<2.0> : tensor<32x100xf32>
  %0 = mp.matmul %x, %w : (tensor<64x32xf32>, tensor<32x100xf32>) -> tensor<64x100xf32>
  %1 = mp.softmax %0 {axis = 1 : i64} : (tensor<64x100xf32>) -> tensor<64x100xf32>
  %2 = mp.log %1 : (tensor<64x100xf32>) -> tensor<64x100xf32>
  %3 = mp.log_softmax %0 {axis = 1 : i64} : (tensor<64x100xf32>) -> tensor<64x100xf32>
  %e = mp.constant dense<1.0e-9> : tensor<f32>
  %4 = mp.add %1, %e : (tensor<64x100xf32>, tensor<f32>) -> tensor<64x100xf32>
  %5 = mp.log %4 : (tensor<64x100xf32>) -> tensor<64x100xf32>
  return %2, %3, %5 : tensor<64x100xf32>, tensor<64x100xf32>, tensor<64x100xf32>
}
