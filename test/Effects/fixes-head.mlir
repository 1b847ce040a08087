// RUN: mpopt --check %s --input x=-10:10 --input x~0,1 --fail-on never --format json | FileCheck %s
//
// The decoder of distances from a distribution over bins is quantised behind its
// last layer; the sum over bins is no layer.
// CHECK: end the quantised part behind `mp.matmul`: leave the ops that decode their results in floats: 'boxes' is then off by
func.func @main(%x: tensor<64x16xf32> {mp.name = "x"}) -> (tensor<64x1xf32> {mp.name = "boxes"}, tensor<64x8xf32> {mp.name = "scores"}) {
  %wide = mp.constant dense<0.06> : tensor<f32>
  %codes = mp.constant dense<"0x01FE03FC05FA07F809F60BF40DF20FF0"> : tensor<16x1xsi8>
  %one = mp.constant dense<1.0> : tensor<f32>
  %w = mp.constant dense<0.1> : tensor<16x16xf32>
  %v = mp.constant dense<0.1> : tensor<16x8xf32>
  %l = mp.matmul %x, %w : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  %s = mp.matmul %x, %v : (tensor<64x16xf32>, tensor<16x8xf32>) -> tensor<64x8xf32>
  %q = mp.quantize %l, %wide : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xsi8>
  %a = mp.dequantize %q, %wide : (tensor<64x16xsi8>, tensor<f32>) -> tensor<64x16xf32>
  %t = mp.tanh %a : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %tq = mp.quantize %t, %wide : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xsi8>
  %c = mp.dequantize %tq, %wide : (tensor<64x16xsi8>, tensor<f32>) -> tensor<64x16xf32>
  %d = mp.sin %c : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %dq = mp.quantize %d, %wide : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xsi8>
  %e = mp.dequantize %dq, %wide : (tensor<64x16xsi8>, tensor<f32>) -> tensor<64x16xf32>
  %f = mp.neg %e : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %p = mp.quantize %f, %wide : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xsi8>
  %b = mp.dequantize %p, %wide : (tensor<64x16xsi8>, tensor<f32>) -> tensor<64x16xf32>
  %bins = mp.dequantize %codes, %one : (tensor<16x1xsi8>, tensor<f32>) -> tensor<16x1xf32>
  %y = mp.matmul %b, %bins : (tensor<64x16xf32>, tensor<16x1xf32>) -> tensor<64x1xf32>
  return %y, %s : tensor<64x1xf32>, tensor<64x8xf32>
}
