// A state is rounded in each trip of its loop, and so is the factor by which it
// decays. One trip moves the output as a single op does; of 1,500 trips with a
// decay of 0.9998, which FP16 stores as 1, nothing is left. The sum and the
// product are kept in FP32, the matrix product is not.
// RUN: mpopt --check %s --precision fp16 --fail-on never --format json -o %t.json --keep-fp32 %t.keep.json
// RUN: FileCheck %s < %t.json
// RUN: FileCheck %s --check-prefix KEEP < %t.keep.json
// CHECK: "effects"
// CHECK: "output": "once"
// CHECK-NEXT: "expected_error": 0.000
// CHECK: "output": "slow"
// CHECK-NEXT: "expected_error": {{0.[1-9]|[1-9]}}
// CHECK: "output": "fast"
// CHECK-NEXT: "expected_error": 0.00
// KEEP: "name": "slow_decay"
// KEEP: "reason": "rounding `slow` changes `slow` by
// KEEP: "name": "slow_sum"
// KEEP-NOT: "name"
func.func @main(%x: tensor<4x8xf32> {mp.name = "x"}, %s: tensor<4x8xf32> {mp.name = "s"}) -> (tensor<4x8xf32> {mp.name = "once"}, tensor<4x8xf32> {mp.name = "slow"}, tensor<4x8xf32> {mp.name = "fast"}) {
  %w = mp.constant dense<0.3> : tensor<8x8xf32>
  %near = mp.constant dense<0.9998> : tensor<f32>
  %half = mp.constant dense<0.6> : tensor<f32>
  %one = mp.constant dense<1> : tensor<i64>
  %many = mp.constant dense<1500> : tensor<i64>
  %go = mp.constant dense<true> : tensor<i1>
  %0 = mp.loop count %one while %go iter(%s) : (tensor<i64>, tensor<i1>, tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%i: tensor<i64>, %running: tensor<i1>, %state: tensor<4x8xf32>):
    %3 = mp.mul %state, %near : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32> loc(fused<#mp.origin<"once_decay", "Mul", "one", ["3"]>>["m":1:1])
    %4 = mp.add %3, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc(fused<#mp.origin<"once_sum", "Add", "one", ["4"]>>["m":2:1])
    mp.yield %running, %4 : tensor<i1>, tensor<4x8xf32>
  } loc(fused<#mp.origin<"one", "Loop", "", ["once"]>>["m":3:1])
  %1 = mp.loop count %many while %go iter(%s) : (tensor<i64>, tensor<i1>, tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%i: tensor<i64>, %running: tensor<i1>, %state: tensor<4x8xf32>):
    %3 = mp.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc(fused<#mp.origin<"slow_product", "MatMul", "many", ["3"]>>["m":4:1])
    %4 = mp.mul %state, %near : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32> loc(fused<#mp.origin<"slow_decay", "Mul", "many", ["4"]>>["m":5:1])
    %5 = mp.add %4, %3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc(fused<#mp.origin<"slow_sum", "Add", "many", ["5"]>>["m":6:1])
    mp.yield %running, %5 : tensor<i1>, tensor<4x8xf32>
  } loc(fused<#mp.origin<"many", "Loop", "", ["slow"]>>["m":7:1])
  %2 = mp.loop count %many while %go iter(%s) : (tensor<i64>, tensor<i1>, tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%i: tensor<i64>, %running: tensor<i1>, %state: tensor<4x8xf32>):
    %3 = mp.mul %state, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32> loc(fused<#mp.origin<"fast_decay", "Mul", "short", ["3"]>>["m":8:1])
    %4 = mp.add %3, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc(fused<#mp.origin<"fast_sum", "Add", "short", ["4"]>>["m":9:1])
    mp.yield %running, %4 : tensor<i1>, tensor<4x8xf32>
  } loc(fused<#mp.origin<"short", "Loop", "", ["fast"]>>["m":10:1])
  return %0, %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
