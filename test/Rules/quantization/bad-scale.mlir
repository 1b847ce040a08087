// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-bad-scale --mp-emit-findings

func.func @zero(%x: tensor<4xf32>) -> tensor<4xsi8> {
  %scale = mp.constant dense<0.0> : tensor<f32>
  // expected-error @below {{the scale is 0: all quantised values become 0 [MP601 certain]}}
  %q = mp.quantize %x, %scale : (tensor<4xf32>, tensor<f32>) -> tensor<4xsi8>
  return %q : tensor<4xsi8>
}

// -----

func.func @channels(%x: tensor<2x3xsi8>) -> tensor<2x3xf32> {
  %scale = mp.constant dense<[0.5, -0.25, 0x7FC00000]> : tensor<3xf32>
  // expected-error @below {{the scale at index 1 is -0.25: codes and numbers have opposite signs, and 1 more of 3 are no positive numbers [MP601 certain]}}
  %y = mp.dequantize %x, %scale : (tensor<2x3xsi8>, tensor<3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// FP16 stores 1e-9 as 0.
func.func @stored(%x: tensor<4xsi8>) -> tensor<4xf16> {
  %scale = mp.constant dense<1.0e-9> : tensor<f16>
  // expected-error @below {{the scale is 0}}
  %y = mp.dequantize %x, %scale : (tensor<4xsi8>, tensor<f16>) -> tensor<4xf16>
  return %y : tensor<4xf16>
}

// -----

func.func @silent(%x: tensor<4xf32>) -> tensor<4xf32> {
  %scale = mp.constant dense<0.1> : tensor<f32>
  %q = mp.quantize %x, %scale : (tensor<4xf32>, tensor<f32>) -> tensor<4xsi8>
  %y = mp.dequantize %q, %scale : (tensor<4xsi8>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Blocks of 4 bits whose zero points are floats.
func.func @zero_points(%x: tensor<2x16xf32>, %w: tensor<2x1x8xui8>) -> tensor<2x2xf32> {
  %scale = mp.constant dense<0.1> : tensor<2xf32>
  %zero = mp.constant dense<[7.5, 22.0]> : tensor<2xf32>
  // expected-error @below {{1 of 2 zero points are past the codes, 0 to 15, the farthest is 22: all numbers of those blocks have one sign [MP601 certain]}}
  %y = mp.matmul_nbits %x, %w scales %scale zero_points %zero {k = 16 : i64, n = 2 : i64, bits = 4 : i64, block_size = 16 : i64} : (tensor<2x16xf32>, tensor<2x1x8xui8>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

func.func @subnormal(%x: tensor<4xsi8>) -> tensor<4xf32> {
  %scale = mp.constant dense<1.0e-40> : tensor<f32>
  // expected-error @below {{it is subnormal, and 0 where kernels flush such numbers [MP601 certain]}}
  %y = mp.dequantize %x, %scale : (tensor<4xsi8>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Without a zero point the sign of a block's scale says which end has the code
// that is one more; with one it is a range.
func.func @negative_blocks(%x: tensor<2x16xf32>, %w: tensor<1x1x8xui8>) -> (tensor<2x1xf32>, tensor<2x1xf32>) {
  %scale = mp.constant dense<-0.1> : tensor<1xf32>
  %other = mp.constant dense<-0.1> : tensor<1xf32>
  %zero = mp.constant dense<7.5> : tensor<1xf32>
  %y = mp.matmul_nbits %x, %w scales %scale {k = 16 : i64, n = 1 : i64, bits = 4 : i64, block_size = 16 : i64} : (tensor<2x16xf32>, tensor<1x1x8xui8>, tensor<1xf32>) -> tensor<2x1xf32>
  // expected-error @below {{the scale is -0.1: codes and numbers have opposite signs}}
  %z = mp.matmul_nbits %x, %w scales %other zero_points %zero {k = 16 : i64, n = 1 : i64, bits = 4 : i64, block_size = 16 : i64} : (tensor<2x16xf32>, tensor<1x1x8xui8>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x1xf32>
  return %y, %z : tensor<2x1xf32>, tensor<2x1xf32>
}
