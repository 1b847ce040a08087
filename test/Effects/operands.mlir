// A row of weights that is 2^-20 of the others is read as 0 where all share a
// scale, and is met by a channel that is 2^20 times larger.
// RUN: mpopt --check %s --precision fp8-e4m3 --format json --fail-on never | FileCheck %s
// RUN: mpopt --check %s --precision fp8-e4m3:row --format json --fail-on never | FileCheck %s --check-prefix=ROW
// RUN: not mpopt --check %s --precision fp8-e4m3 | FileCheck %s --check-prefix=TEXT
// RUN: mpopt %s --scales %t.json --precision fp8-e4m3 --fail-on never -o %t.report
// RUN: FileCheck %s --check-prefix=SCALES < %t.json
// RUN: mpopt --check %s --precision int8 --format json --fail-on never | FileCheck %s --check-prefix=INT8
// RUN: not mpopt --check %s --precision fp8-e4m3:row --scales %t.none 2>&1 | FileCheck %s --check-prefix=STATIC
// RUN: not mpopt --check %s --precision fp16 --max-error 0.1 2>&1 | FileCheck %s --check-prefix=AIM
// RUN: not mpopt --check %s --precision fp8-e4m3 --max-error 2 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not mpopt --check %s --precision fp8-e4m3 --scales %t.none --headroom 9 2>&1 | FileCheck %s --check-prefix=ROOM
// RUN: not mpopt --check %s --precision fp8-e4m3 --train 2>&1 | FileCheck %s --check-prefix=TRAIN

// CHECK: "by": {
// CHECK-NEXT: "weights": 0.
// CHECK: "recipe": "tensor",
// CHECK: "op": "mm",
// CHECK-NEXT: "type": "MatMul",
// CHECK-NEXT: "output": "y",
// CHECK: "tensor": "wide",
// CHECK-NEXT: "constant": false,
// CHECK: "constant": true,
// CHECK-NEXT: "clipped": 0,
// CHECK-NEXT: "flushed": 0.5
// CHECK: "max_error": 0.125,
// CHECK-NEXT: "recipe": null,
// CHECK-NEXT: "keep": [
// CHECK-NEXT: "y"
// CHECK: "rule": "MP615"

// One scale a column does not tell rows apart.
// ROW: "recipe": "row",

// TEXT: next: keep the product that --keep-fp32 FILE lists in FP32

// SCALES: "schema": "mpopt-scales/1",
// SCALES-NEXT: "precision": "fp8-e4m3",
// SCALES: "wide": {
// SCALES: "certainty": "proved",

// INT8: "precision": "int8:u8s8"
// INT8: "sensitivity": [
// INT8-NEXT: {
// INT8-NEXT: "op": "mm",

// STATIC: --scales goes with --precision fp8-e4m3, whose scales are settled before a model runs
// AIM: --max-error goes with --precision fp8-e4m3, mxfp8, nvfp4 or int8
// LARGE: --max-error: '2' is not a number between 0 and 1
// ROOM: --headroom: '9' is not a number from 0 to 8
// TRAIN: --precision fp8-e4m3 is one of inference, which --train does not take
func.func @main(%x: tensor<64x2xf32> {mp.name = "x"}) -> (tensor<64x2xf32> {mp.name = "y"}) {
  %s = mp.constant dense<[1.0, 1048576.0]> : tensor<2xf32>
  %w = mp.constant dense<[[1.0, -1.0], [9.5367431640625e-07, 9.5367431640625e-07]]> : tensor<2x2xf32>
  %0 = mp.mul %x, %s : (tensor<64x2xf32>, tensor<2xf32>) -> tensor<64x2xf32> loc(fused<#mp.origin<"scale", "Mul", "", ["wide"]>>["m":1:1])
  %1 = mp.matmul %0, %w : (tensor<64x2xf32>, tensor<2x2xf32>) -> tensor<64x2xf32> loc(fused<#mp.origin<"mm", "MatMul", "", ["y"]>>["m":2:1])
  return %1 : tensor<64x2xf32>
}
