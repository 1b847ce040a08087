// Whole numbers change by the errors of the values that are rounded to them:
// the list goes back to these, and on to the sums that whole numbers need.

// RUN: not mpopt --check %s --precision fp16 --input x~0,1 --keep-fp32 %t.json > %t.out 2> %t.err
// RUN: FileCheck %s --input-file %t.json
// RUN: FileCheck %s --check-prefix TEXT --input-file %t.out

// CHECK-DAG: "name": "scaled"
// CHECK-DAG: "name": "code"
// CHECK-DAG: "name": "index"
// TEXT: is expected to change {{[0-9]+}} % of the integers in `y`

func.func @main(%x: tensor<64x4xf32> {mp.name = "x"}) -> (tensor<64xi64> {mp.name = "y"}) {
  %levels = mp.constant dense<16.0> : tensor<f32>
  %bases = mp.constant dense<[1.0, 40.0, 1600.0, 3200.0]> : tensor<4xf32>
  %0 = mp.tanh %x : (tensor<64x4xf32>) -> tensor<64x4xf32> loc(fused<#mp.origin<"tanh", "Op", "", ["t1"]>>["m":1:1])
  %1 = mp.mul %0, %levels : (tensor<64x4xf32>, tensor<f32>) -> tensor<64x4xf32> loc(fused<#mp.origin<"scaled", "Op", "", ["t2"]>>["m":2:1])
  %2 = mp.round %1 : (tensor<64x4xf32>) -> tensor<64x4xf32> loc(fused<#mp.origin<"code", "Op", "", ["t3"]>>["m":3:1])
  %3 = mp.mul %2, %bases : (tensor<64x4xf32>, tensor<4xf32>) -> tensor<64x4xf32> loc(fused<#mp.origin<"weighted", "Op", "", ["t4"]>>["m":4:1])
  %4 = mp.reduce_sum %3 {axes = array<i64: 1>, keep_dims = false} : (tensor<64x4xf32>) -> tensor<64xf32> loc(fused<#mp.origin<"index", "Op", "", ["t5"]>>["m":5:1])
  %5 = mp.cast %4 : (tensor<64xf32>) -> tensor<64xi64> loc(fused<#mp.origin<"whole", "Op", "", ["t6"]>>["m":6:1])
  return %5 : tensor<64xi64>
}
