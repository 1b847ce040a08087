// What is only possible is listed under --train where training moves to it, and
// fails no check.

// RUN: split-file %s %t
// RUN: mpopt --check %t/focal.mlir --train --precision autocast-fp16 --loss sum:loss --format json | FileCheck %s --check-prefix=FOCAL
// RUN: mpopt --check %t/guarded.mlir --train --precision autocast-fp16 --loss sum:loss --format json | FileCheck %s --check-prefix=NONE
// RUN: mpopt --check %t/rows.mlir --train --precision autocast-bf16 --loss sum:loss | FileCheck %s --check-prefix=ROWS
// RUN: mpopt --check %t/rows.mlir --precision autocast-bf16 --format json | FileCheck %s --check-prefix=NONE
// RUN: mpopt --check %t/replaced.mlir --train --precision autocast-bf16 --loss sum:loss --format json | FileCheck %s --check-prefix=NONE

// FOCAL: "rule": "MP412"
// FOCAL: "certainty": "possible"
// FOCAL-NEXT: "reachable": "training"
// NONE-NOT: "reachable"
// ROWS: next: nothing to do yet
// ROWS: warning[MP208]
// ROWS: (possible, a state

//--- focal.mlir
module {
  func.func @main(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
    %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
    %one = mp.constant dense<1.0> : tensor<f32>
    %half = mp.constant dense<0.5> : tensor<f32>
    %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %p = mp.sigmoid %y : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %q = mp.sub %one, %p : (tensor<f32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %f = mp.pow %q, %half : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %l = mp.reduce_mean %f {axes = array<i64: 0, 1>, keep_dims = false} : (tensor<8x4xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["f"])

//--- guarded.mlir
module {
  func.func @main(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
    %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
    %one = mp.constant dense<1.001> : tensor<f32>
    %half = mp.constant dense<0.5> : tensor<f32>
    %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %p = mp.sigmoid %y : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %q = mp.sub %one, %p : (tensor<f32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %f = mp.pow %q, %half : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %l = mp.reduce_mean %f {axes = array<i64: 0, 1>, keep_dims = false} : (tensor<8x4xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["f"])

//--- rows.mlir
module {
  func.func @main(%x: tensor<2x4x8xf32> {mp.name = "x"}, %pad: tensor<2x1x4xi1> {mp.name = "pad"}) -> (tensor<f32> {mp.name = "loss"}) {
    %w = mp.constant dense<0.5> : tensor<8x4xf32> loc(#w)
    %none = mp.constant dense<0xFF800000> : tensor<f32>
    %s = mp.matmul %x, %w : (tensor<2x4x8xf32>, tensor<8x4xf32>) -> tensor<2x4x4xf32>
    %m = mp.masked_fill %s, %pad, %none : (tensor<2x4x4xf32>, tensor<2x1x4xi1>, tensor<f32>) -> tensor<2x4x4xf32>
    %q = mp.softmax %m {axis = -1 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %p = mp.mul %q, %q : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %l = mp.reduce_mean %p {axes = array<i64: 0, 1, 2>, keep_dims = false} : (tensor<2x4x4xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["f"])

//--- replaced.mlir
module {
  func.func @main(%x: tensor<2x4x8xf32> {mp.name = "x"}, %pad: tensor<2x4x4xi1> {mp.name = "pad"}) -> (tensor<f32> {mp.name = "loss"}) {
    %w = mp.constant dense<0.5> : tensor<8x4xf32> loc(#w)
    %none = mp.constant dense<0xFF800000> : tensor<f32>
    %zero = mp.constant dense<0.0> : tensor<f32>
    %s = mp.matmul %x, %w : (tensor<2x4x8xf32>, tensor<8x4xf32>) -> tensor<2x4x4xf32>
    %m = mp.masked_fill %s, %pad, %none : (tensor<2x4x4xf32>, tensor<2x4x4xi1>, tensor<f32>) -> tensor<2x4x4xf32>
    %e = mp.reduce_all %pad {axes = array<i64: 2>, keep_dims = true} : (tensor<2x4x4xi1>) -> tensor<2x4x1xi1>
    %r = mp.masked_fill %m, %e, %zero : (tensor<2x4x4xf32>, tensor<2x4x1xi1>, tensor<f32>) -> tensor<2x4x4xf32>
    %q = mp.softmax %r {axis = -1 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %p = mp.mul %q, %q : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %l = mp.reduce_mean %p {axes = array<i64: 0, 1, 2>, keep_dims = false} : (tensor<2x4x4xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["f"])
