// A length whose epsilon is 0 in FP16 is 0 for rows of padding, for masked rows
// and for the row of a table that stands for padding: rare ones, which move no
// estimate, and 0 / 0 is NaN.
// RUN: split-file %s %t
// RUN: not mpopt --check %t/padded.mlir --precision fp16 | FileCheck %s
// RUN: not mpopt --check %t/chosen.mlir --precision fp16 | FileCheck %s
// RUN: not mpopt --check %t/table.mlir --precision fp16 | FileCheck %s
// RUN: not mpopt --check %t/centred.mlir --precision fp16 | FileCheck %s
// RUN: mpopt --check %t/longer.mlir --precision fp16
// A softplus of a row of zeros is no zero: no epsilon has to guard it.
// RUN: mpopt --check %t/positive.mlir --precision fp16
// CHECK: error[MP203]

//--- padded.mlir
func.func @main(%x: tensor<16x64xf32>) -> (tensor<17x64xf32> {mp.name = "result"}) {
  %epsilon = mp.constant dense<1.0e-8> : tensor<f32>
  %0 = mp.pad %x {pads = array<i64: 1, 0, 0, 0>} : (tensor<16x64xf32>) -> tensor<17x64xf32>
  %1 = mp.norm %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<17x64xf32>) -> tensor<17x1xf32>
  %2 = mp.add %1, %epsilon : (tensor<17x1xf32>, tensor<f32>) -> tensor<17x1xf32>
  %3 = mp.div %0, %2 : (tensor<17x64xf32>, tensor<17x1xf32>) -> tensor<17x64xf32>
  return %3 : tensor<17x64xf32>
}

//--- chosen.mlir
func.func @main(%x: tensor<16x64xf32>, %m: tensor<16x1xi1>) -> (tensor<16x64xf32> {mp.name = "result"}) {
  %epsilon = mp.constant dense<1.0e-8> : tensor<f32>
  %zero = mp.constant dense<0.0> : tensor<f32>
  %0 = mp.where %m, %x, %zero : (tensor<16x1xi1>, tensor<16x64xf32>, tensor<f32>) -> tensor<16x64xf32>
  %1 = mp.norm %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<16x64xf32>) -> tensor<16x1xf32>
  %2 = mp.max %1, %epsilon : (tensor<16x1xf32>, tensor<f32>) -> tensor<16x1xf32>
  %3 = mp.div %0, %2 : (tensor<16x64xf32>, tensor<16x1xf32>) -> tensor<16x64xf32>
  return %3 : tensor<16x64xf32>
}

//--- table.mlir
func.func @main(%i: tensor<16xi64>) -> (tensor<16x4xf32> {mp.name = "result"}) {
  %epsilon = mp.constant dense<1.0e-8> : tensor<f32>
  %table = mp.constant dense<[[0.0, 0.0, 0.0, 0.0], [1.0, -2.0, 0.5, 1.5], [1.0, 2.0, -0.5, 1.5]]> : tensor<3x4xf32>
  %0 = mp.gather %table, %i {axis = 0 : i64} : (tensor<3x4xf32>, tensor<16xi64>) -> tensor<16x4xf32>
  %1 = mp.norm %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<16x4xf32>) -> tensor<16x1xf32>
  %2 = mp.max %1, %epsilon : (tensor<16x1xf32>, tensor<f32>) -> tensor<16x1xf32>
  %3 = mp.div %0, %2 : (tensor<16x4xf32>, tensor<16x1xf32>) -> tensor<16x4xf32>
  return %3 : tensor<16x4xf32>
}

//--- centred.mlir
func.func @main(%x: tensor<16x64xf32>) -> (tensor<17x64xf32> {mp.name = "result"}) {
  %epsilon = mp.constant dense<1.0e-8> : tensor<f32>
  %0 = mp.pad %x {pads = array<i64: 1, 0, 0, 0>} : (tensor<16x64xf32>) -> tensor<17x64xf32>
  %1 = mp.reduce_mean %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<17x64xf32>) -> tensor<17x1xf32>
  %2 = mp.sub %0, %1 : (tensor<17x64xf32>, tensor<17x1xf32>) -> tensor<17x64xf32>
  %3 = mp.mul %2, %2 : (tensor<17x64xf32>, tensor<17x64xf32>) -> tensor<17x64xf32>
  %4 = mp.reduce_mean %3 {axes = array<i64: 1>, keep_dims = true} : (tensor<17x64xf32>) -> tensor<17x1xf32>
  %5 = mp.add %4, %epsilon : (tensor<17x1xf32>, tensor<f32>) -> tensor<17x1xf32>
  %6 = mp.sqrt %5 : (tensor<17x1xf32>) -> tensor<17x1xf32>
  %7 = mp.div %2, %6 : (tensor<17x64xf32>, tensor<17x1xf32>) -> tensor<17x64xf32>
  return %7 : tensor<17x64xf32>
}

// A row that is only longer.

//--- longer.mlir
func.func @main(%x: tensor<16x64xf32>) -> (tensor<16x65xf32> {mp.name = "result"}) {
  %epsilon = mp.constant dense<1.0e-8> : tensor<f32>
  %bias = mp.constant dense<1.0> : tensor<f32>
  %y = mp.add %x, %bias : (tensor<16x64xf32>, tensor<f32>) -> tensor<16x64xf32>
  %0 = mp.pad %y {pads = array<i64: 0, 1, 0, 0>} : (tensor<16x64xf32>) -> tensor<16x65xf32>
  %1 = mp.norm %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<16x65xf32>) -> tensor<16x1xf32>
  %2 = mp.add %1, %epsilon : (tensor<16x1xf32>, tensor<f32>) -> tensor<16x1xf32>
  %3 = mp.div %0, %2 : (tensor<16x65xf32>, tensor<16x1xf32>) -> tensor<16x65xf32>
  return %3 : tensor<16x65xf32>
}

//--- positive.mlir
func.func @main(%x: tensor<16x64xf32>) -> (tensor<16x64xf32> {mp.name = "result"}) {
  %ten = mp.constant dense<10.0> : tensor<f32>
  %sixty = mp.constant dense<60.0> : tensor<f32>
  %epsilon = mp.constant dense<1.0e-8> : tensor<f32>
  %far = mp.mul %x, %ten : (tensor<16x64xf32>, tensor<f32>) -> tensor<16x64xf32>
  %near = mp.add %far, %sixty : (tensor<16x64xf32>, tensor<f32>) -> tensor<16x64xf32>
  %0 = mp.softplus %near : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %1 = mp.add %0, %epsilon : (tensor<16x64xf32>, tensor<f32>) -> tensor<16x64xf32>
  %2 = mp.sqrt %1 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %3 = mp.div %x, %2 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  return %3 : tensor<16x64xf32>
}
