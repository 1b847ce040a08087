// A probability that rounds to 1 makes log(1 - p) infinite, however well the logarithm
// follows the logits where it does not. FP32 has finite numbers up to logits of 17.3:
// the sigmoid has to stay there, too.
// RUN: not mpopt --check %s --precision fp16 --input x=-60:60 --input x~0,15 --keep-fp32 %t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix KEPT < %t.json
// RUN: mpopt --check %s --precision fp16 --input x=-60:60 --input x~0,1.5 --fail-on never | FileCheck %s --check-prefix NEAR
// RUN: not mpopt --check %s --precision bf16 --input x=-60:60 --input x~0,4 | FileCheck %s --check-prefix BF16
// RUN: mpopt --check %s --precision fp16 --input x=-60:60 --input x~0,4 --fail-on never | FileCheck %s --check-prefix RARE

// CHECK: is expected to make Inf or NaN of `result`
// CHECK: error[MP205]
// CHECK: warning[MP306]
// CHECK: probabilities round to exactly 1 in f16, and 1 - p is 0 then, in a logarithm
// KEPT: "type": "mp.sigmoid"
// KEPT: "type": "mp.sub"
// NEAR-NOT: Inf or NaN
// NEAR: fp16 is expected to change `result` by
// NEAR-NOT: error[MP205]
// BF16: is expected to make Inf or NaN of `result`
// RARE: is expected to make Inf or NaN of `result`
func.func @main(%x: tensor<64x16xf32> {mp.name = "x"}) -> (tensor<64x16xf32> {mp.name = "result"}) {
  %one = mp.constant dense<1.0> : tensor<f32>
  %p = mp.sigmoid %x : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %q = mp.sub %one, %p : (tensor<f32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %y = mp.log %q : (tensor<64x16xf32>) -> tensor<64x16xf32>
  return %y : tensor<64x16xf32>
}
