// States that training moves to come with fixes that were tried; a twin beside
// each that has the fix is silent.

// RUN: split-file %s %t
// RUN: mpopt --check %t/count.mlir --train --precision fp16 --loss sum:loss --select MP206 --format json | FileCheck %s --check-prefix=COUNT
// RUN: mpopt --check %t/saturated.mlir --train --precision fp16 --loss sum:loss --select MP306 --format json | FileCheck %s --check-prefix=SATURATED
// RUN: mpopt --check %t/scale.mlir --train --precision fp16 --loss sum:loss --select MP207 --format json | FileCheck %s --check-prefix=SCALE
// RUN: mpopt --check %t/scale.mlir --train --precision bf16 --loss sum:loss --select MP207 --format json | FileCheck %s --check-prefix=NONE
// RUN: mpopt --check %t/scale.mlir --precision fp16 --select MP207 --format json | FileCheck %s --check-prefix=NONE
// RUN: not mpopt --check %t/inverse.mlir --train --precision fp16 --loss sum:loss --format json | FileCheck %s --check-prefix=INVERSE

// COUNT:      "reachable": "training"
// COUNT:      "kind": "clamp",
// COUNT-NEXT: "safe": true,
// COUNT-NEXT: "text": "clamp the divisor at 1
// COUNT-NOT:  "reachable"

// SATURATED:      "reachable": "training"
// SATURATED:      "kind": "clamp",
// SATURATED-NEXT: "safe": true,
// SATURATED-NEXT: "text": "clip the probability to at most 0.998
// SATURATED-NOT:  "reachable"

// SCALE:      "reachable": "training"
// SCALE:      the argument is a parameter
// SCALE:      "kind": "clamp",
// SCALE-NEXT: "safe": true,
// SCALE-NOT:  "reachable"
// NONE-NOT:   "reachable"

// INVERSE: the training step is not judged, the model is: aten::linalg_inv {{.*}} is not modelled, and PyTorch has no kernel of it in 16 bits
// INVERSE: "rule": "MP102"

//--- count.mlir
// The mean over tokens that a mask lets count.
module {
  func.func @main(%x: tensor<8x4xf32> {mp.name = "x"}, %m: tensor<8x4xi1> {mp.name = "m"}) -> (tensor<f32> {mp.name = "loss"}) {
    %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
    %one = mp.constant dense<1.0> : tensor<f32>
    %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %c = mp.cast %m : (tensor<8x4xi1>) -> tensor<8x4xf32>
    %p = mp.mul %y, %c : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %s = mp.reduce_sum %p {axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
    %n = mp.reduce_sum %c {axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
    %a = mp.div %s, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %k = mp.clip %n min %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %b = mp.div %s, %k : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %l = mp.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["f"])

//--- saturated.mlir
module {
  func.func @main(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
    %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
    %one = mp.constant dense<1.0> : tensor<f32>
    %most = mp.constant dense<0.99> : tensor<f32>
    %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %p = mp.softmax %y {axis = 1 : i64} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %q = mp.sub %one, %p : (tensor<f32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %f = mp.log %q : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %p2 = mp.softmax %y {axis = 1 : i64} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %k = mp.clip %p2 max %most : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %q2 = mp.sub %one, %k : (tensor<f32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %f2 = mp.log %q2 : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %g = mp.add %f, %f2 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %l = mp.reduce_mean %g {axes = array<i64: 0, 1>, keep_dims = false} : (tensor<8x4xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["f"])

//--- scale.mlir
// Temperatures that are learned as logarithms; one is clipped.
module {
  func.func @main(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
    %t = mp.constant dense<0.5> : tensor<f32> loc(#t)
    %u = mp.constant dense<0.6> : tensor<f32> loc(#u)
    %most = mp.constant dense<4.6> : tensor<f32>
    %e = mp.exp %t : (tensor<f32>) -> tensor<f32>
    %c = mp.clip %u max %most : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %f = mp.exp %c : (tensor<f32>) -> tensor<f32>
    %y = mp.mul %x, %e : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %z = mp.mul %y, %f : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %l = mp.reduce_mean %z {axes = array<i64: 0, 1>, keep_dims = false} : (tensor<8x4xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
#t = loc(fused<#mp.origin<"t", "Initializer", "", ["t"]>>["f"])
#u = loc(fused<#mp.origin<"u", "Initializer", "", ["u"]>>["f"])

//--- inverse.mlir
module {
  func.func @main(%x: tensor<4x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
    %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
    %y = mp.add %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %i = mp.opaque "aten::linalg_inv"(%y) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %l = mp.reduce_sum %i {axes = array<i64: 0, 1>, keep_dims = false} : (tensor<4x4xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["f"])
