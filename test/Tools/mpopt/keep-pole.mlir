// An epsilon of which the pole is past the dtype: what reads it computes in
// FP32, too, through a transposition, as a node without neighbours has 0 times
// it.

// RUN: not mpopt --check %s --precision fp16 --input a=0:1 --input a~0.5,0.3 --keep-fp32 %t.json > %t.out
// RUN: FileCheck %s --input-file %t.json

// CHECK-DAG: "name": "degree"
// CHECK-DAG: "name": "inverse"
// CHECK-DAG: "name": "turned"
// CHECK-DAG: "name": "rows"
// CHECK-DAG: "name": "columns"

func.func @main(%a: tensor<24x24xf32> {mp.name = "a"}) -> (tensor<24x24xf32> {mp.name = "y"}) {
  %epsilon = mp.constant dense<1.0e-10> : tensor<f32>
  %power = mp.constant dense<-0.5> : tensor<f32>
  %0 = mp.reduce_sum %a {axes = array<i64: 1>, keep_dims = true} : (tensor<24x24xf32>) -> tensor<24x1xf32> loc(fused<#mp.origin<"sum", "Op", "", ["t1"]>>["m":1:1])
  %1 = mp.add %0, %epsilon : (tensor<24x1xf32>, tensor<f32>) -> tensor<24x1xf32> loc(fused<#mp.origin<"degree", "Op", "", ["t2"]>>["m":2:1])
  %2 = mp.pow %1, %power : (tensor<24x1xf32>, tensor<f32>) -> tensor<24x1xf32> loc(fused<#mp.origin<"inverse", "Op", "", ["t3"]>>["m":3:1])
  %3 = mp.mul %a, %2 : (tensor<24x24xf32>, tensor<24x1xf32>) -> tensor<24x24xf32> loc(fused<#mp.origin<"rows", "Op", "", ["t4"]>>["m":4:1])
  %4 = mp.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<24x1xf32>) -> tensor<1x24xf32> loc(fused<#mp.origin<"turned", "Op", "", ["t5"]>>["m":5:1])
  %5 = mp.mul %3, %4 : (tensor<24x24xf32>, tensor<1x24xf32>) -> tensor<24x24xf32> loc(fused<#mp.origin<"columns", "Op", "", ["t6"]>>["m":6:1])
  return %5 : tensor<24x24xf32>
}
