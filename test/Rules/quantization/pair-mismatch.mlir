// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-pair-mismatch --mp-emit-findings

func.func @scale(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = mp.constant dense<0.5> : tensor<f32>
  %b = mp.constant dense<0.25> : tensor<f32>
  // expected-note @below {{holds the codes}}
  %q = mp.quantize %x, %a : (tensor<4xf32>, tensor<f32>) -> tensor<4xsi8>
  // expected-error @below {{codes are written with the scale 0.5 and read with the scale 0.25 [MP609 certain]}}
  %y = mp.dequantize %q, %b : (tensor<4xsi8>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Through a view, of a float format; a zero point that is left out is 0.
func.func @zero_point(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %a = mp.constant dense<0.5> : tensor<f32>
  %zero = mp.constant dense<3> : tensor<ui8>
  // expected-note @below {{holds the codes}}
  %q = mp.quantize %x, %a zero_point %zero : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
  %shape = mp.constant dense<[2, 2]> : tensor<2xsi64>
  %r = mp.reshape %q, %shape : (tensor<4xui8>, tensor<2xsi64>) -> tensor<2x2xui8>
  // expected-error @below {{codes are written with the zero point 3 and read with the zero point 0}}
  %y = mp.dequantize %r, %a : (tensor<2x2xui8>, tensor<f32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

func.func @axis(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %codes = mp.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xsi8>
  %scales = mp.constant dense<[0.5, 0.25]> : tensor<2xf32>
  // expected-error @below {{scales lie along axis 0 of the weight, whose output channels are axis 1 [MP609 certain]}}
  %w = mp.dequantize %codes, %scales {axis = 0} : (tensor<2x2xsi8>, tensor<2xf32>) -> tensor<2x2xf32>
  // expected-note @below {{reads the weight}}
  %y = mp.matmul %x, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

func.func @silent(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %a = mp.constant dense<0.5> : tensor<f32>
  %same = mp.constant dense<0.5> : tensor<f32>
  %zero = mp.constant dense<0> : tensor<si8>
  %q = mp.quantize %x, %a zero_point %zero : (tensor<2x2xf32>, tensor<f32>, tensor<si8>) -> tensor<2x2xsi8>
  %y = mp.dequantize %q, %same : (tensor<2x2xsi8>, tensor<f32>) -> tensor<2x2xf32>
  %codes = mp.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xsi8>
  %scales = mp.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %w = mp.dequantize %codes, %scales : (tensor<2x2xsi8>, tensor<2xf32>) -> tensor<2x2xf32>
  %z = mp.matmul %y, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %z : tensor<2x2xf32>
}

// -----

// expected-note @below {{holds the codes}}
func.func @type(%x: tensor<4xui8>) -> tensor<4xf32> {
  %scale = mp.constant dense<0.1> : tensor<f32>
  %zero = mp.constant dense<-3> : tensor<si8>
  // expected-error @below {{the zero point has the type si8, and the codes have ui8: a runtime refuses it or reads another number}}
  %y = mp.dequantize %x, %scale zero_point %zero : (tensor<4xui8>, tensor<f32>, tensor<si8>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A border of codes. The zero point stands for 0, and a maximum reads the least
// code as none.
func.func @border(%x: tensor<4xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %s = mp.constant dense<0.5> : tensor<f32>
  // expected-note @below {{is the zero point}}
  %z = mp.constant dense<100> : tensor<ui8>
  %q = mp.quantize %x, %s zero_point %z : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
  // expected-error @below {{the border has the code 0, which stands for -50: the code of 0 is the zero point, 100 [MP609 certain]}}
  %p = mp.pad %q {pads = array<i64: 1, 1>} : (tensor<4xui8>) -> tensor<6xui8>
  %y = mp.dequantize %p, %s zero_point %z : (tensor<6xui8>, tensor<f32>, tensor<ui8>) -> tensor<6xf32>
  %r = mp.pad %q value %z {pads = array<i64: 1, 1>} : (tensor<4xui8>, tensor<ui8>) -> tensor<6xui8>
  %w = mp.dequantize %r, %s zero_point %z : (tensor<6xui8>, tensor<f32>, tensor<ui8>) -> tensor<6xf32>
  return %y, %w : tensor<6xf32>, tensor<6xf32>
}

// -----

func.func @maximum(%x: tensor<1x1x4xf32>) -> tensor<1x1x5xf32> {
  %s = mp.constant dense<0.5> : tensor<f32>
  %z = mp.constant dense<100> : tensor<ui8>
  %q = mp.quantize %x, %s zero_point %z : (tensor<1x1x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x1x4xui8>
  %p = mp.pad %q {pads = array<i64: 0, 0, 1, 0, 0, 1>} : (tensor<1x1x4xui8>) -> tensor<1x1x6xui8>
  %a = mp.dequantize %p, %s zero_point %z : (tensor<1x1x6xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x1x6xf32>
  %y = mp.max_pool %a {kernel_shape = array<i64: 2>} : (tensor<1x1x6xf32>) -> tensor<1x1x5xf32>
  return %y : tensor<1x1x5xf32>
}
