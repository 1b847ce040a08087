// An epsilon that is 0 in FP16 guards two logarithms. Sums in FP32 alone would be
// stored in FP16 in front of them, where it is 0 again: all four are listed,
// though no estimate expects an argument of 0.
// RUN: mpopt --check %s --precision fp16 --input x=0:1 --input x~0.5,0.1 --fail-on never -o %t.txt --keep-fp32 %t.json
// RUN: FileCheck %s < %t.json
// CHECK-COUNT-4: "name": "{{first|second}}_{{sum|log}}"
// CHECK-NOT: "name"
func.func @main(%x: tensor<4x16xf32> {mp.name = "x"}) -> (tensor<4x16xf32> {mp.name = "a"}, tensor<4x16xf32> {mp.name = "b"}) {
  %e = mp.constant dense<1.0e-8> : tensor<f32>
  %0 = mp.add %x, %e : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32> loc(fused<#mp.origin<"first_sum", "Add", "", ["0"]>>["m":1:1])
  %1 = mp.log %0 : (tensor<4x16xf32>) -> tensor<4x16xf32> loc(fused<#mp.origin<"first_log", "Log", "", ["a"]>>["m":2:1])
  %2 = mp.mul %x, %x : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32> loc(fused<#mp.origin<"square", "Mul", "", ["2"]>>["m":3:1])
  %3 = mp.add %2, %e : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32> loc(fused<#mp.origin<"second_sum", "Add", "", ["3"]>>["m":4:1])
  %4 = mp.log %3 : (tensor<4x16xf32>) -> tensor<4x16xf32> loc(fused<#mp.origin<"second_log", "Log", "", ["b"]>>["m":5:1])
  return %1, %4 : tensor<4x16xf32>, tensor<4x16xf32>
}
