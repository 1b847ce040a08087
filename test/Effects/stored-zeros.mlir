// What a sigmoid in FP16 has flushed is 0 for a logarithm in FP32, too: both are kept.
// RUN: split-file %s %t
// RUN: not mpopt --check %t/low.mlir --precision fp16 --input x=-40:40 --input x~0,9 --keep-fp32 %t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix KEPT < %t.json
// RUN: not mpopt --check %t/mixed.mlir --precision as-is --input x=-40:40 --input x~0,9 | FileCheck %s

// CHECK: is expected to make Inf or NaN of `result`
// CHECK: error[MP205]
// KEPT: "type": "mp.sigmoid"
// KEPT: "type": "mp.log"

//--- low.mlir
func.func @main(%x: tensor<64x16xf32> {mp.name = "x"}) -> (tensor<64x16xf32> {mp.name = "result"}) {
  %p = mp.sigmoid %x : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %y = mp.log %p : (tensor<64x16xf32>) -> tensor<64x16xf32>
  return %y : tensor<64x16xf32>
}

//--- mixed.mlir
func.func @main(%x: tensor<64x16xf16> {mp.name = "x"}) -> (tensor<64x16xf32> {mp.name = "result"}) {
  %p = mp.sigmoid %x : (tensor<64x16xf16>) -> tensor<64x16xf16>
  %q = mp.cast %p : (tensor<64x16xf16>) -> tensor<64x16xf32>
  %y = mp.log %q : (tensor<64x16xf32>) -> tensor<64x16xf32>
  return %y : tensor<64x16xf32>
}
