// Two products overflow, and one op between them does not need FP32. It reads
// and makes 256 elements, so that FP32 costs 1024 bytes there; a cast down and
// one up would cost 3072. The matrix product between them costs more than that.
// RUN: split-file %s %t
// RUN: mpopt --check %t/cheap.mlir --precision fp16 --input x=-9:9 --input x~0,3 --fail-on never -o %t.txt --keep-fp32 %t/cheap.json
// RUN: FileCheck %s --check-prefix CHEAP --input-file %t/cheap.json
// RUN: mpopt --check %t/dear.mlir --precision fp16 --input x=-9:9 --input x~0,3 --fail-on never -o %t.txt --keep-fp32 %t/dear.json
// RUN: FileCheck %s --check-prefix DEAR --input-file %t/dear.json

// CHEAP: "name": "up1"
// CHEAP: "reason": "magnitudes are expected to reach {{.*}}, past 65504
// CHEAP: "name": "down1"
// CHEAP: "name": "between"
// CHEAP: "reason": "beside ops in FP32: casts would cost more"
// CHEAP: "name": "up2"
// CHEAP: "name": "down2"
// CHEAP-NOT: "name"

// DEAR: "name": "up1"
// DEAR: "name": "down1"
// DEAR-NOT: "name": "between"
// DEAR: "name": "up2"
// DEAR: "name": "down2"
// DEAR-NOT: "name"

//--- cheap.mlir
func.func @main(%x: tensor<1x256xf32> {mp.name = "x"}) -> (tensor<1x256xf32> {mp.name = "y"}) {
  %c = mp.constant dense<3.0e+4> : tensor<f32>
  %0 = mp.mul %x, %c : (tensor<1x256xf32>, tensor<f32>) -> tensor<1x256xf32> loc(fused<#mp.origin<"up1", "Mul", "", ["0"]>>["m":1:1])
  %1 = mp.div %0, %c : (tensor<1x256xf32>, tensor<f32>) -> tensor<1x256xf32> loc(fused<#mp.origin<"down1", "Div", "", ["1"]>>["m":2:1])
  %2 = mp.neg %1 : (tensor<1x256xf32>) -> tensor<1x256xf32> loc(fused<#mp.origin<"between", "Neg", "", ["2"]>>["m":3:1])
  %3 = mp.mul %2, %c : (tensor<1x256xf32>, tensor<f32>) -> tensor<1x256xf32> loc(fused<#mp.origin<"up2", "Mul", "", ["3"]>>["m":4:1])
  %4 = mp.div %3, %c : (tensor<1x256xf32>, tensor<f32>) -> tensor<1x256xf32> loc(fused<#mp.origin<"down2", "Div", "", ["y"]>>["m":5:1])
  return %4 : tensor<1x256xf32>
}

//--- dear.mlir
func.func @main(%x: tensor<1x256xf32> {mp.name = "x"}) -> (tensor<1x256xf32> {mp.name = "y"}) {
  %c = mp.constant dense<3.0e+4> : tensor<f32>
  %w = mp.constant dense<0.0625> : tensor<256x256xf32>
  %0 = mp.mul %x, %c : (tensor<1x256xf32>, tensor<f32>) -> tensor<1x256xf32> loc(fused<#mp.origin<"up1", "Mul", "", ["0"]>>["m":1:1])
  %1 = mp.div %0, %c : (tensor<1x256xf32>, tensor<f32>) -> tensor<1x256xf32> loc(fused<#mp.origin<"down1", "Div", "", ["1"]>>["m":2:1])
  %2 = mp.matmul %1, %w : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32> loc(fused<#mp.origin<"between", "MatMul", "", ["2"]>>["m":3:1])
  %3 = mp.mul %2, %c : (tensor<1x256xf32>, tensor<f32>) -> tensor<1x256xf32> loc(fused<#mp.origin<"up2", "Mul", "", ["3"]>>["m":4:1])
  %4 = mp.div %3, %c : (tensor<1x256xf32>, tensor<f32>) -> tensor<1x256xf32> loc(fused<#mp.origin<"down2", "Div", "", ["y"]>>["m":5:1])
  return %4 : tensor<1x256xf32>
}
