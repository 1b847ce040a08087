// A gradient penalty reads a gradient. That of it is not analysed, which is said
// in one line, and no parameter behind it is called dead.
// RUN: mpopt --check %s --train --precision autocast-fp16 --loss sum:loss 2>&1 | FileCheck %s
// CHECK: gradients lack the part of 1 aten::tanh_backward op, a second derivative, which is not analysed
// CHECK-NOT: MP406
func.func @main(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
  %v = mp.constant dense<0.4> : tensor<8x4xf32> loc(#v)
  %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %h = mp.tanh %y : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %g = mp.opaque "aten::tanh_backward"(%v, %h) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %p = mp.matmul %g, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %q = mp.mul %p, %p : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %l = mp.reduce_mean %q {axes = array<i64: 0, 1>, keep_dims = false} : (tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["f"])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>["f"])
