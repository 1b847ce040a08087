// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @matmul
func.func @matmul(%m: tensor<?x1x3x4xf16>, %n: tensor<5x4x6xf32>, %v: tensor<4xf16>) {
  // CHECK: mp.matmul %{{.*}} -> tensor<?x5x3x6xf32>
  %0 = mp.matmul %m, %n : (tensor<?x1x3x4xf16>, tensor<5x4x6xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.matmul %{{.*}} -> tensor<5x6xf32>
  %1 = mp.matmul %v, %n : (tensor<4xf16>, tensor<5x4x6xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.matmul %{{.*}} -> tensor<?x1x3xf16>
  %2 = mp.matmul %m, %v : (tensor<?x1x3x4xf16>, tensor<4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.matmul %{{.*}} -> tensor<f16>
  %3 = mp.matmul %v, %v : (tensor<4xf16>, tensor<4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.matmul %{{.*}} {alpha = 1.250000e-01 : f64, trans_b = true} : {{.*}} -> tensor<?x1x3x3xf16>
  %4 = mp.matmul %m, %m {alpha = 0.125, trans_b = true} : (tensor<?x1x3x4xf16>, tensor<?x1x3x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.matmul %{{.*}} -> tensor<?x1x4x4xf16>
  %5 = mp.matmul %m, %m {trans_a = true} : (tensor<?x1x3x4xf16>, tensor<?x1x3x4xf16>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @unknown_rank
func.func @unknown_rank(%a: tensor<*xf16>, %b: tensor<4x6xf16>) {
  // CHECK: mp.matmul %{{.*}} -> tensor<*xf16>
  %0 = mp.matmul %a, %b : (tensor<*xf16>, tensor<4x6xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.gemm %{{.*}} -> tensor<?x6xf16>
  %1 = mp.gemm %a, %b : (tensor<*xf16>, tensor<4x6xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.conv %{{.*}} -> tensor<*xf16>
  %2 = mp.conv %a, %a : (tensor<*xf16>, tensor<*xf16>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @gemm
func.func @gemm(%a: tensor<4x2xf32>, %b: tensor<6x4xf32>, %c: tensor<6xf32>) {
  // CHECK: mp.gemm %arg0, %arg1 bias %arg2 {alpha = 5.000000e-01 : f64, trans_a = true, trans_b = true} : {{.*}} -> tensor<2x6xf32>
  %0 = mp.gemm %a, %b bias %c {trans_a = true, trans_b = true, alpha = 0.5} : (tensor<4x2xf32>, tensor<6x4xf32>, tensor<6xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.linear %{{.*}} bias %{{.*}} -> tensor<6x6xf32>
  %1 = mp.linear %b, %b bias %c : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6xf32>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @bilinear
func.func @bilinear(%a: tensor<?x3xf32>, %b: tensor<?x4xf32>, %w: tensor<5x3x4xf32>) {
  // CHECK: mp.bilinear %{{.*}} -> tensor<?x5xf32>
  %0 = mp.bilinear %a, %b, %w : (tensor<?x3xf32>, tensor<?x4xf32>, tensor<5x3x4xf32>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @einsum
func.func @einsum(%a: tensor<2x3x4xf32>, %b: tensor<5x1x4x6xf32>, %u: tensor<*xf32>) {
  // CHECK: mp.einsum %{{.*}} -> tensor<5x2x3x6xf32>
  %0 = mp.einsum %a, %b {equation = "... i j, ...jk -> ...ik"} : (tensor<2x3x4xf32>, tensor<5x1x4x6xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.einsum %{{.*}} -> tensor<2x6xf32>
  %1 = mp.einsum %a, %b {equation = "zjk,ajkb->zb"} : (tensor<2x3x4xf32>, tensor<5x1x4x6xf32>) -> tensor<*x!mp.unknown>
  // Labels that occur once, in alphabetical order: a, b, z.
  // CHECK: mp.einsum %{{.*}} -> tensor<5x6x2xf32>
  %2 = mp.einsum %a, %b {equation = "zjk,ajkb"} : (tensor<2x3x4xf32>, tensor<5x1x4x6xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.einsum %{{.*}} -> tensor<?x4xf32>
  %3 = mp.einsum %u, %a {equation = "ii,jkl->il"} : (tensor<*xf32>, tensor<2x3x4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.einsum %{{.*}} -> tensor<*xf32>
  %4 = mp.einsum %u {equation = "...i"} : (tensor<*xf32>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @conv
func.func @conv(%x: tensor<?x4x5x6xf16>, %w: tensor<8x2x3x3xf16>, %b: tensor<8xf16>) {
  // CHECK: mp.conv %arg0, %arg1 bias %arg2 {group = 2 : i64} : {{.*}} -> tensor<?x8x3x4xf16>
  %0 = mp.conv %x, %w bias %b {group = 2 : i64} : (tensor<?x4x5x6xf16>, tensor<8x2x3x3xf16>, tensor<8xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.conv %{{.*}} -> tensor<?x8x2x2xf16>
  %1 = mp.conv %x, %w {group = 2 : i64, strides = array<i64: 2, 3>, dilations = array<i64: 2, 1>, pads = array<i64: 1, 0, 1, 1>} : (tensor<?x4x5x6xf16>, tensor<8x2x3x3xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.conv %{{.*}} -> tensor<?x8x3x2xf16>
  %2 = mp.conv %x, %w {group = 2 : i64, strides = array<i64: 2, 4>, auto_pad = "SAME_UPPER"} : (tensor<?x4x5x6xf16>, tensor<8x2x3x3xf16>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @conv_1d_and_3d
func.func @conv_1d_and_3d(%x: tensor<1x4x?xf32>, %w: tensor<8x4x3xf32>, %y: tensor<1x1x5x5x5xf32>, %f: tensor<2x1x5x3x1xf32>) {
  // CHECK: mp.conv %{{.*}} -> tensor<1x8x?xf32>
  %0 = mp.conv %x, %w : (tensor<1x4x?xf32>, tensor<8x4x3xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.conv %{{.*}} -> tensor<1x2x1x3x5xf32>
  %1 = mp.conv %y, %f : (tensor<1x1x5x5x5xf32>, tensor<2x1x5x3x1xf32>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @conv_transpose
func.func @conv_transpose(%x: tensor<1x4x5x6xf32>, %w: tensor<4x3x3x3xf32>) {
  // CHECK: mp.conv_transpose %{{.*}} -> tensor<1x6x12x17xf32>
  %0 = mp.conv_transpose %x, %w {group = 2 : i64, output_padding = array<i64: 1, 1>, strides = array<i64: 2, 3>, dilations = array<i64: 2, 1>, pads = array<i64: 1, 0, 1, 2>} : (tensor<1x4x5x6xf32>, tensor<4x3x3x3xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.conv_transpose %{{.*}} -> tensor<1x3x10x18xf32>
  %1 = mp.conv_transpose %x, %w {auto_pad = "SAME_UPPER", strides = array<i64: 2, 3>} : (tensor<1x4x5x6xf32>, tensor<4x3x3x3xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.conv_transpose %{{.*}} -> tensor<1x3x9x17xf32>
  %2 = mp.conv_transpose %x, %w {output_shape = array<i64: 9, 17>, strides = array<i64: 2, 3>} : (tensor<1x4x5x6xf32>, tensor<4x3x3x3xf32>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @deform_conv
func.func @deform_conv(%x: tensor<1x4x5x6xf32>, %w: tensor<8x4x3x3xf32>, %o: tensor<1x18x3x4xf32>, %m: tensor<1x9x3x4xf32>) {
  // CHECK: mp.deform_conv %arg0, %arg1, %arg2 mask %arg3 : {{.*}} -> tensor<1x8x3x4xf32>
  %0 = mp.deform_conv %x, %w, %o mask %m : (tensor<1x4x5x6xf32>, tensor<8x4x3x3xf32>, tensor<1x18x3x4xf32>, tensor<1x9x3x4xf32>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @integers
func.func @integers(%a: tensor<2x3xui8>, %b: tensor<3x4xi8>, %z: tensor<i8>, %x: tensor<1x1x4x4xui8>, %w: tensor<1x1x2x2xi8>) {
  // CHECK: mp.matmul_integer %arg0, %arg1 rhs_zero %arg2 : {{.*}} -> tensor<2x4xi32>
  %0 = mp.matmul_integer %a, %b rhs_zero %z : (tensor<2x3xui8>, tensor<3x4xi8>, tensor<i8>) -> tensor<*x!mp.unknown>
  // CHECK: mp.conv_integer %{{.*}} -> tensor<1x1x3x3xi32>
  %1 = mp.conv_integer %x, %w : (tensor<1x1x4x4xui8>, tensor<1x1x2x2xi8>) -> tensor<*x!mp.unknown>
  return
}
