// RUN: mpopt --check %s --input x~0,100000 --fail-on never --format json | FileCheck %s
//
// All numbers are far past the codes: what is lost is all that there is, in the
// largest error as in the root of its mean square.
// CHECK: "expected_error": {{0\.9|1\.0}}
// CHECK-NEXT: "expected_rms": {{0\.9|1}}
func.func @main(%x: tensor<64x16xf32> {mp.name = "x"}) -> (tensor<64x16xf32> {mp.name = "y"}) {
  %scale = mp.constant dense<0.01> : tensor<f32>
  %two = mp.constant dense<2.0> : tensor<f32>
  %z = mp.mul %x, %two : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xf32>
  %q = mp.quantize %z, %scale : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xsi8>
  %y = mp.dequantize %q, %scale : (tensor<64x16xsi8>, tensor<f32>) -> tensor<64x16xf32>
  return %y : tensor<64x16xf32>
}
