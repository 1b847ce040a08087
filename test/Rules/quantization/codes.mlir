// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-apply-precision=mode=as-is --rule-saturation --rule-wasted-codes --rule-collapsed-channels --mp-emit-findings

// Inputs are normal by default; 12.7 is far out, 0.127 is an eighth of a deviation.
func.func @clipped(%x: tensor<64xf32>) -> tensor<64xsi8> {
  // expected-note @below {{is the scale}}
  %scale = mp.constant dense<0.001> : tensor<f32>
  // expected-warning @below {{of the values are clipped at [-0.128, 0.127]}}
  %q = mp.quantize %x, %scale : (tensor<64xf32>, tensor<f32>) -> tensor<64xsi8>
  return %q : tensor<64xsi8>
}

// -----

func.func @few(%x: tensor<64xf32>) -> tensor<64xsi8> {
  // expected-note @below {{is the scale}}
  %scale = mp.constant dense<2.0> : tensor<f32>
  // expected-warning @below {{of 256 codes}}
  %q = mp.quantize %x, %scale : (tensor<64xf32>, tensor<f32>) -> tensor<64xsi8>
  return %q : tensor<64xsi8>
}

// -----

// 0 is the least code: what is below it is what a rectifier makes of it.
func.func @rectified(%x: tensor<64xf32>) -> tensor<64xui8> {
  %scale = mp.constant dense<0.04> : tensor<f32>
  %zero = mp.constant dense<0> : tensor<ui8>
  %y = mp.neg %x : (tensor<64xf32>) -> tensor<64xf32>
  %q = mp.quantize %y, %scale zero_point %zero : (tensor<64xf32>, tensor<f32>, tensor<ui8>) -> tensor<64xui8>
  return %q : tensor<64xui8>
}

// -----

func.func @weights(%x: tensor<1x2xf32>) -> tensor<1x4xf32> {
  // expected-note @below {{is the scale of all channels}}
  %scale = mp.constant dense<0.5> : tensor<f32>
  %codes = mp.constant dense<[[1, 0, 127, -1], [0, 1, -90, 1]]> : tensor<2x4xsi8>
  // expected-warning @below {{3 of 4 channels of the weight have no code past 1}}
  %w = mp.dequantize %codes, %scale : (tensor<2x4xsi8>, tensor<f32>) -> tensor<2x4xf32>
  %y = mp.matmul %x, %w : (tensor<1x2xf32>, tensor<2x4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

func.func @silent(%x: tensor<64xf32>) -> tensor<64xsi8> {
  %scale = mp.constant dense<0.04> : tensor<f32>
  %q = mp.quantize %x, %scale : (tensor<64xf32>, tensor<f32>) -> tensor<64xsi8>
  return %q : tensor<64xsi8>
}

// -----

// The largest of 64 normal numbers is near 2.4, past 464 steps: NaN, as the op
// does not saturate.
func.func @unsaturated(%x: tensor<64xf32>) -> tensor<64xf8E4M3FN> {
  // expected-note @below {{is the scale}}
  %scale = mp.constant dense<0.002> : tensor<f32>
  // expected-error @below {{values past [-0.928, 0.928] become NaN, as `saturate` is 0: the largest one is expected at}}
  %q = mp.quantize %x, %scale {saturate = false} : (tensor<64xf32>, tensor<f32>) -> tensor<64xf8E4M3FN>
  return %q : tensor<64xf8E4M3FN>
}

// -----

func.func @within(%x: tensor<64xf32>) -> tensor<64xf8E4M3FN> {
  %scale = mp.constant dense<0.02> : tensor<f32>
  %q = mp.quantize %x, %scale {saturate = false} : (tensor<64xf32>, tensor<f32>) -> tensor<64xf8E4M3FN>
  return %q : tensor<64xf8E4M3FN>
}

// -----

// Nothing rectifies numbers that codes stand for: the unsigned pair cuts off one sign.
func.func @unsigned_again() -> tensor<8xui8> {
  // expected-note @below {{is the scale}}
  %scale = mp.constant dense<0.01> : tensor<f32>
  %codes = mp.constant dense<[-120, 90, -60, 30, 110, -20, 75, -127]> : tensor<8xsi8>
  %zero = mp.constant dense<0> : tensor<ui8>
  %w = mp.dequantize %codes, %scale : (tensor<8xsi8>, tensor<f32>) -> tensor<8xf32>
  // expected-warning @below {{of the values are clipped at [0, 2.55]}}
  %q = mp.quantize %w, %scale zero_point %zero : (tensor<8xf32>, tensor<f32>, tensor<ui8>) -> tensor<8xui8>
  return %q : tensor<8xui8>
}

// -----

// The weight of a product at run time; its zero point is 100.
func.func @at_run_time(%x: tensor<8x4xf32>) -> tensor<8x3xf32> {
  %codes, %sx, %zx = mp.dynamic_quantize %x : (tensor<8x4xf32>) -> (tensor<8x4xui8>, tensor<f32>, tensor<ui8>)
  // expected-note @below {{is the scale of all channels}}
  %sw = mp.constant dense<0.01> : tensor<f32>
  %zw = mp.constant dense<100> : tensor<ui8>
  %w = mp.constant dense<[[100, 20, 101], [99, 90, 100], [101, 255, 100], [100, 7, 99]]> : tensor<4x3xui8>
  // expected-warning @below {{2 of 3 channels of the weight have no code past 1}}
  %p = mp.matmul_integer %codes, %w lhs_zero %zx rhs_zero %zw : (tensor<8x4xui8>, tensor<4x3xui8>, tensor<ui8>, tensor<ui8>) -> tensor<8x3xsi32>
  %f = mp.cast %p : (tensor<8x3xsi32>) -> tensor<8x3xf32>
  %s = mp.mul %sx, %sw : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %r = mp.mul %f, %s : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  return %r : tensor<8x3xf32>
}

// -----

// Numbers from 1 to 3 over 255 steps of 2 / 255: the zero point would be -127.
func.func @without_zero(%x: tensor<64xf32>) -> tensor<64xui8> {
  // expected-note @below {{is the scale}}
  %scale = mp.constant dense<0.0078431> : tensor<f32>
  %zero = mp.constant dense<0> : tensor<ui8>
  %one = mp.constant dense<1.0> : tensor<f32>
  %two = mp.constant dense<2.0> : tensor<f32>
  %s = mp.sigmoid %x : (tensor<64xf32>) -> tensor<64xf32>
  %t = mp.mul %s, %two : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %y = mp.add %t, %one : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  // expected-warning @below {{50 % of the values are clipped at [0, 1.99999]}}
  %q = mp.quantize %y, %scale zero_point %zero : (tensor<64xf32>, tensor<f32>, tensor<ui8>) -> tensor<64xui8>
  return %q : tensor<64xui8>
}

// -----

// With 0 in the range, and one that a calibration on smaller inputs saw.
func.func @with_zero(%x: tensor<64xf32>) -> (tensor<64xui8>, tensor<64xui8>) {
  %scale = mp.constant dense<0.01176> : tensor<f32>
  %small = mp.constant dense<0.0098> : tensor<f32>
  %zero = mp.constant dense<0> : tensor<ui8>
  %one = mp.constant dense<1.0> : tensor<f32>
  %two = mp.constant dense<2.0> : tensor<f32>
  %s = mp.sigmoid %x : (tensor<64xf32>) -> tensor<64xf32>
  %t = mp.mul %s, %two : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %y = mp.add %t, %one : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %q = mp.quantize %y, %scale zero_point %zero : (tensor<64xf32>, tensor<f32>, tensor<ui8>) -> tensor<64xui8>
  %r = mp.quantize %y, %small zero_point %zero : (tensor<64xf32>, tensor<f32>, tensor<ui8>) -> tensor<64xui8>
  return %q, %r : tensor<64xui8>, tensor<64xui8>
}

// -----

// A border far from all that it surrounds takes the codes.
func.func @border(%x: tensor<64xf32>) -> tensor<66xsi8> {
  // expected-note @below {{is the scale}}
  %scale = mp.constant dense<8.0> : tensor<f32>
  %far = mp.constant dense<-1000.0> : tensor<f32>
  %y = mp.pad %x value %far {pads = array<i64: 1, 1>} : (tensor<64xf32>, tensor<f32>) -> tensor<66xf32>
  // expected-warning @below {{takes 1 of 256 codes}}
  %q = mp.quantize %y, %scale : (tensor<66xf32>, tensor<f32>) -> tensor<66xsi8>
  return %q : tensor<66xsi8>
}

// -----

// A row for each token: those beside a large one have codes 0 and 1 alone.
func.func @table(%indices: tensor<8xi64>) -> tensor<8x3xf32> {
  // expected-note @below {{is the scale of all rows}}
  %scale = mp.constant dense<0.1> : tensor<f32>
  %codes = mp.constant dense<[[1, 0, -1], [0, 1, 0], [0, 0, 1], [127, -90, 60]]> : tensor<4x3xsi8>
  // expected-warning @below {{3 of 4 rows of the table have no code past 1: they share the scale of the largest}}
  %table = mp.dequantize %codes, %scale : (tensor<4x3xsi8>, tensor<f32>) -> tensor<4x3xf32>
  %rows = mp.gather %table, %indices {axis = 0 : i64} : (tensor<4x3xf32>, tensor<8xi64>) -> tensor<8x3xf32>
  return %rows : tensor<8x3xf32>
}
