// A probability that rounds to 1 makes log(1 - p) infinite, however well the logarithm
// follows the logits where it does not.
// RUN: not mpopt --check %s --precision fp16 --input x=-60:60 --input x~0,15 | FileCheck %s

// CHECK: warning[MP306]
// CHECK: probabilities round to exactly 1 in f16, and 1 - p is 0 then, in a logarithm
func.func @main(%x: tensor<64x16xf32> {mp.name = "x"}) -> (tensor<64x16xf32> {mp.name = "result"}) {
  %one = mp.constant dense<1.0> : tensor<f32>
  %p = mp.sigmoid %x : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %q = mp.sub %one, %p : (tensor<f32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %y = mp.log %q : (tensor<64x16xf32>) -> tensor<64x16xf32>
  return %y : tensor<64x16xf32>
}
