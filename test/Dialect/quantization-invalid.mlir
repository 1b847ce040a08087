// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-infer-types

func.func @channels(%x: tensor<2x8xf32>, %s: tensor<7xf32>) {
  // expected-error @+1 {{has 7 scales for 8 channels}}
  %0 = mp.quantize %x, %s : (tensor<2x8xf32>, tensor<7xf32>) -> tensor<2x8xui8>
  return
}

// -----

func.func @axis(%x: tensor<8xi8>, %s: tensor<8xf32>) {
  // expected-error @+1 {{axis 1 is out of range of 'tensor<8xi8>'}}
  %0 = mp.dequantize %x, %s : (tensor<8xi8>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @blocks(%x: tensor<2x8xi8>, %s: tensor<2x3xf32>) {
  // expected-error @+1 {{does not fit 'tensor<2x8xi8>' in blocks of 4}}
  %0 = mp.dequantize %x, %s {block_size = 4 : i64} : (tensor<2x8xi8>, tensor<2x3xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @zero_point(%x: tensor<2x8xf32>, %s: tensor<f32>, %z: tensor<8xi8>) {
  // expected-error @+1 {{scale has rank 0, zero point 1}}
  %0 = mp.quantize %x, %s zero_point %z : (tensor<2x8xf32>, tensor<f32>, tensor<8xi8>) -> tensor<2x8xi8>
  return
}

// -----

func.func @wide(%x: tensor<2x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{cannot quantize to 'f16'}}
  %0 = mp.quantize %x, %s : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf16>
  return
}

// -----

func.func @range(%x: tensor<2x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{quant_min must be below quant_max}}
  %0 = mp.fake_quantize %x, %s {quant_min = 1 : i64, quant_max = 0 : i64} : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @columns(%x: tensor<2x60xf16>, %w: tensor<32x4x8xui8>, %s: tensor<128xf16>) {
  // expected-error @+1 {{input has 60 columns, k is 64}}
  %0 = mp.matmul_nbits %x, %w scales %s {k = 64 : i64, n = 32 : i64, bits = 4 : i64, block_size = 16 : i64}
    : (tensor<2x60xf16>, tensor<32x4x8xui8>, tensor<128xf16>) -> tensor<2x32xf16>
  return
}

// -----

func.func @bits(%x: tensor<2x64xf16>, %w: tensor<32x4x8xui8>, %s: tensor<128xf16>) {
  // expected-error @+1 {{bits must lie between 2 and 8, is 16}}
  %0 = mp.matmul_nbits %x, %w scales %s {k = 64 : i64, n = 32 : i64, bits = 16 : i64, block_size = 16 : i64}
    : (tensor<2x64xf16>, tensor<32x4x8xui8>, tensor<128xf16>) -> tensor<2x32xf16>
  return
}

// -----

func.func @codes(%x: tensor<2x8xi8>, %s: tensor<f32>) {
  // expected-error @+1 {{codes -8 to 200 are not all of 'i8'}}
  %0 = mp.dequantize %x, %s {codes = array<i64: -8, 200>} : (tensor<2x8xi8>, tensor<f32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @no_codes(%x: tensor<2x8xi8>, %s: tensor<f32>) {
  // expected-error @+1 {{codes must be a lower and a higher one}}
  %0 = mp.dequantize %x, %s {codes = array<i64: 7, 7>} : (tensor<2x8xi8>, tensor<f32>) -> tensor<2x8xf32>
  return
}
