// A rounding is as large as its number, and a logarithm as steep as it is small: of
// energies it is off by 0.4 u, however near to 0 some are. The square of a normal
// number is off by sqrt(3) of what independent factors would give.
// RUN: split-file %s %t
// RUN: mpopt --check %t/log.mlir --precision fp16 --format json -o %t/log.json
// RUN: mpopt --check %t/square.mlir --precision fp16 --format json -o %t/square.json
// RUN: %python %S/Inputs/share-of.py %t/log.json s 8e-5 2.2e-4
// RUN: %python %S/Inputs/share-of.py %t/square.json x 3e-4 4.2e-4
// RUN: mpopt --check %t/limit.mlir --precision fp16 --format json -o %t/limit.json
// RUN: %python %S/Inputs/share-of.py %t/limit.json s 8e-5 2.2e-4
// A logarithm of what a condition leaves is as steep only where it is chosen.
// RUN: mpopt --check %t/chosen.mlir --precision fp16 --format json -o %t/chosen.json
// RUN: %python %S/Inputs/share-of.py %t/chosen.json x 4e-5 2.2e-4

// Few magnitudes are as small as an epsilon next to them.
// RUN: mpopt --check %t/magnitude.mlir --precision fp16 --format json | FileCheck %s
// CHECK: "expected_rms": 0.000{{[1-5]}}

//--- magnitude.mlir
func.func @main(%x: tensor<64x256xf32> {mp.name = "x"}) -> (tensor<64x256xf32> {mp.name = "result"}) {
  %eps = mp.constant dense<1.0e-6> : tensor<f32>
  %0 = mp.abs %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %1 = mp.add %0, %eps : (tensor<64x256xf32>, tensor<f32>) -> tensor<64x256xf32>
  %2 = mp.log %1 : (tensor<64x256xf32>) -> tensor<64x256xf32>
  return %2 : tensor<64x256xf32>
}

//--- log.mlir
func.func @main(%x: tensor<64x256xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) -> (tensor<64x64xf32> {mp.name = "result"}) {
  %w = mp.constant dense<1.0> : tensor<4x1xf32>
  %eps = mp.constant dense<1.0e-4> : tensor<f32>
  %shape = mp.constant dense<[4096, 4]> : tensor<2xi64>
  %back = mp.constant dense<[64, 64]> : tensor<2xi64>
  %p = mp.square %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %r = mp.reshape %p, %shape : (tensor<64x256xf32>, tensor<2xi64>) -> tensor<4096x4xf32>
  %s = mp.matmul %r, %w : (tensor<4096x4xf32>, tensor<4x1xf32>) -> tensor<4096x1xf32> loc(fused<#mp.origin<"s", "MatMul", "", ["s"]>>["model"])
  %t = mp.reshape %s, %back : (tensor<4096x1xf32>, tensor<2xi64>) -> tensor<64x64xf32>
  %0 = mp.add %t, %eps : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %1 = mp.log %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

//--- square.mlir
func.func @main(%x: tensor<64x256xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) -> (tensor<64x256xf32> {mp.name = "result"}) {
  %0 = mp.square %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  return %0 : tensor<64x256xf32>
}

//--- limit.mlir
func.func @main(%x: tensor<64x256xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) -> (tensor<64x64xf32> {mp.name = "result"}) {
  %w = mp.constant dense<1.0> : tensor<4x1xf32>
  %eps = mp.constant dense<1.0e-4> : tensor<f32>
  %shape = mp.constant dense<[4096, 4]> : tensor<2xi64>
  %back = mp.constant dense<[64, 64]> : tensor<2xi64>
  %p = mp.square %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %r = mp.reshape %p, %shape : (tensor<64x256xf32>, tensor<2xi64>) -> tensor<4096x4xf32>
  %s = mp.matmul %r, %w : (tensor<4096x4xf32>, tensor<4x1xf32>) -> tensor<4096x1xf32> loc(fused<#mp.origin<"s", "MatMul", "", ["s"]>>["model"])
  %t = mp.reshape %s, %back : (tensor<4096x1xf32>, tensor<2xi64>) -> tensor<64x64xf32>
  %0 = mp.max %t, %eps : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %1 = mp.log %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

//--- chosen.mlir
func.func @main(%x: tensor<64x256xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) -> (tensor<64x256xf32> {mp.name = "result"}) {
  %zero = mp.constant dense<0.0> : tensor<f32>
  %one = mp.constant dense<1.0> : tensor<f32>
  %c = mp.greater %x, %zero : (tensor<64x256xf32>, tensor<f32>) -> tensor<64x256xi1>
  %s = mp.where %c, %x, %one : (tensor<64x256xi1>, tensor<64x256xf32>, tensor<f32>) -> tensor<64x256xf32>
  %0 = mp.log %s : (tensor<64x256xf32>) -> tensor<64x256xf32>
  return %0 : tensor<64x256xf32>
}
