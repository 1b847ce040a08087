// A vector has no channels, and its norm no gains for them.
// RUN: mpopt --check %s --precision fp16 | FileCheck %s
// CHECK: fp16 is expected to change `result` by 0.{{[0-9]+}} %

func.func @main(%x: tensor<64xf32> {mp.name = "x"}) -> (tensor<64xf32> {mp.name = "result"}) {
  %0 = mp.layer_norm %x {axis = 0 : i64, epsilon = 1.0e-5 : f64} : (tensor<64xf32>) -> tensor<64xf32>
  %1 = mp.tanh %0 : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
