// RUN: mpopt --check %s --input x=-10:10 --input x~0,1 --fail-on never --format json | FileCheck %s
//
// Two scales are ten times too large, and the error of either is left when the
// other one is mended.
// CHECK: "safe": true
// CHECK-NEXT: all at once: give 'x' the scale {{.*}}; give '{{.*}} the scale {{.*}}: 'result' is then off by 1.{{.*}} %
func.func @main(%x: tensor<64x16xf32> {mp.name = "x"}) -> (tensor<64x16xf32> {mp.name = "result"}) {
  %coarse = mp.constant dense<0.5> : tensor<f32>
  %wide = mp.constant dense<0.5> : tensor<f32>
  %q = mp.quantize %x, %coarse : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xsi8>
  %a = mp.dequantize %q, %coarse : (tensor<64x16xsi8>, tensor<f32>) -> tensor<64x16xf32>
  %y = mp.tanh %a : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %z = mp.add %y, %a : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %p = mp.quantize %z, %wide : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xsi8>
  %b = mp.dequantize %p, %wide : (tensor<64x16xsi8>, tensor<f32>) -> tensor<64x16xf32>
  %r = mp.neg %b : (tensor<64x16xf32>) -> tensor<64x16xf32>
  return %r : tensor<64x16xf32>
}
