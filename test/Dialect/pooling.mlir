// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @max_pool
func.func @max_pool(%x: tensor<?x3x7x8xf16>, %u: tensor<3x7x8xf16>) {
  // CHECK: mp.max_pool %{{.*}} -> tensor<?x3x3x4xf16>
  %0 = mp.max_pool %x {kernel_shape = array<i64: 3, 2>, strides = array<i64: 2, 2>} : (tensor<?x3x7x8xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.max_pool %{{.*}} -> (tensor<?x3x5x8xf16>, tensor<?x3x5x8xi64>)
  %1:2 = mp.max_pool %x {kernel_shape = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 2, 1>} : (tensor<?x3x7x8xf16>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.max_pool %{{.*}} -> tensor<3x4x4xf16>
  %2 = mp.max_pool %u {kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>, auto_pad = "SAME_LOWER"} : (tensor<3x7x8xf16>) -> tensor<*x!mp.unknown>
  return
}

// Rounding up, without a window that would start past the input.
// CHECK-LABEL: @ceil_mode
func.func @ceil_mode(%x: tensor<1x1x4xf32>, %y: tensor<1x1x3xf32>) {
  // CHECK: mp.max_pool %{{.*}} -> tensor<1x1x2xf32>
  %0 = mp.max_pool %x {kernel_shape = array<i64: 3>, strides = array<i64: 2>, ceil_mode = true} : (tensor<1x1x4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.average_pool %{{.*}} -> tensor<1x1x1xf32>
  %1 = mp.average_pool %y {kernel_shape = array<i64: 2>, strides = array<i64: 3>, ceil_mode = true} : (tensor<1x1x3xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.average_pool %{{.*}}legacy_ceil{{.*}} -> tensor<1x1x?xf32>
  %2 = mp.average_pool %y {kernel_shape = array<i64: 2>, strides = array<i64: 3>, ceil_mode = true, legacy_ceil} : (tensor<1x1x3xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.average_pool %{{.*}}legacy_ceil{{.*}} -> tensor<1x1x2xf32>
  %3 = mp.average_pool %x {kernel_shape = array<i64: 2>, strides = array<i64: 3>, ceil_mode = true, legacy_ceil} : (tensor<1x1x4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.lp_pool %{{.*}} -> tensor<1x1x2xf32>
  %4 = mp.lp_pool %x {kernel_shape = array<i64: 2>, strides = array<i64: 3>, ceil_mode = true, p = 1.0} : (tensor<1x1x4xf32>) -> tensor<*x!mp.unknown>
  return
}

// A window that misses less than a stride: rounding differs between runtimes.
// CHECK-LABEL: @short_input
func.func @short_input(%x: tensor<1x1x2xf32>) {
  // CHECK: mp.max_pool %{{.*}} -> tensor<1x1x?xf32>
  %0 = mp.max_pool %x {kernel_shape = array<i64: 3>, strides = array<i64: 2>} : (tensor<1x1x2xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.max_pool %{{.*}} -> tensor<1x1x0xf32>
  %1 = mp.max_pool %x {kernel_shape = array<i64: 3>} : (tensor<1x1x2xf32>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @unpool
func.func @unpool(%x: tensor<1x4x5x6xf32>, %i: tensor<1x4x5x6xi64>) {
  // CHECK: mp.max_unpool %{{.*}} -> tensor<1x4x9x12xf32>
  %0 = mp.max_unpool %x, %i {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 1, 0, 0, 0>} : (tensor<1x4x5x6xf32>, tensor<1x4x5x6xi64>) -> tensor<*x!mp.unknown>
  %s = mp.constant dense<[1, 4, 11, 13]> : tensor<4xi64>
  // CHECK: mp.max_unpool %{{.*}} shape %{{.*}} -> tensor<1x4x11x13xf32>
  %1 = mp.max_unpool %x, %i shape %s {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x4x5x6xf32>, tensor<1x4x5x6xi64>, tensor<4xi64>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @whole
func.func @whole(%x: tensor<?x4x5x?xbf16>) {
  // CHECK: mp.global_average_pool %{{.*}} -> tensor<?x4x1x1xbf16>
  %0 = mp.global_average_pool %x : (tensor<?x4x5x?xbf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.global_max_pool %{{.*}} -> tensor<?x4x1x1xbf16>
  %1 = mp.global_max_pool %x : (tensor<?x4x5x?xbf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.global_lp_pool %{{.*}} -> tensor<?x4x1x1xbf16>
  %2 = mp.global_lp_pool %x {p = 3.0} : (tensor<?x4x5x?xbf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.adaptive_avg_pool %{{.*}} -> tensor<?x4x7x?xbf16>
  %3 = mp.adaptive_avg_pool %x {output_size = array<i64: 7, -1>} : (tensor<?x4x5x?xbf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.adaptive_max_pool %{{.*}} -> (tensor<?x4x2x2xbf16>, tensor<?x4x2x2xi64>)
  %4:2 = mp.adaptive_max_pool %x {output_size = array<i64: 2, 2>} : (tensor<?x4x5x?xbf16>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// CHECK-LABEL: @regions
func.func @regions(%x: tensor<2x4x16x16xf32>, %r: tensor<?x4xf32>, %b: tensor<?xi64>, %q: tensor<3x5xf32>) {
  // CHECK: mp.roi_align %{{.*}} -> tensor<?x4x7x6xf32>
  %0 = mp.roi_align %x, %r, %b {output_height = 7 : i64, output_width = 6 : i64, spatial_scale = 0.25} : (tensor<2x4x16x16xf32>, tensor<?x4xf32>, tensor<?xi64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.max_roi_pool %{{.*}} -> tensor<3x4x2x2xf32>
  %1 = mp.max_roi_pool %x, %q {pooled_shape = array<i64: 2, 2>} : (tensor<2x4x16x16xf32>, tensor<3x5xf32>) -> tensor<*x!mp.unknown>
  return
}
