// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @tensors
func.func @tensors(%x: tensor<2x8xf32>, %s: tensor<f32>, %z: tensor<i8>, %cs: tensor<8xf16>, %q: tensor<2x8xi8>, %bs: tensor<2x2xf32>) {
  // CHECK: mp.quantize %{{.*}}, %{{.*}} : {{.*}} -> tensor<2x8xui8>
  %0 = mp.quantize %x, %s : (tensor<2x8xf32>, tensor<f32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.quantize %{{.*}}, %{{.*}} zero_point %{{.*}} -> tensor<2x8xi8>
  %1 = mp.quantize %x, %s zero_point %z : (tensor<2x8xf32>, tensor<f32>, tensor<i8>) -> tensor<*x!mp.unknown>
  // CHECK: mp.quantize {{.*}} -> tensor<2x8xf8E4M3FN>
  %2 = mp.quantize %x, %s {saturate = false} : (tensor<2x8xf32>, tensor<f32>) -> tensor<*xf8E4M3FN>
  // CHECK: mp.quantize {{.*}} -> tensor<2x8xi4>
  %3 = mp.quantize %x, %bs {block_size = 4 : i64} : (tensor<2x8xf32>, tensor<2x2xf32>) -> tensor<*xi4>
  // CHECK: mp.dequantize {{.*}} -> tensor<2x8xf16>
  %4 = mp.dequantize %q, %cs : (tensor<2x8xi8>, tensor<8xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.dequantize {{.*}} -> tensor<2x8xbf16>
  %5 = mp.dequantize %q, %s zero_point %z {output_type = bf16} : (tensor<2x8xi8>, tensor<f32>, tensor<i8>) -> tensor<*x!mp.unknown>
  // CHECK: mp.dynamic_quantize {{.*}} -> (tensor<2x8xui8>, tensor<f32>, tensor<ui8>)
  %6:3 = mp.dynamic_quantize %x : (tensor<2x8xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.dynamic_quantize {{.*}} -> (tensor<2x8xi8>, tensor<2x2xf32>, tensor<2x2xi8>)
  %b:3 = mp.dynamic_quantize %x {block_size = 4 : i64, code_lo = -128 : i64, code_hi = 127 : i64, symmetric = true}
    : (tensor<2x8xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.dequantize {{.*}} {codes = array<i64: -8, 7>} {{.*}} -> tensor<2x8xf32>
  %c = mp.dequantize %q, %s zero_point %z {codes = array<i64: -8, 7>} : (tensor<2x8xi8>, tensor<f32>, tensor<i8>) -> tensor<*x!mp.unknown>
  // CHECK: mp.fake_quantize {{.*}} -> tensor<2x8xf32>
  %7 = mp.fake_quantize %x, %cs {quant_min = -128 : i64, quant_max = 127 : i64, axis = 1 : i64} : (tensor<2x8xf32>, tensor<8xf16>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @packed
func.func @packed(%x: tensor<?x64xf16>, %w: tensor<32x4x8xui8>, %s: tensor<128xf16>, %b: tensor<32xf16>, %i: tensor<3xi64>, %d: tensor<100x32xui8>, %ds: tensor<100x4xf16>) {
  // CHECK: mp.matmul_nbits %{{.*}}, %{{.*}} scales %{{.*}} bias %{{.*}} -> tensor<?x32xf16>
  %0 = mp.matmul_nbits %x, %w scales %s bias %b {k = 64 : i64, n = 32 : i64, bits = 4 : i64, block_size = 16 : i64}
    : (tensor<?x64xf16>, tensor<32x4x8xui8>, tensor<128xf16>, tensor<32xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.gather_block_quantized {{.*}} -> tensor<3x64xf16>
  %1 = mp.gather_block_quantized %d, %i scales %ds {block_size = 16 : i64} : (tensor<100x32xui8>, tensor<3xi64>, tensor<100x4xf16>) -> tensor<*x!mp.unknown>
  return
}
