// Boxes in pixels beside scores, all in steps of one scale: of the largest value the error is below 1 %, and nothing
// is left of the scores. The blocks of a quantised output are judged each by its own largest value.
// RUN: mpopt --check %s --fail-on never --format json | FileCheck %s
// RUN: not mpopt --check %s | FileCheck %s --check-prefix TEXT
//
// CHECK: "expected_error": 1,
// CHECK: "slices": [
// CHECK: "from": 0,
// CHECK-NEXT: "to": 64,
// CHECK-NEXT: "axis": 1,
// CHECK-NEXT: "expected_error": 0.00
// CHECK: "from": 64,
// CHECK-NEXT: "to": 128,
// CHECK-NEXT: "axis": 1,
// CHECK-NEXT: "expected_error": 1
//
// TEXT: quantisation is expected to change `result` by {{.*}} in its elements
// TEXT-NEXT: 64 to 127 along axis 1: too much

func.func @main(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> (tensor<8x128xf32> {mp.name = "result"}) {
  %scale = mp.constant dense<2.5> : tensor<f32>
  %pixels = mp.constant dense<640.0> : tensor<f32>
  %s0 = mp.sigmoid %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %boxes = mp.mul %s0, %pixels : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %scores = mp.sigmoid %y : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %q0 = mp.quantize %boxes, %scale : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xui8>
  %d0 = mp.dequantize %q0, %scale : (tensor<8x64xui8>, tensor<f32>) -> tensor<8x64xf32>
  %q1 = mp.quantize %scores, %scale : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xui8>
  %d1 = mp.dequantize %q1, %scale : (tensor<8x64xui8>, tensor<f32>) -> tensor<8x64xf32>
  %joined = mp.concat %d0, %d1 {axis = 1 : i64} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x128xf32>
  %q = mp.quantize %joined, %scale : (tensor<8x128xf32>, tensor<f32>) -> tensor<8x128xui8>
  %d = mp.dequantize %q, %scale : (tensor<8x128xui8>, tensor<f32>) -> tensor<8x128xf32>
  return %d : tensor<8x128xf32>
}
