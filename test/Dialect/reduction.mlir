// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @axes
func.func @axes(%x: tensor<2x?x4xf16>) {
  // CHECK: mp.reduce_sum %{{.*}} {axes = array<i64: -1>, keep_dims = true} : (tensor<2x?x4xf16>) -> tensor<2x?x1xf16>
  %0 = mp.reduce_sum %x {axes = array<i64: -1>, keep_dims = true} : (tensor<2x?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.reduce_mean %{{.*}} {axes = array<i64: 0, 2>} : (tensor<2x?x4xf16>) -> tensor<?xf16>
  %1 = mp.reduce_mean %x {axes = array<i64: 0, 2>} : (tensor<2x?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.reduce_max %{{.*}} : (tensor<2x?x4xf16>) -> tensor<f16>
  %2 = mp.reduce_max %x : (tensor<2x?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.variance %{{.*}} {correction = 0.000000e+00 : f64, keep_dims = true} : (tensor<2x?x4xf16>) -> tensor<1x1x1xf16>
  %3 = mp.variance %x {correction = 0.0, keep_dims = true} : (tensor<2x?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.reduce_any %{{.*}} -> tensor<2x4xi1>
  %4 = mp.reduce_any %x {axes = array<i64: 1>} : (tensor<2x?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.count_nonzero %{{.*}} -> tensor<2x4xi64>
  %5 = mp.count_nonzero %x {axes = array<i64: 1>} : (tensor<2x?x4xf16>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @dynamic_axes
func.func @dynamic_axes(%x: tensor<2x3x4xf16>, %u: tensor<*xf16>, %a: tensor<2xi64>, %b: tensor<?xi64>) {
  // CHECK: mp.reduce_sum %{{.*}} axes %{{.*}} {keep_dims = true} : (tensor<2x3x4xf16>, tensor<2xi64>) -> tensor<?x?x?xf16>
  %0 = mp.reduce_sum %x axes %a {keep_dims = true} : (tensor<2x3x4xf16>, tensor<2xi64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.reduce_sum %{{.*}} axes %{{.*}} : (tensor<2x3x4xf16>, tensor<2xi64>) -> tensor<?xf16>
  %1 = mp.reduce_sum %x axes %a : (tensor<2x3x4xf16>, tensor<2xi64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.reduce_sum %{{.*}} axes %{{.*}} : (tensor<2x3x4xf16>, tensor<?xi64>) -> tensor<*xf16>
  %2 = mp.reduce_sum %x axes %b : (tensor<2x3x4xf16>, tensor<?xi64>) -> tensor<*x!mp.unknown>
  %c = mp.constant dense<[0, 2]> : tensor<2xi64>
  // CHECK: mp.reduce_sum %{{.*}} -> tensor<3xf16>
  %3 = mp.reduce_sum %x axes %c : (tensor<2x3x4xf16>, tensor<2xi64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.reduce_sum %{{.*}} : (tensor<*xf16>) -> tensor<f16>
  %4 = mp.reduce_sum %u : (tensor<*xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.reduce_sum %{{.*}} -> tensor<*xf16>
  %5 = mp.reduce_sum %u {axes = array<i64: 0>} : (tensor<*xf16>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @positions
func.func @positions(%x: tensor<2x5xf16>, %k: tensor<1xi64>) {
  // CHECK: mp.arg_max %{{.*}} {axis = 1 : i64, keep_dims = true} : (tensor<2x5xf16>) -> tensor<2x1xi64>
  %0 = mp.arg_max %x {axis = 1 : i64, keep_dims = true} : (tensor<2x5xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.arg_min %{{.*}} : (tensor<2x5xf16>) -> tensor<i64>
  %1 = mp.arg_min %x : (tensor<2x5xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.top_k %{{.*}} {k = 3 : i64} : (tensor<2x5xf16>) -> (tensor<2x3xf16>, tensor<2x3xi64>)
  %2:2 = mp.top_k %x {k = 3 : i64} : (tensor<2x5xf16>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.top_k %{{.*}} k %{{.*}} {axis = 0 : i64} : (tensor<2x5xf16>, tensor<1xi64>) -> (tensor<?x5xf16>, tensor<?x5xi64>)
  %3:2 = mp.top_k %x k %k {axis = 0 : i64} : (tensor<2x5xf16>, tensor<1xi64>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  %two = mp.constant dense<2> : tensor<1xi64>
  // CHECK: mp.top_k %{{.*}} -> (tensor<2x2xf16>, tensor<2x2xi64>)
  %4:2 = mp.top_k %x k %two : (tensor<2x5xf16>, tensor<1xi64>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.sort %{{.*}} {descending} : (tensor<2x5xf16>) -> (tensor<2x5xf16>, tensor<2x5xi64>)
  %5:2 = mp.sort %x {descending} : (tensor<2x5xf16>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.median %{{.*}} {axis = 0 : i64} : (tensor<2x5xf16>) -> (tensor<5xf16>, tensor<5xi64>)
  %6:2 = mp.median %x {axis = 0 : i64} : (tensor<2x5xf16>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// CHECK-LABEL: @scans
func.func @scans(%x: tensor<2x?xf16>, %a: tensor<i64>) {
  // CHECK: mp.cum_sum %{{.*}} {axis = 1 : i64, exclusive} : (tensor<2x?xf16>) -> tensor<2x?xf16>
  %0 = mp.cum_sum %x {axis = 1 : i64, exclusive} : (tensor<2x?xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.cum_prod %{{.*}} axis %{{.*}} {reverse} : (tensor<2x?xf16>, tensor<i64>) -> tensor<2x?xf16>
  %1 = mp.cum_prod %x axis %a {reverse} : (tensor<2x?xf16>, tensor<i64>) -> tensor<*x!mp.unknown>
  return
}
