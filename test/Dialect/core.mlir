// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @constants
func.func @constants() -> (tensor<2xf16>, tensor<256xf32>) {
  // CHECK: mp.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf16>
  %0 = mp.constant dense<[1.0, 2.0]> : tensor<2xf16>
  // CHECK: mp.constant file("model.onnx", 4096:1024) : tensor<256xf32>
  %1 = mp.constant file("model.onnx", 4096:1024) : tensor<256xf32>
  // CHECK: mp.constant dense<["a", "b"]> : tensor<2x!mp.string>
  %2 = mp.constant dense<["a", "b"]> : tensor<2x!mp.string>
  return %0, %1 : tensor<2xf16>, tensor<256xf32>
}

// CHECK-LABEL: @casts
func.func @casts(%x: tensor<?x4xf32>) -> tensor<*xf16> {
  // CHECK: mp.cast %{{.*}} {origin = #mp.cast_origin<policy>} : (tensor<?x4xf32>) -> tensor<?x4xf16>
  %0 = mp.cast %x {origin = #mp.cast_origin<policy>} : (tensor<?x4xf32>) -> tensor<*xf16>
  return %0 : tensor<*xf16>
}

// CHECK-LABEL: @opaque
func.func @opaque(%x: tensor<4xf32>) -> tensor<*x!mp.unknown> {
  // CHECK: mp.opaque "com.acme::Foo"(%{{.*}}) attributes {alpha = 1.000000e+00 : f32} : (tensor<4xf32>) -> tensor<*x!mp.unknown>
  %0 = mp.opaque "com.acme::Foo"(%x) attributes {alpha = 1.0 : f32} : (tensor<4xf32>) -> tensor<*x!mp.unknown>
  return %0 : tensor<*x!mp.unknown>
}

// As the operand `like`, but for what is stated.
// CHECK-LABEL: @custom
func.func @custom(%x: tensor<4x8xf16>, %n: tensor<4xi64>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>) {
  // CHECK: -> tensor<4x8xf16>
  %0 = mp.custom %x, %n {name = "a::b", like = 0 : i64, lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, deviation = 1.0 : f64, slopes = array<f64: 1.0, 0.0>, dtypes = [f32, f16], accumulator = f32} : (tensor<4x8xf16>, tensor<4xi64>) -> tensor<*x!mp.unknown>
  // CHECK: -> tensor<4x?xf32>
  %1 = mp.custom %x, %n {name = "a::b", like = 0 : i64, sizes = array<i64: 4, -1>, dtype = f32, lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, deviation = 1.0 : f64, slopes = array<f64: 1.0>, dtypes = [], accumulator = f16, terms = 64 : i64} : (tensor<4x8xf16>, tensor<4xi64>) -> tensor<*x!mp.unknown>
  return %0, %1 : tensor<*x!mp.unknown>, tensor<*x!mp.unknown>
}
