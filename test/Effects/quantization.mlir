// A quantised file is judged by what its codes change, whatever `auto` is.
// RUN: split-file %s %t
// RUN: mpopt --check %t/sound.mlir --format json | FileCheck %s --check-prefix SOUND
// RUN: not mpopt --check %t/clipped.mlir | FileCheck %s --check-prefix CLIPPED
// RUN: mpopt --check %t/sound.mlir | FileCheck %s --check-prefix TEXT
// RUN: mpopt --check %t/same-codes.mlir --format json | FileCheck %s --check-prefix ONCE
// RUN: mpopt --check %t/dynamic.mlir --format json | FileCheck %s --check-prefix DYNAMIC
//
// Steps of 0.05 beside a largest value near 4 (0.0060 measured).
// SOUND: "precision": "as-is"
// SOUND: "expected_error": 0.00{{[4-9]}}
// SOUND: "by": {
// SOUND-NEXT: "weights": 0,
// SOUND-NEXT: "activations": 0.00{{[4-9]}}
// SOUND-NEXT: "saturation": 0
//
// TEXT: quantisation is expected to change `result` by 0.{{[4-9].*}}%: fine; activations 0.
//
// CLIPPED: quantisation is expected to change `result` by {{.*}}: too much;
// CLIPPED-NEXT: saturation
// CLIPPED: error[MP602]: saturation
//
// Codes that are read, moved and written again are rounded once.
// ONCE: "expected_error": 0.00{{[4-9]}}
//
// Weights and activations of a product at run time.
// DYNAMIC: "expected_error": 0.0
// DYNAMIC: "weights": 0.0{{0*[1-9]}}
// DYNAMIC-NEXT: "activations": 0.0{{0*[1-9]}}
// RUN: mpopt --check %t/channel-of-zeros.mlir --format json | FileCheck %s --check-prefix ZEROS
//
// A channel of zeros has any scale and no error (half a step of 1 would be 7 %).
// ZEROS: "weights": 0.00
// RUN: mpopt --check %t/lost.mlir --fail-on never --format json | FileCheck %s --check-prefix LOST
//
// All numbers are within half of a step: nothing is left of the output.
// LOST: "expected_error": 1,
// RUN: mpopt --check %t/equal.mlir --format json | FileCheck %s --check-prefix EQUAL
//
// A scale is chosen by the largest number, which its code stands for; weights
// that are as large as each other were not clipped (0.6 % by half a step).
// EQUAL: "expected_error": 0,
// RUN: mpopt --check %t/large.mlir --format json | FileCheck %s --check-prefix LARGE
// LARGE: "weights": 0.00
// RUN: not mpopt --check %t/turned.mlir --format json | FileCheck %s --check-prefix TURNED
//
// A negative scale turns the sign of all weights.
// TURNED: "weights": 1

//--- equal.mlir
func.func @main(%x: tensor<8x4xf32>) -> (tensor<8x4xf32> {mp.name = "result"}) {
  %w = mp.constant dense<[127, 127, 127, 127]> : tensor<4xsi8>
  %scale = mp.constant dense<0.01> : tensor<f32>
  %f = mp.dequantize %w, %scale : (tensor<4xsi8>, tensor<f32>) -> tensor<4xf32>
  %r = mp.mul %x, %f : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

//--- large.mlir
func.func @main(%x: tensor<8x4xf32>) -> (tensor<8x4xf32> {mp.name = "result"}) {
  %w = mp.constant dense<[[120, -110, 113, -118], [-122, 109, 126, 111], [117, 119, -127, -121], [118, 112, -116, 123]]> : tensor<4x4xsi8>
  %scale = mp.constant dense<0.01> : tensor<f32>
  %f = mp.dequantize %w, %scale : (tensor<4x4xsi8>, tensor<f32>) -> tensor<4x4xf32>
  %r = mp.matmul %x, %f : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

//--- turned.mlir
func.func @main(%x: tensor<8x4xf32>) -> (tensor<8x4xf32> {mp.name = "result"}) {
  %w = mp.constant dense<[[100, -20, 7, 90], [7, 90, 50, 13], [-60, 127, 1, 44], [12, 13, -80, 20]]> : tensor<4x4xsi8>
  %scale = mp.constant dense<-0.01> : tensor<f32>
  %f = mp.dequantize %w, %scale : (tensor<4x4xsi8>, tensor<f32>) -> tensor<4x4xf32>
  %r = mp.matmul %x, %f : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

//--- lost.mlir
func.func @main(%x: tensor<8x4xf32>) -> (tensor<8x4xf32> {mp.name = "result"}) {
  %scale = mp.constant dense<100.0> : tensor<f32>
  %y = mp.sigmoid %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %q = mp.quantize %y, %scale : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xsi8>
  %r = mp.dequantize %q, %scale : (tensor<8x4xsi8>, tensor<f32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

//--- channel-of-zeros.mlir
func.func @main(%x: tensor<8x4xf32>) -> (tensor<8x3xf32> {mp.name = "result"}) {
  %w = mp.constant dense<[[100, -20, 0], [7, 90, 0], [-60, 127, 0], [127, -97, 0]]> : tensor<4x3xsi8>
  %scale = mp.constant dense<[0.01, 0.01, 1.0]> : tensor<3xf32>
  %f = mp.dequantize %w, %scale {axis = 1 : i64} : (tensor<4x3xsi8>, tensor<3xf32>) -> tensor<4x3xf32>
  %r = mp.matmul %x, %f : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  return %r : tensor<8x3xf32>
}

//--- sound.mlir
func.func @main(%x: tensor<4096xf32>) -> (tensor<4096xf32> {mp.name = "result"}) {
  %scale = mp.constant dense<0.05> : tensor<f32>
  %y = mp.neg %x : (tensor<4096xf32>) -> tensor<4096xf32>
  %q = mp.quantize %y, %scale : (tensor<4096xf32>, tensor<f32>) -> tensor<4096xsi8>
  %r = mp.dequantize %q, %scale : (tensor<4096xsi8>, tensor<f32>) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

//--- clipped.mlir
func.func @main(%x: tensor<4096xf32>) -> (tensor<4096xf32> {mp.name = "result"}) {
  %scale = mp.constant dense<0.004> : tensor<f32>
  %y = mp.neg %x : (tensor<4096xf32>) -> tensor<4096xf32>
  %q = mp.quantize %y, %scale : (tensor<4096xf32>, tensor<f32>) -> tensor<4096xsi8>
  %r = mp.dequantize %q, %scale : (tensor<4096xsi8>, tensor<f32>) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

//--- same-codes.mlir
func.func @main(%x: tensor<4096xf32>) -> (tensor<64x64xf32> {mp.name = "result"}) {
  %scale = mp.constant dense<0.05> : tensor<f32>
  %same = mp.constant dense<0.05> : tensor<f32>
  %shape = mp.constant dense<64> : tensor<2xsi64>
  %y = mp.neg %x : (tensor<4096xf32>) -> tensor<4096xf32>
  %q = mp.quantize %y, %scale : (tensor<4096xf32>, tensor<f32>) -> tensor<4096xsi8>
  %r = mp.dequantize %q, %scale : (tensor<4096xsi8>, tensor<f32>) -> tensor<4096xf32>
  %m = mp.reshape %r, %shape : (tensor<4096xf32>, tensor<2xsi64>) -> tensor<64x64xf32>
  %p = mp.quantize %m, %same : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xsi8>
  %s = mp.dequantize %p, %scale : (tensor<64x64xsi8>, tensor<f32>) -> tensor<64x64xf32>
  return %s : tensor<64x64xf32>
}

//--- dynamic.mlir
func.func @main(%x: tensor<8x4xf32>) -> (tensor<8x2xf32> {mp.name = "result"}) {
  %codes, %sx, %zx = mp.dynamic_quantize %x : (tensor<8x4xf32>) -> (tensor<8x4xui8>, tensor<f32>, tensor<ui8>)
  %w = mp.constant dense<[[100, -20], [7, 90], [-60, 127], [50, -127]]> : tensor<4x2xsi8>
  %sw = mp.constant dense<0.01> : tensor<f32>
  %p = mp.matmul_integer %codes, %w lhs_zero %zx : (tensor<8x4xui8>, tensor<4x2xsi8>, tensor<ui8>) -> tensor<8x2xsi32>
  %f = mp.cast %p : (tensor<8x2xsi32>) -> tensor<8x2xf32>
  %s = mp.mul %sx, %sw : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %r = mp.mul %f, %s : (tensor<8x2xf32>, tensor<f32>) -> tensor<8x2xf32>
  return %r : tensor<8x2xf32>
}
