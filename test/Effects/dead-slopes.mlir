// RUN: split-file %s %t
// RUN: mpopt --check %t/clipped.mlir --input x~0,1 --input r~0,1 --fail-on never | FileCheck %s --check-prefix CLIPPED
// RUN: mpopt --check %t/collapsed.mlir --input x~0,1 --fail-on never | FileCheck %s --check-prefix COLLAPSED
// RUN: mpopt --check %t/infinite.mlir --precision fp16 --input x=0:1 | FileCheck %s --check-prefix INFINITE

// The codes have no number above 0, so that the stored argument has slope 0 everywhere. The
// exact one has not: half of it would pass.
// CLIPPED: is expected to change `y` by {{[1-9][0-9]|more}}{{.*}}: too much
// CLIPPED: MP602
// All rows but one of the weight have few codes past 0, as they share the scale of the largest: they
// are no zeros of a filter.
// COLLAPSED: is expected to change `y` by {{[2-4][0-9]}} %
// COLLAPSED: MP604
// The last channel becomes -Inf, which a rectifier takes for 0 as it does the number.
// INFINITE: fp16 is expected to change `y` by 0.0{{[0-9]+}} %: fine

//--- clipped.mlir
func.func @main(%x: tensor<64x16xf32> {mp.name = "x"}, %r: tensor<64x4xf32> {mp.name = "r"}) -> (tensor<64x4xf32> {mp.name = "y"}) {
  %scale = mp.constant dense<0.015> : tensor<f32>
  %last = mp.constant dense<255> : tensor<ui8>
  %weight = mp.constant dense<0.25> : tensor<16x4xf32>
  %q = mp.quantize %x, %scale zero_point %last : (tensor<64x16xf32>, tensor<f32>, tensor<ui8>) -> tensor<64x16xui8>
  %d = mp.dequantize %q, %scale zero_point %last : (tensor<64x16xui8>, tensor<f32>, tensor<ui8>) -> tensor<64x16xf32>
  %0 = mp.relu %d : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %1 = mp.matmul %0, %weight : (tensor<64x16xf32>, tensor<16x4xf32>) -> tensor<64x4xf32>
  %y = mp.add %1, %r : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<64x4xf32>
  return %y : tensor<64x4xf32>
}

//--- collapsed.mlir
func.func @main(%x: tensor<4x4xf32> {mp.name = "x"}) -> (tensor<4x8xf32> {mp.name = "y"}) {
  %codes = mp.constant dense<[[0, 0, 1, 0, 0, 0, 0, 127], [0, 0, 0, 0, 0, -1, 0, -101], [0, 0, 0, 0, 0, 0, 0, 64], [0, 0, 0, 0, 0, 0, 0, -90]]> : tensor<4x8xsi8>
  %scale = mp.constant dense<0.5> : tensor<f32>
  %back = mp.constant dense<[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.01]> : tensor<8xf32>
  %weight = mp.dequantize %codes, %scale : (tensor<4x8xsi8>, tensor<f32>) -> tensor<4x8xf32>
  %0 = mp.matmul %x, %weight : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = mp.mul %0, %back : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

//--- infinite.mlir
func.func @main(%x: tensor<64x8xf32> {mp.name = "x"}) -> (tensor<64x4xf32> {mp.name = "y"}) {
  %first = mp.constant dense<[[0.5, -0.3, -2.5e4], [0.2, 0.4, -1.5e4], [-0.4, 0.3, 1.0e4], [0.3, -0.5, -2.5e4], [0.1, 0.6, -3.0e4], [-0.2, 0.2, -2.5e4], [0.4, -0.1, 0.5e4], [-0.5, 0.5, -3.5e4]]> : tensor<8x3xf32>
  %weight = mp.constant dense<0.25> : tensor<3x4xf32>
  %0 = mp.matmul %x, %first : (tensor<64x8xf32>, tensor<8x3xf32>) -> tensor<64x3xf32>
  %1 = mp.relu %0 : (tensor<64x3xf32>) -> tensor<64x3xf32>
  %y = mp.matmul %1, %weight : (tensor<64x3xf32>, tensor<3x4xf32>) -> tensor<64x4xf32>
  return %y : tensor<64x4xf32>
}
