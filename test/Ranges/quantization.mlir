// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

func.func @codes(%x: tensor<2x2xf32> {mp.assume = {lo = -1.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
  %s = mp.constant dense<0.5> : tensor<f32>
  %z = mp.constant dense<10> : tensor<ui8>
  // 8 to 210.
  // expected-remark @below {{[8, 210] integral}}
  %0 = mp.quantize %x, %s zero_point %z : (tensor<2x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x2xui8>
  // expected-remark @below {{[-1, 100]}}
  %1 = mp.dequantize %0, %s zero_point %z : (tensor<2x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x2xf32>
  %list = mp.constant dense<[0.1, 10.0]> : tensor<2xf32>
  // Saturated in the first channel.
  // expected-remark @below {{{1x2} [0, 255] [0, 10] integral}}
  %2 = mp.quantize %x, %list : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xui8>
  // expected-remark @below {{[-1, 3.5]}}
  %3 = mp.fake_quantize %x, %s {quant_min = -8 : i64, quant_max = 7 : i64} : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  // expected-remark @+3 {{#0: [0, 255] integral}}
  // expected-remark @+2 {{#1: [0, 1]}}
  // expected-remark @below {{#2: [0, 255] integral}}
  %4, %5, %6 = mp.dynamic_quantize %x : (tensor<2x2xf32>) -> (tensor<2x2xui8>, tensor<f32>, tensor<ui8>)
  // Twice the largest magnitude over 255 steps; at least the given one.
  // expected-remark @+3 {{#0: [-128, 127] integral}}
  // expected-remark @+2 {{#1: [0.25, 0.7843}}
  // expected-remark @below {{#2: [0, 0] integral}}
  %7, %8, %9 = mp.dynamic_quantize %x {block_size = 2 : i64, code_lo = -128 : i64, code_hi = 127 : i64, symmetric = true, least_scale = 0.25 : f64} : (tensor<2x2xf32>) -> (tensor<2x2xi8>, tensor<2x1xf32>, tensor<2x1xi8>)
  return
}

// -----

func.func @weights() {
  %w = mp.constant dense<[[1, -128], [127, 5]]> : tensor<2x2xi8>
  %s = mp.constant dense<[0.5, 2.0]> : tensor<2xf32>
  // Exact, element by element.
  // expected-remark @below {{{2x2} [0.5, 0.5] [-64, -64] [254, 254] [10, 10]}}
  %0 = mp.dequantize %w, %s {axis = 0 : i64} : (tensor<2x2xi8>, tensor<2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @bits(%x: tensor<3x64xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.3 : f64}}, %w: tensor<8x2x16xui8>, %i: tensor<2xi64>) {
  %s = mp.constant dense<0.25> : tensor<8x2xf32>
  // 64 products of up to 1 * 8 * 0.25.
  // expected-remark @below {{[-128, 128]}}
  %0 = mp.matmul_nbits %x, %w scales %s {k = 64 : i64, n = 8 : i64, bits = 4 : i64, block_size = 32 : i64} : (tensor<3x64xf32>, tensor<8x2x16xui8>, tensor<8x2xf32>) -> tensor<3x8xf32>
  return
}

// -----

// FP32 does not hold 2^24 + 1.
func.func @large_codes(%x: tensor<2xi32> {mp.assume = {lo = 16777217.0 : f64, hi = 16777217.0 : f64}}) -> tensor<2xf32> {
  %s = mp.constant dense<3.0> : tensor<f32>
  // expected-remark @below {{[5.03316e+07, 5.03317e+07]}}
  %0 = mp.dequantize %x, %s : (tensor<2xi32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
