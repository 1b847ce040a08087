// An index has no derivative: its effect is that of the choices that errors change.
// RUN: split-file %s %t
// RUN: not mpopt --check %t/near.mlir | FileCheck %s --check-prefix NEAR
// RUN: mpopt --check %t/far.mlir | FileCheck %s --check-prefix FAR
// RUN: mpopt --check %t/pieces.mlir | FileCheck %s --check-prefix PIECES
// RUN: mpopt --check %t/unknown.mlir --format json | FileCheck %s --check-prefix UNKNOWN

// NEAR: is expected to change `result` by {{[0-9]+}} %: too much
// FAR: is expected to change `result` by 0 %: fine
// Both sides of the selection are 0 where the condition changes.
// PIECES: is expected to change `result` by 0.0{{[0-9]+}} %: fine
// Ids that are rounded are no longer told apart: the largest one is another.
// RUN: not mpopt --check %t/ids.mlir --precision fp16 --input i=0:49407 | FileCheck %s --check-prefix IDS
// IDS: warning[MP303]
// IDS: chooses by them, and neighbours are equal
// No finite error changes a test for NaN or Inf.
// RUN: mpopt --check %t/guard.mlir | FileCheck %s --check-prefix GUARD
// GUARD: is expected to change `result` by {{[0-9.e-]+}} %: fine
// Boxes that are kept are decided by their edges: offsets of 3e4 between classes
// leave steps of 16, beside which boxes are small. The offset itself, which all
// edges of a box have, changes nothing.
// RUN: not mpopt --check %t/offsets.mlir --input boxes=0:640 --input labels=0:69 | FileCheck %s --check-prefix OFFSETS
// RUN: mpopt --check %t/offsets.mlir --input boxes=0:640 --input labels=0:0 | FileCheck %s --check-prefix ALIKE
// OFFSETS: warning[MP309]: changed-decisions
// OFFSETS: % of the integers are expected to change
// ALIKE: change {{[0-9.]+}} % of the integers in `kept`: fine
// UNKNOWN: "unknown": "the change of its choice by errors of the result of `mp.mul` is not estimated"

//--- near.mlir
// A common term of 1,000 hides how far 512 candidates are apart.
func.func @main(%x: tensor<64x512xf16> {mp.name = "x"}, %table: tensor<512x8xf16>, %far: tensor<64x1xf16>) -> (tensor<64x8xf16> {mp.name = "result"}) {
  %thousand = mp.constant dense<1000.0> : tensor<f16>
  %c = mp.mul %far, %thousand : (tensor<64x1xf16>, tensor<f16>) -> tensor<64x1xf16>
  %s = mp.add %x, %c : (tensor<64x512xf16>, tensor<64x1xf16>) -> tensor<64x512xf16>
  %i = mp.arg_max %s {axis = 1 : i64} : (tensor<64x512xf16>) -> tensor<64xi64>
  %y = mp.gather %table, %i {axis = 0 : i64} : (tensor<512x8xf16>, tensor<64xi64>) -> tensor<64x8xf16>
  return %y : tensor<64x8xf16>
}

//--- far.mlir
func.func @main(%x: tensor<4x8xf16> {mp.name = "x"}, %table: tensor<8x8xf16>) -> (tensor<4x8xf16> {mp.name = "result"}) {
  %factor = mp.constant dense<1.7> : tensor<f16>
  %s = mp.mul %x, %factor : (tensor<4x8xf16>, tensor<f16>) -> tensor<4x8xf16>
  %i = mp.arg_max %s {axis = 1 : i64} : (tensor<4x8xf16>) -> tensor<4xi64>
  %y = mp.gather %table, %i {axis = 0 : i64} : (tensor<8x8xf16>, tensor<4xi64>) -> tensor<4x8xf16>
  return %y : tensor<4x8xf16>
}

//--- pieces.mlir
func.func @main(%x: tensor<4096xf16> {mp.name = "x"}) -> (tensor<4096xf16> {mp.name = "result"}) {
  %zero = mp.constant dense<0.0> : tensor<f16>
  %slope = mp.constant dense<0.1> : tensor<f16>
  %third = mp.constant dense<0.3> : tensor<f16>
  %a = mp.mul %x, %third : (tensor<4096xf16>, tensor<f16>) -> tensor<4096xf16>
  %p = mp.greater %a, %zero : (tensor<4096xf16>, tensor<f16>) -> tensor<4096xi1>
  %b = mp.mul %a, %slope : (tensor<4096xf16>, tensor<f16>) -> tensor<4096xf16>
  %y = mp.where %p, %a, %b : (tensor<4096xi1>, tensor<4096xf16>, tensor<4096xf16>) -> tensor<4096xf16>
  return %y : tensor<4096xf16>
}

//--- unknown.mlir
func.func @main(%scores: tensor<1x1x64xf16>, %table: tensor<64x8xf16>) -> (tensor<3x?x8xf16> {mp.name = "result"}) {
  %factor = mp.constant dense<1.7> : tensor<f16>
  %s = mp.mul %scores, %factor : (tensor<1x1x64xf16>, tensor<f16>) -> tensor<1x1x64xf16>
  %i = mp.non_zero %s : (tensor<1x1x64xf16>) -> tensor<3x?xi64>
  %y = mp.gather %table, %i {axis = 0 : i64} : (tensor<64x8xf16>, tensor<3x?xi64>) -> tensor<3x?x8xf16>
  return %y : tensor<3x?x8xf16>
}

//--- guard.mlir
func.func @main(%x: tensor<64x64xf16> {mp.name = "x"}) -> (tensor<64x64xf16> {mp.name = "result"}) {
  %zero = mp.constant dense<0.0> : tensor<f16>
  %inf = mp.constant dense<0x7C00> : tensor<f16>
  %third = mp.constant dense<0.3> : tensor<f16>
  %a = mp.mul %x, %third : (tensor<64x64xf16>, tensor<f16>) -> tensor<64x64xf16>
  %n = mp.is_nan %a : (tensor<64x64xf16>) -> tensor<64x64xi1>
  %b = mp.where %n, %zero, %a : (tensor<64x64xi1>, tensor<f16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %i = mp.is_inf %b {detect_negative = true, detect_positive = true} : (tensor<64x64xf16>) -> tensor<64x64xi1>
  %c = mp.where %i, %zero, %b : (tensor<64x64xi1>, tensor<f16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %l = mp.less %c, %inf : (tensor<64x64xf16>, tensor<f16>) -> tensor<64x64xi1>
  %y = mp.where %l, %c, %zero : (tensor<64x64xi1>, tensor<64x64xf16>, tensor<f16>) -> tensor<64x64xf16>
  return %y : tensor<64x64xf16>
}

//--- ids.mlir
func.func @main(%i: tensor<2x24xi64> {mp.name = "i"}, %table: tensor<24x8xf32>) -> (tensor<2x8xf32> {mp.name = "result"}) {
  %f = mp.cast %i : (tensor<2x24xi64>) -> tensor<2x24xf32>
  %a = mp.arg_max %f {axis = 1 : i64} : (tensor<2x24xf32>) -> tensor<2xi64>
  %y = mp.gather %table, %a {axis = 0 : i64} : (tensor<24x8xf32>, tensor<2xi64>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

//--- offsets.mlir
func.func @main(%boxes: tensor<1x64x4xf16> {mp.name = "boxes"}, %labels: tensor<1x64x1xi64> {mp.name = "labels"}, %scores: tensor<1x1x64xf16>) -> (tensor<?x3xi64> {mp.name = "kept"}) {
  %apart = mp.constant dense<641.0> : tensor<f16>
  %classes = mp.cast %labels : (tensor<1x64x1xi64>) -> tensor<1x64x1xf16>
  %offsets = mp.mul %classes, %apart : (tensor<1x64x1xf16>, tensor<f16>) -> tensor<1x64x1xf16>
  %shifted = mp.add %boxes, %offsets : (tensor<1x64x4xf16>, tensor<1x64x1xf16>) -> tensor<1x64x4xf16>
  %kept = mp.non_max_suppression %shifted, %scores : (tensor<1x64x4xf16>, tensor<1x1x64xf16>) -> tensor<?x3xi64>
  return %kept : tensor<?x3xi64>
}
