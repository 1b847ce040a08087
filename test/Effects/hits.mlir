// RUN: mpopt --check %s --input x=0:255 --input x~100,20 --target ort-cpu-avx2 --fail-on never --format json | FileCheck %s
//
// One row in 50 has codes whose pair saturates, and loses up to 60 of 300 there:
// the largest error is far out of those of all rows (3 % by these). Of eight
// draws of NumPy's it is 4 to 12 %, its root mean square 0.15 to 0.63 %.
// CHECK: "expected_error": 0.1{{[0-9]}}
// CHECK: "expected_rms": 0.00{{[3-8]}}
func.func @main(%x: tensor<256x4xf32> {mp.name = "x"}) -> (tensor<256x4xf32> {mp.name = "result"}) {
  %one = mp.constant dense<1.0> : tensor<f32>
  %zero = mp.constant dense<0> : tensor<ui8>
  %scale = mp.constant dense<0.01> : tensor<f32>
  %codes = mp.constant dense<[[118, 127, -120, 119], [126, 117, -121, 123], [20, -50, 30, 10], [-60, 15, 25, -40]]> : tensor<4x4xsi8>
  %mix = mp.constant dense<[[0.5, 0.5, 0.5, 0.5], [0.5, -0.5, 0.5, -0.5], [0.5, 0.5, -0.5, -0.5], [0.5, -0.5, -0.5, 0.5]]> : tensor<4x4xf32>
  %q = mp.quantize %x, %one zero_point %zero : (tensor<256x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<256x4xui8>
  %a = mp.dequantize %q, %one zero_point %zero : (tensor<256x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<256x4xf32>
  %w = mp.dequantize %codes, %scale : (tensor<4x4xsi8>, tensor<f32>) -> tensor<4x4xf32>
  %y = mp.matmul %a, %w : (tensor<256x4xf32>, tensor<4x4xf32>) -> tensor<256x4xf32>
  %r = mp.matmul %y, %mix : (tensor<256x4xf32>, tensor<4x4xf32>) -> tensor<256x4xf32>
  return %r : tensor<256x4xf32>
}
