// In FP32 probabilities next to 0 may be subnormal, with as many bits as FP16
// has: their logarithm is as exact as the scores still. The two ops alone are
// kept, and not all that scores are made of.
// RUN: mpopt --check %s --precision fp16 --input x=-1:1 --input x~0,0.5 --fail-on never -o %t.txt --keep-fp32 %t.json
// RUN: FileCheck %s < %t.json
// CHECK-NOT: "name": "scores"
// CHECK: "name": "p"
// CHECK: "name": "log"
// CHECK-NOT: "name"
func.func @main(%x: tensor<64x2xf32> {mp.name = "x"}) -> (tensor<64x3xf32> {mp.name = "y"}) {
  %w = mp.constant dense<[[50.0, 0.0, -50.0], [-25.0, 25.0, 0.0]]> : tensor<2x3xf32>
  %0 = mp.matmul %x, %w : (tensor<64x2xf32>, tensor<2x3xf32>) -> tensor<64x3xf32> loc(fused<#mp.origin<"scores", "MatMul", "", ["0"]>>["m":1:1])
  %1 = mp.softmax %0 {axis = 1 : i64} : (tensor<64x3xf32>) -> tensor<64x3xf32> loc(fused<#mp.origin<"p", "Softmax", "", ["1"]>>["m":2:1])
  %2 = mp.log %1 : (tensor<64x3xf32>) -> tensor<64x3xf32> loc(fused<#mp.origin<"log", "Log", "", ["y"]>>["m":3:1])
  return %2 : tensor<64x3xf32>
}
