// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-apply-precision=mode=as-is --mp-recognize-idioms --rule-double-rounding --rule-sensitive-op --rule-dynamic-outlier --rule-block-outlier --mp-emit-findings

func.func @twice(%x: tensor<64xf32>) -> tensor<64xsi8> {
  // expected-note @below {{is the first scale}}
  %fine = mp.constant dense<0.02> : tensor<f32>
  // expected-note @below {{is the second}}
  %coarse = mp.constant dense<0.2> : tensor<f32>
  %q = mp.quantize %x, %fine : (tensor<64xf32>, tensor<f32>) -> tensor<64xsi8>
  %d = mp.dequantize %q, %fine : (tensor<64xsi8>, tensor<f32>) -> tensor<64xf32>
  // expected-warning @below {{numbers that are quantised in steps of 0.02 are quantised again in steps of 0.2, 10 times as coarse: 3.3 of their bits are lost}}
  %r = mp.quantize %d, %coarse : (tensor<64xf32>, tensor<f32>) -> tensor<64xsi8>
  return %r : tensor<64xsi8>
}

// -----

// Of boxes and scores that are joined, the scores; codes of 16 bits.
func.func @joined(%boxes: tensor<8x4xf32>, %scores: tensor<8x1xf32>) -> tensor<8x5xui16> {
  %wide = mp.constant dense<0.01> : tensor<f32>
  // expected-note @below {{is the first scale}}
  %narrow = mp.constant dense<1.0e-5> : tensor<f32>
  %zero = mp.constant dense<32768> : tensor<ui16>
  // expected-note @below {{is the second}}
  %joint = mp.constant dense<0.011> : tensor<f32>
  %a = mp.quantize %boxes, %wide zero_point %zero : (tensor<8x4xf32>, tensor<f32>, tensor<ui16>) -> tensor<8x4xui16>
  %b = mp.quantize %scores, %narrow zero_point %zero : (tensor<8x1xf32>, tensor<f32>, tensor<ui16>) -> tensor<8x1xui16>
  %x = mp.dequantize %a, %wide zero_point %zero : (tensor<8x4xui16>, tensor<f32>, tensor<ui16>) -> tensor<8x4xf32>
  %y = mp.dequantize %b, %narrow zero_point %zero : (tensor<8x1xui16>, tensor<f32>, tensor<ui16>) -> tensor<8x1xf32>
  %j = mp.concat %x, %y {axis = 1 : i64} : (tensor<8x4xf32>, tensor<8x1xf32>) -> tensor<8x5xf32>
  // expected-warning @below {{1100 times as coarse}}
  %q = mp.quantize %j, %joint zero_point %zero : (tensor<8x5xf32>, tensor<f32>, tensor<ui16>) -> tensor<8x5xui16>
  return %q : tensor<8x5xui16>
}

// -----

// The same scale, and one that is finer.
func.func @once(%x: tensor<64xf32>) -> tensor<64xsi8> {
  %fine = mp.constant dense<0.02> : tensor<f32>
  %finer = mp.constant dense<0.019> : tensor<f32>
  %q = mp.quantize %x, %fine : (tensor<64xf32>, tensor<f32>) -> tensor<64xsi8>
  %d = mp.dequantize %q, %fine : (tensor<64xsi8>, tensor<f32>) -> tensor<64xf32>
  %r = mp.quantize %d, %finer : (tensor<64xf32>, tensor<f32>) -> tensor<64xsi8>
  return %r : tensor<64xsi8>
}

// -----

func.func @probabilities(%x: tensor<4x8xf32>) -> (tensor<4x8xui8>, tensor<4x8xui8>, tensor<4x8xui16>) {
  %fits = mp.constant dense<0.00390625> : tensor<f32>
  // expected-note @below {{is the scale}}
  %coarse = mp.constant dense<0.04> : tensor<f32>
  %wide = mp.constant dense<1.52587890625e-5> : tensor<f32>
  %zero = mp.constant dense<0> : tensor<ui8>
  %none = mp.constant dense<0> : tensor<ui16>
  %p = mp.softmax %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = mp.quantize %p, %fits zero_point %zero : (tensor<4x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x8xui8>
  // expected-warning @below {{probabilities are quantised in steps of 0.04, of which the last code is 10.2: 1 / 256 holds all of them}}
  %b = mp.quantize %p, %coarse zero_point %zero : (tensor<4x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x8xui8>
  %c = mp.quantize %p, %wide zero_point %none : (tensor<4x8xf32>, tensor<f32>, tensor<ui16>) -> tensor<4x8xui16>
  return %a, %b, %c : tensor<4x8xui8>, tensor<4x8xui8>, tensor<4x8xui16>
}

// -----

// One of four channels is 1000 times the others.
func.func @norm(%x: tensor<16x4xf32>) -> (tensor<16x4xf32>, tensor<16x4xf32>) {
  %sizes = mp.constant dense<[1.0, 1000.0, 1.0, 1.0]> : tensor<4xf32>
  // expected-note @below {{is the scale}}
  %scale = mp.constant dense<30.0> : tensor<f32>
  %own = mp.constant dense<0.03> : tensor<f32>
  %r = mp.mul %x, %sizes : (tensor<16x4xf32>, tensor<4xf32>) -> tensor<16x4xf32>
  // expected-warning @below {{the input of a norm or activation is quantised with outliers of}}
  %q = mp.quantize %r, %scale : (tensor<16x4xf32>, tensor<f32>) -> tensor<16x4xsi8>
  %d = mp.dequantize %q, %scale : (tensor<16x4xsi8>, tensor<f32>) -> tensor<16x4xf32>
  %n = mp.rms_norm %d {axis = 1 : i64} : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %p = mp.quantize %x, %own : (tensor<16x4xf32>, tensor<f32>) -> tensor<16x4xsi8>
  %e = mp.dequantize %p, %own : (tensor<16x4xsi8>, tensor<f32>) -> tensor<16x4xf32>
  %m = mp.rms_norm %e {axis = 1 : i64} : (tensor<16x4xf32>) -> tensor<16x4xf32>
  return %n, %m : tensor<16x4xf32>, tensor<16x4xf32>
}

// -----

func.func @dynamic(%x: tensor<16x4xf32>) -> (tensor<16x4xui8>, tensor<16x4xui8>) {
  %sizes = mp.constant dense<[1.0, 1000.0, 1.0, 1.0]> : tensor<4xf32>
  %r = mp.mul %x, %sizes : (tensor<16x4xf32>, tensor<4xf32>) -> tensor<16x4xf32>
  // expected-warning @below {{0 bits are left for it}}
  %q, %s, %z = mp.dynamic_quantize %r : (tensor<16x4xf32>) -> (tensor<16x4xui8>, tensor<f32>, tensor<ui8>)
  // expected-remark @below {{all rows share one scale: the result of one depends on the rest of its batch and on padding}}
  %p, %t, %u = mp.dynamic_quantize %x : (tensor<16x4xf32>) -> (tensor<16x4xui8>, tensor<f32>, tensor<ui8>)
  return %q, %p : tensor<16x4xui8>, tensor<16x4xui8>
}

// -----

// One row depends on no other.
func.func @row(%x: tensor<1x16xf32>) -> tensor<1x16xui8> {
  %q, %s, %z = mp.dynamic_quantize %x : (tensor<1x16xf32>) -> (tensor<1x16xui8>, tensor<f32>, tensor<ui8>)
  return %q : tensor<1x16xui8>
}

// -----

// Codes 8 are zeros. The first row has 15 at one place, the others 8 or 9 (0x98 is 8 and 9).
func.func @blocks(%x: tensor<2x16xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>) {
  // expected-note @below {{has a scale for each block}}
  %scale = mp.constant dense<0.1> : tensor<1xf32>
  %even = mp.constant dense<0.1> : tensor<1xf32>
  %w = mp.constant dense<[[[0x8F, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x98]]]> : tensor<1x1x8xui8>
  %v = mp.constant dense<[[[0x1F, 0x2E, 0x3D, 0xC4, 0xB5, 0x6A, 0xE1, 0x52]]]> : tensor<1x1x8xui8>
  // expected-warning @below {{in 1 of 1 blocks of the weight all but the largest one are within 10 dB of the rounding}}
  %y = mp.matmul_nbits %x, %w scales %scale {k = 16 : i64, n = 1 : i64, bits = 4 : i64, block_size = 16 : i64} : (tensor<2x16xf32>, tensor<1x1x8xui8>, tensor<1xf32>) -> tensor<2x1xf32>
  %z = mp.matmul_nbits %x, %v scales %even {k = 16 : i64, n = 1 : i64, bits = 4 : i64, block_size = 16 : i64} : (tensor<2x16xf32>, tensor<1x1x8xui8>, tensor<1xf32>) -> tensor<2x1xf32>
  return %y, %z : tensor<2x1xf32>, tensor<2x1xf32>
}

// -----

// Blocks of four along the rows of codes of 8 bits.
func.func @of_codes() -> tensor<8x1xf32> {
  // expected-note @below {{has a scale for each block}}
  %scale = mp.constant dense<[[0.1], [0.1]]> : tensor<2x1xf32>
  %w = mp.constant dense<[[127], [0], [0], [0], [100], [-90], [60], [-127]]> : tensor<8x1xsi8>
  // expected-warning @below {{in 1 of 2 blocks}}
  %y = mp.dequantize %w, %scale {axis = 0 : i64, block_size = 4 : i64} : (tensor<8x1xsi8>, tensor<2x1xf32>) -> tensor<8x1xf32>
  return %y : tensor<8x1xf32>
}

// -----

// Scores of at most 1 beside boxes, in steps of 2.5.
func.func @part(%boxes: tensor<8x4xf32>, %logits: tensor<8x1xf32>) -> tensor<8x5xui8> {
  // expected-note @below {{is the scale}}
  %scale = mp.constant dense<2.5> : tensor<f32>
  %zero = mp.constant dense<0> : tensor<ui8>
  // expected-note @below {{is the part}}
  %scores = mp.sigmoid %logits : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %j = mp.concat %boxes, %scores {axis = 1 : i64} : (tensor<8x4xf32>, tensor<8x1xf32>) -> tensor<8x5xf32>
  // expected-warning @below {{less than a step of the scale that all parts share, 2.5: nothing of it is left}}
  %q = mp.quantize %j, %scale zero_point %zero : (tensor<8x5xf32>, tensor<f32>, tensor<ui8>) -> tensor<8x5xui8>
  return %q : tensor<8x5xui8>
}

// -----

// 1 / 256 with signed codes ends at 0.496.
#scores = {mean = 0.0 : f64, std = 3.0 : f64, lo = -30.0 : f64, hi = 30.0 : f64, source = "option"}
func.func @half(%x: tensor<64x16xf32> {mp.assume = #scores}) -> (tensor<64x16xsi8>, tensor<64x16xsi8>) {
  // expected-note @below {{is the scale}}
  %scale = mp.constant dense<0.00390625> : tensor<f32>
  %whole = mp.constant dense<0.00787402> : tensor<f32>
  %p = mp.softmax %x {axis = 1 : i64} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  // expected-warning @below {{probabilities are clipped at 0.496094, the last code}}
  %q = mp.quantize %p, %scale : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xsi8>
  %r = mp.quantize %p, %whole : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xsi8>
  return %q, %r : tensor<64x16xsi8>, tensor<64x16xsi8>
}
