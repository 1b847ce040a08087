// What kernels of a target do to products of codes.
// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-apply-precision=mode=as-is --rule-pair-saturation --rule-dequantise-overflow --rule-accumulator-overflow --mp-emit-findings

// Half of the pairs of 120 and 115 are of one sign: 255 * 235 is 59925. Codes
// near 200 make it 47000.
#high = {mean = 200.0 : f64, std = 20.0 : f64, lo = 0.0 : f64, hi = 255.0 : f64, source = "option"}
module attributes {mp.target = "ort-cpu-avx2"} {
func.func @pairs(%x: tensor<8x4xf32> {mp.assume = #high}) -> tensor<8x2xf32> {
  %one = mp.constant dense<1.0> : tensor<f32>
  %zero = mp.constant dense<0> : tensor<ui8>
  %scale = mp.constant dense<0.01> : tensor<f32>
  // expected-note @below {{has neighbouring weights that are large and of one sign}}
  %codes = mp.constant dense<[[120, 120], [115, -115], [-120, 3], [5, -5]]> : tensor<4x2xsi8>
  %q = mp.quantize %x, %one zero_point %zero : (tensor<8x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<8x4xui8>
  %a = mp.dequantize %q, %one zero_point %zero : (tensor<8x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x4xf32>
  %w = mp.dequantize %codes, %scale : (tensor<4x2xsi8>, tensor<f32>) -> tensor<4x2xf32>
  // expected-warning @below {{25 % of the pairs of products can pass 16 bits, in which ort-cpu-avx2 adds them, and 25 % are expected to}}
  %y = mp.matmul %a, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %y : tensor<8x2xf32>
}
}

// -----

// Signed activations are offset by 128 first: codes near 0 are 128 there.
module attributes {mp.target = "ort-cpu-avx2"} {
func.func @signed(%x: tensor<8x2xf32>) -> tensor<8x1xf32> {
  %one = mp.constant dense<0.04> : tensor<f32>
  // expected-note @below {{has neighbouring weights}}
  %codes = mp.constant dense<[[127], [127]]> : tensor<2x1xsi8>
  %q = mp.quantize %x, %one : (tensor<8x2xf32>, tensor<f32>) -> tensor<8x2xsi8>
  %a = mp.dequantize %q, %one : (tensor<8x2xsi8>, tensor<f32>) -> tensor<8x2xf32>
  %w = mp.dequantize %codes, %one : (tensor<2x1xsi8>, tensor<f32>) -> tensor<2x1xf32>
  // expected-warning @below {{100 % of the pairs of products can pass 16 bits}}
  %y = mp.matmul %a, %w : (tensor<8x2xf32>, tensor<2x1xf32>) -> tensor<8x1xf32>
  return %y : tensor<8x1xf32>
}
}

// -----

// OpenVINO halves the weights of signed activations.
module attributes {mp.target = "openvino-cpu"} {
func.func @halved(%x: tensor<8x2xf32>) -> tensor<8x1xf32> {
  %one = mp.constant dense<0.04> : tensor<f32>
  %codes = mp.constant dense<[[127], [127]]> : tensor<2x1xsi8>
  %q = mp.quantize %x, %one : (tensor<8x2xf32>, tensor<f32>) -> tensor<8x2xsi8>
  %a = mp.dequantize %q, %one : (tensor<8x2xsi8>, tensor<f32>) -> tensor<8x2xf32>
  %w = mp.dequantize %codes, %one : (tensor<2x1xsi8>, tensor<f32>) -> tensor<2x1xf32>
  %y = mp.matmul %a, %w : (tensor<8x2xf32>, tensor<2x1xf32>) -> tensor<8x1xf32>
  return %y : tensor<8x1xf32>
}
}

// -----

// Seven bits: 255 * (64 + 64) is 32640.
module attributes {mp.target = "openvino-cpu"} {
func.func @seven(%x: tensor<8x2xf32>) -> tensor<8x1xf32> {
  %one = mp.constant dense<0.04> : tensor<f32>
  %zero = mp.constant dense<128> : tensor<ui8>
  %codes = mp.constant dense<[[64], [64]]> : tensor<2x1xsi8>
  %q = mp.quantize %x, %one zero_point %zero : (tensor<8x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<8x2xui8>
  %a = mp.dequantize %q, %one zero_point %zero : (tensor<8x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x2xf32>
  %w = mp.dequantize %codes, %one : (tensor<2x1xsi8>, tensor<f32>) -> tensor<2x1xf32>
  // expected-remark @below {{no pair of products saturates on openvino-cpu for any codes in this and 0 other products: weights of 7 bits (reduce_range) gain nothing}}
  %y = mp.matmul %a, %w : (tensor<8x2xf32>, tensor<2x1xf32>) -> tensor<8x1xf32>
  return %y : tensor<8x1xf32>
}
}

// -----

module attributes {mp.target = "openvino-gpu"} {
func.func @zero_point(%x: tensor<4xui16>) -> tensor<4xf32> {
  %scale = mp.constant dense<0.1> : tensor<f32>
  // expected-note @below {{is the zero point}}
  %zero = mp.constant dense<65535> : tensor<ui16>
  // expected-error @below {{the zero point 65535 is Inf in f16, in which openvino-gpu subtracts it [MP608 certain]}}
  %y = mp.dequantize %x, %scale zero_point %zero : (tensor<4xui16>, tensor<f32>, tensor<ui16>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
}

// -----

// A scale of 1e-6 for the input: numbers of 1 are sums of a million there.
module attributes {mp.target = "openvino-gpu"} {
func.func @product(%q: tensor<8x2xui8>, %x: tensor<8x2xf32>) -> tensor<8x1xf32> {
  %small = mp.constant dense<1.0e-6> : tensor<f32>
  // expected-note @below {{is the scale of the weight}}
  %large = mp.constant dense<40.0> : tensor<f32>
  %codes = mp.constant dense<[[100], [100]]> : tensor<2x1xsi8>
  %a = mp.dequantize %q, %small : (tensor<8x2xui8>, tensor<f32>) -> tensor<8x2xf32>
  %w = mp.dequantize %codes, %large : (tensor<2x1xsi8>, tensor<f32>) -> tensor<2x1xf32>
  // expected-error @below {{a sum of products of codes times the scale of the weight is expected to reach}}
  %y = mp.matmul %a, %w : (tensor<8x2xf32>, tensor<2x1xf32>) -> tensor<8x1xf32>
  return %y : tensor<8x1xf32>
}
}

// -----

// 16-bit codes are multiplied as whole numbers here: 65535 * 127 a term.
#high = {mean = 60000.0 : f64, std = 2000.0 : f64, lo = 0.0 : f64, hi = 65535.0 : f64, source = "option"}
module attributes {mp.target = "int32-sum"} {
func.func @wide(%x: tensor<1x400xf32> {mp.assume = #high}) -> tensor<1x1xf32> {
  %one = mp.constant dense<1.0> : tensor<f32>
  %zero = mp.constant dense<0> : tensor<ui16>
  // expected-note @below {{has the weights; in channel 0 the greatest code at the 400 weights above 0 and the least at the 0 below it attain the sum}}
  %codes = mp.constant dense<127> : tensor<400x1xsi8>
  %q = mp.quantize %x, %one zero_point %zero : (tensor<1x400xf32>, tensor<f32>, tensor<ui16>) -> tensor<1x400xui16>
  %a = mp.dequantize %q, %one zero_point %zero : (tensor<1x400xui16>, tensor<f32>, tensor<ui16>) -> tensor<1x400xf32>
  %w = mp.dequantize %codes, %one : (tensor<400x1xsi8>, tensor<f32>) -> tensor<400x1xf32>
  // expected-error @below {{1 output channels are expected to leave 32 bits where products of codes are added, up to}}
  %y = mp.matmul %a, %w : (tensor<1x400xf32>, tensor<400x1xf32>) -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}
}

// -----

// The default target multiplies those as floats.
module {
func.func @silent(%x: tensor<1x400xf32>) -> tensor<1x1xf32> {
  %one = mp.constant dense<1.0> : tensor<f32>
  %zero = mp.constant dense<0> : tensor<ui16>
  %codes = mp.constant dense<127> : tensor<400x1xsi8>
  %q = mp.quantize %x, %one zero_point %zero : (tensor<1x400xf32>, tensor<f32>, tensor<ui16>) -> tensor<1x400xui16>
  %a = mp.dequantize %q, %one zero_point %zero : (tensor<1x400xui16>, tensor<f32>, tensor<ui16>) -> tensor<1x400xf32>
  %w = mp.dequantize %codes, %one : (tensor<400x1xsi8>, tensor<f32>) -> tensor<400x1xf32>
  %y = mp.matmul %a, %w : (tensor<1x400xf32>, tensor<400x1xf32>) -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}
}
