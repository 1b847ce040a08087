// Truth values and whole numbers that roundings change: what they are decided by stays in FP32 as
// far as they are rounded, the comparison with it. The other comparison is far
// from what it compares with.
// RUN: not mpopt --check %s --precision fp16 --input x~0,1 --format json -o %t.txt --keep-fp32 %t.json
// RUN: FileCheck %s < %t.json
// RUN: FileCheck %s --check-prefix=REPORT < %t.txt
// CHECK:      "name": "shift"
// CHECK:      "name": "compare"
// CHECK:      "name": "divide"
// CHECK:      "name": "floor"
// CHECK:      "name": "whole"
// CHECK-NOT: "name"
// REPORT-NOT: stay{{s?}} with the ops
// REPORT: "rule": "MP309"
func.func @main(%x: tensor<64x64xf32> {mp.name = "x"}) -> (tensor<64x64xi1> {mp.name = "k"}, tensor<64x64xi1> {mp.name = "far"}, tensor<64x64xi64> {mp.name = "bin"}) {
  %scale = mp.constant dense<0.01> : tensor<f32>
  %hundred = mp.constant dense<100.0> : tensor<f32>
  %0 = mp.mul %x, %scale : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32> loc(fused<#mp.origin<"scale", "Mul", "", ["0"]>>["m":1:1])
  %1 = mp.add %0, %hundred : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32> loc(fused<#mp.origin<"shift", "Add", "", ["1"]>>["m":2:1])
  %2 = mp.greater %1, %hundred : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xi1> loc(fused<#mp.origin<"compare", "Greater", "", ["k"]>>["m":3:1])
  %3 = mp.greater %x, %hundred : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xi1> loc(fused<#mp.origin<"other", "Greater", "", ["far"]>>["m":4:1])
  %4 = mp.div %1, %scale : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32> loc(fused<#mp.origin<"divide", "Div", "", ["4"]>>["m":5:1])
  %5 = mp.floor %4 : (tensor<64x64xf32>) -> tensor<64x64xf32> loc(fused<#mp.origin<"floor", "Floor", "", ["5"]>>["m":6:1])
  %6 = mp.cast %5 : (tensor<64x64xf32>) -> tensor<64x64xi64> loc(fused<#mp.origin<"whole", "Cast", "", ["bin"]>>["m":7:1])
  return %2, %3, %6 : tensor<64x64xi1>, tensor<64x64xi1>, tensor<64x64xi64>
}
