// Sines of large numbers multiply an error to first order, and are between -1 and 1 all the
// same: no error is larger than the width of what the output can be.
// RUN: mpopt --check %s --input x~0,1 --fail-on never --format json | FileCheck %s
// CHECK: "expected_error": {{1\.[0-9]+|2(\.[0-2][0-9]*)?}},
// CHECK-NEXT: "expected_rms": {{(1(\.[0-9]+)?|2),?$}}
func.func @main(%x: tensor<4x256xf32> {mp.name = "x"}) -> (tensor<4x8xf32> {mp.name = "y"}) {
  %scale = mp.constant dense<0.0625> : tensor<f32>
  %steep = mp.constant dense<64.0> : tensor<f32>
  %weight = mp.constant dense<0.1> : tensor<256x8xf32>
  %q = mp.quantize %x, %scale : (tensor<4x256xf32>, tensor<f32>) -> tensor<4x256xsi8>
  %d = mp.dequantize %q, %scale : (tensor<4x256xsi8>, tensor<f32>) -> tensor<4x256xf32>
  %0 = mp.mul %d, %steep : (tensor<4x256xf32>, tensor<f32>) -> tensor<4x256xf32>
  %1 = mp.sin %0 : (tensor<4x256xf32>) -> tensor<4x256xf32>
  %2 = mp.mul %1, %steep : (tensor<4x256xf32>, tensor<f32>) -> tensor<4x256xf32>
  %3 = mp.sin %2 : (tensor<4x256xf32>) -> tensor<4x256xf32>
  %y = mp.matmul %3, %weight : (tensor<4x256xf32>, tensor<256x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
