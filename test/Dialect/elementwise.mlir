// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @unary
func.func @unary(%x: tensor<?x4xf16>, %b: tensor<3xi1>, %i: tensor<2xi32>) {
  // CHECK: mp.abs %{{.*}} : (tensor<?x4xf16>) -> tensor<?x4xf16>
  %0 = mp.abs %x : (tensor<?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.rsqrt %{{.*}} -> tensor<?x4xf16>
  %1 = mp.rsqrt %x : (tensor<?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.expm1 %{{.*}} -> tensor<?x4xf16>
  %2 = mp.expm1 %x : (tensor<?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.logical_not %{{.*}} -> tensor<3xi1>
  %3 = mp.logical_not %b : (tensor<3xi1>) -> tensor<*x!mp.unknown>
  // CHECK: mp.bitwise_not %{{.*}} -> tensor<2xi32>
  %4 = mp.bitwise_not %i : (tensor<2xi32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.is_nan %{{.*}} -> tensor<?x4xi1>
  %5 = mp.is_nan %x : (tensor<?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.is_inf %{{.*}} {detect_negative = false} : (tensor<?x4xf16>) -> tensor<?x4xi1>
  %6 = mp.is_inf %x {detect_negative = false} : (tensor<?x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.bit_cast %{{.*}} : (tensor<?x4xf16>) -> tensor<?x4xi16>
  %7 = mp.bit_cast %x : (tensor<?x4xf16>) -> tensor<*xi16>
  return
}

// CHECK-LABEL: @binary
func.func @binary(%a: tensor<?x1xf16>, %b: tensor<3xf32>, %i: tensor<3xi64>) {
  // Mixed operands promote.
  // CHECK: mp.add %{{.*}} -> tensor<?x3xf32>
  %0 = mp.add %a, %b : (tensor<?x1xf16>, tensor<3xf32>) -> tensor<*x!mp.unknown>
  // A power has its base's dtype.
  // CHECK: mp.pow %{{.*}} -> tensor<?x3xf16>
  %1 = mp.pow %a, %b : (tensor<?x1xf16>, tensor<3xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.less_equal %{{.*}} -> tensor<?x3xi1>
  %2 = mp.less_equal %a, %b : (tensor<?x1xf16>, tensor<3xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.mod %{{.*}} {fmod} : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %3 = mp.mod %i, %i {fmod} : (tensor<3xi64>, tensor<3xi64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.shift_left %{{.*}} -> tensor<3xi64>
  %4 = mp.shift_left %i, %i : (tensor<3xi64>, tensor<3xi64>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @more_operands
func.func @more_operands(%c: tensor<2x1xi1>, %a: tensor<?x1xf16>, %b: tensor<3xf16>, %s: tensor<f16>) {
  // CHECK: mp.max %{{.*}} -> tensor<?x3xf16>
  %0 = mp.max %a, %b, %s : (tensor<?x1xf16>, tensor<3xf16>, tensor<f16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.where %{{.*}} -> tensor<2x3xf16>
  %1 = mp.where %c, %a, %b : (tensor<2x1xi1>, tensor<?x1xf16>, tensor<3xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.clip %{{.*}} max %{{.*}} : (tensor<3xf16>, tensor<f16>) -> tensor<3xf16>
  %2 = mp.clip %b max %s : (tensor<3xf16>, tensor<f16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.clip %{{.*}} min %{{.*}} max %{{.*}} -> tensor<3xf16>
  %3 = mp.clip %b min %s max %s : (tensor<3xf16>, tensor<f16>, tensor<f16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.addcdiv %{{.*}} {value = 5.000000e-01 : f64} : {{.*}} -> tensor<?x3xf16>
  %4 = mp.addcdiv %b, %a, %s {value = 0.5} : (tensor<3xf16>, tensor<?x1xf16>, tensor<f16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.lerp %{{.*}} -> tensor<?x3xf16>
  %5 = mp.lerp %a, %b, %s : (tensor<?x1xf16>, tensor<3xf16>, tensor<f16>) -> tensor<*x!mp.unknown>
  return
}

// What is not known is not guessed.
// CHECK-LABEL: @unknown
func.func @unknown(%x: tensor<*x!mp.unknown>, %y: tensor<3xf16>) {
  // CHECK: mp.exp %{{.*}} -> tensor<*x!mp.unknown>
  %0 = mp.exp %x : (tensor<*x!mp.unknown>) -> tensor<*x!mp.unknown>
  // CHECK: mp.mul %{{.*}} -> tensor<*xf16>
  %1 = mp.mul %x, %y : (tensor<*x!mp.unknown>, tensor<3xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.equal %{{.*}} -> tensor<*xi1>
  %2 = mp.equal %x, %y : (tensor<*x!mp.unknown>, tensor<3xf16>) -> tensor<*x!mp.unknown>
  return
}
