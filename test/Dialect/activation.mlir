// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @elementwise
func.func @elementwise(%x: tensor<?x4xf16>) {
  // CHECK: mp.relu %{{.*}} : (tensor<?x4xf16>) -> tensor<?x4xf16>
  %0 = mp.relu %x : (tensor<?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.leaky_relu %{{.*}} {alpha = 1.000000e-01 : f64} : (tensor<?x4xf16>) -> tensor<?x4xf16>
  %1 = mp.leaky_relu %x {alpha = 0.1} : (tensor<?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.gelu %{{.*}} {approximate = "tanh"} : (tensor<?x4xf16>) -> tensor<?x4xf16>
  %2 = mp.gelu %x {approximate = "tanh"} : (tensor<?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.softplus %{{.*}} {threshold = 2.000000e+01 : f64} : (tensor<?x4xf16>) -> tensor<?x4xf16>
  %3 = mp.softplus %x {threshold = 20.0} : (tensor<?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.silu %{{.*}} : (tensor<?x4xf16>) -> tensor<?x4xf16>
  %4 = mp.silu %x : (tensor<?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.hard_tanh %{{.*}} {high = 6.000000e+00 : f64, low = 0.000000e+00 : f64} : {{.*}} -> tensor<?x4xf16>
  %5 = mp.hard_tanh %x {low = 0.0, high = 6.0} : (tensor<?x4xf16>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @two_operands
func.func @two_operands(%x: tensor<?x4xf16>, %slope: tensor<4xf32>, %y: tensor<2x?xf16>) {
  // CHECK: mp.prelu %{{.*}} -> tensor<?x4xf32>
  %0 = mp.prelu %x, %slope : (tensor<?x4xf16>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  // What either shape knows holds for both.
  // CHECK: mp.swiglu %{{.*}} -> tensor<2x4xf16>
  %1 = mp.swiglu %x, %y : (tensor<?x4xf16>, tensor<2x?xf16>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @along_an_axis
func.func @along_an_axis(%x: tensor<2x3x4xf16>, %s: tensor<f16>, %u: tensor<*xf32>) {
  // CHECK: mp.softmax %{{.*}} : (tensor<2x3x4xf16>) -> tensor<2x3x4xf16>
  %0 = mp.softmax %x : (tensor<2x3x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.log_softmax %{{.*}} {axis = 1 : i64, flatten} : (tensor<2x3x4xf16>) -> tensor<2x3x4xf16>
  %1 = mp.log_softmax %x {axis = 1 : i64, flatten} : (tensor<2x3x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.hardmax %{{.*}} : (tensor<f16>) -> tensor<f16>
  %2 = mp.hardmax %s : (tensor<f16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.softmin %{{.*}} {axis = 7 : i64} : (tensor<*xf32>) -> tensor<*xf32>
  %3 = mp.softmin %u {axis = 7 : i64} : (tensor<*xf32>) -> tensor<*x!mp.unknown>
  return
}
