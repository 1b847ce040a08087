// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @generators
func.func @generators(%x: tensor<2x?xf32>, %p: tensor<3x10xf32>) {
  %s = mp.shape %x : (tensor<2x?xf32>) -> tensor<2xi64>
  // CHECK: mp.random_normal {{.*}} {mean = 1.000000e+00 : f64, scale = 2.000000e+00 : f64} {{.*}} -> tensor<2x?xf16>
  %0 = mp.random_normal %s {mean = 1.0 : f64, scale = 2.0 : f64} : (tensor<2xi64>) -> tensor<*xf16>
  // CHECK: mp.random_uniform {{.*}} -> tensor<2x?xf32>
  %1 = mp.random_uniform %s {seed = 3.0 : f64} : (tensor<2xi64>) -> tensor<*xf32>
  // CHECK: mp.random_int {{.*}} -> tensor<2x?xi32>
  %2 = mp.random_int %s {low = -3 : i64, high = 5 : i64} : (tensor<2xi64>) -> tensor<*xi32>
  // CHECK: mp.bernoulli {{.*}} -> tensor<2x?xf32>
  %3 = mp.bernoulli %x : (tensor<2x?xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.bernoulli {{.*}} -> tensor<2x?xi1>
  %4 = mp.bernoulli %x : (tensor<2x?xf32>) -> tensor<*xi1>
  // CHECK: mp.multinomial {{.*}} {sample_size = 4 : i64} {{.*}} -> tensor<3x4xi32>
  %5 = mp.multinomial %p {sample_size = 4 : i64} : (tensor<3x10xf32>) -> tensor<*xi32>
  return
}

// CHECK-LABEL: @dropout
func.func @dropout(%x: tensor<2x?xf16>, %r: tensor<f32>, %t: tensor<i1>) {
  // CHECK: mp.dropout {{.*}} {ratio = 1.000000e-01 : f64, training} : (tensor<2x?xf16>) -> tensor<2x?xf16>
  %0 = mp.dropout %x {ratio = 0.1 : f64, training} : (tensor<2x?xf16>) -> tensor<*xf16>
  // CHECK: mp.dropout {{.*}} ratio {{.*}} training {{.*}} -> (tensor<2x?xf16>, tensor<2x?xi1>)
  %1:2 = mp.dropout %x ratio %r training %t : (tensor<2x?xf16>, tensor<f32>, tensor<i1>) -> (tensor<*xf16>, tensor<*x!mp.unknown>)
  // CHECK: mp.dropout {{.*}} -> (tensor<2x?xf16>, tensor<2x?xf16>)
  %2:2 = mp.dropout %x : (tensor<2x?xf16>) -> (tensor<*xf16>, tensor<*xf16>)
  return
}
