// A sum that a loop carries passes 65504. It is FP32 from trip to trip where
// the op that adds is kept, and behind the loop up to the op that divides. What
// is added comes near 65504, and is kept with the sum.
// RUN: mpopt --check %s --precision fp16 --input x=-4:4 --input x~0,1 --fail-on never -o %t.txt --keep-fp32 %t.json 2> %t.warnings
// RUN: FileCheck %s < %t.json
// RUN: not grep stays %t.warnings
// CHECK: "name": "boost"
// CHECK: "name": "add"
// CHECK: "name": "end"
// CHECK-NOT: "name"
func.func @main(%x: tensor<2x8xf32> {mp.name = "x"}) -> (tensor<2x8xf32> {mp.name = "y"}) {
  %k = mp.constant dense<4.0e+4> : tensor<f32>
  %zero = mp.constant dense<0.0> : tensor<2x8xf32>
  %trips = mp.constant dense<6> : tensor<i64>
  %go = mp.constant dense<true> : tensor<i1>
  %0 = mp.loop count %trips while %go iter(%zero) : (tensor<i64>, tensor<i1>, tensor<2x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%i: tensor<i64>, %running: tensor<i1>, %sum: tensor<2x8xf32>):
    %2 = mp.tanh %x : (tensor<2x8xf32>) -> tensor<2x8xf32> loc(fused<#mp.origin<"act", "Tanh", "body", ["2"]>>["m":1:1])
    %3 = mp.mul %2, %k : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32> loc(fused<#mp.origin<"boost", "Mul", "body", ["3"]>>["m":2:1])
    %4 = mp.add %sum, %3 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32> loc(fused<#mp.origin<"add", "Add", "body", ["4"]>>["m":3:1])
    mp.yield %running, %4 : tensor<i1>, tensor<2x8xf32>
  } loc(fused<#mp.origin<"loop", "Loop", "", ["0"]>>["m":4:1])
  %1 = mp.div %0, %k : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32> loc(fused<#mp.origin<"end", "Div", "", ["y"]>>["m":5:1])
  return %1 : tensor<2x8xf32>
}
