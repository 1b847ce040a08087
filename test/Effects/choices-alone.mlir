// Of a model whose outputs are all indices no finding has an effect of its own. What a list
// says of an op is a note there, as the share of choices that change is known.
// RUN: mpopt --check %s --precision fp16 | FileCheck %s
// CHECK:     note[MP101]
// CHECK-NOT: warning[
func.func @main(%x: tensor<4x16xf32> {mp.name = "x"}) -> (tensor<4xi64> {mp.name = "token"}) {
  %0 = mp.log_softmax %x {axis = 1 : i64} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = mp.arg_max %0 {axis = 1 : i64, keep_dims = false} : (tensor<4x16xf32>) -> tensor<4xi64>
  return %1 : tensor<4xi64>
}
