// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// The result has the input's dtype, whatever the parameters'.
// CHECK-LABEL: @batch_norm
func.func @batch_norm(%x: tensor<?x4x5x5xf16>, %p: tensor<4xf32>) {
  // CHECK: mp.batch_norm %arg0 scale %arg1 bias %arg1 mean %arg1 variance %arg1 {epsilon = 1.000000e-03 : f64} : {{.*}} -> tensor<?x4x5x5xf16>
  %0 = mp.batch_norm %x scale %p bias %p mean %p variance %p {epsilon = 1.0e-3} : (tensor<?x4x5x5xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.batch_norm %arg0 mean %arg1 variance %arg1 {training = true} : {{.*}} -> (tensor<?x4x5x5xf16>, tensor<4xf32>, tensor<4xf32>)
  %1:3 = mp.batch_norm %x mean %p variance %p {training = true} : (tensor<?x4x5x5xf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// CHECK-LABEL: @layer_norm
func.func @layer_norm(%x: tensor<?x3x8xf16>, %s: tensor<8xf16>) {
  // CHECK: mp.layer_norm %arg0 scale %arg1 bias %arg1 : {{.*}} -> tensor<?x3x8xf16>
  %0 = mp.layer_norm %x scale %s bias %s : (tensor<?x3x8xf16>, tensor<8xf16>, tensor<8xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.layer_norm %arg0 {axis = 1 : i64} : {{.*}} -> (tensor<?x3x8xf16>, tensor<?x1x1xf32>, tensor<?x1x1xf32>)
  %1:3 = mp.layer_norm %x {axis = 1 : i64} : (tensor<?x3x8xf16>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.layer_norm %arg0 {stash_type = f16} : {{.*}} -> (tensor<?x3x8xf16>, tensor<?x3x1xf16>, tensor<?x3x1xf16>)
  %2:3 = mp.layer_norm %x {stash_type = f16} : (tensor<?x3x8xf16>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// CHECK-LABEL: @rms_norm
func.func @rms_norm(%x: tensor<?x3x8xf16>, %s: tensor<8xf32>) {
  // CHECK: mp.rms_norm %arg0 scale %arg1 : {{.*}} -> tensor<?x3x8xf32>
  %0 = mp.rms_norm %x scale %s : (tensor<?x3x8xf16>, tensor<8xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.rms_norm %arg0 : {{.*}} -> (tensor<?x3x8xf16>, tensor<?x3x1xf32>)
  %1:2 = mp.rms_norm %x : (tensor<?x3x8xf16>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// CHECK-LABEL: @by_channel
func.func @by_channel(%x: tensor<2x6x5xf32>, %y: tensor<2x5x5x6xf32>, %s: tensor<6xf32>, %g: tensor<3xf32>) {
  // CHECK: mp.instance_norm %arg0 scale %arg2 bias %arg2 : {{.*}} -> tensor<2x6x5xf32>
  %0 = mp.instance_norm %x scale %s bias %s : (tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.group_norm %arg0 scale %arg3 bias %arg3 {num_groups = 3 : i64} : {{.*}} -> tensor<2x6x5xf32>
  %1 = mp.group_norm %x scale %g bias %g {num_groups = 3 : i64} : (tensor<2x6x5xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.group_norm %arg1 scale %arg2 {channels_last = true, num_groups = 3 : i64} : {{.*}} -> tensor<2x5x5x6xf32>
  %2 = mp.group_norm %y scale %s {num_groups = 3 : i64, channels_last = true} : (tensor<2x5x5x6xf32>, tensor<6xf32>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @without_parameters
func.func @without_parameters(%x: tensor<?x6x5x5xf16>) {
  // CHECK: mp.lrn %{{.*}} {size = 5 : i64} : {{.*}} -> tensor<?x6x5x5xf16>
  %0 = mp.lrn %x {size = 5 : i64} : (tensor<?x6x5x5xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.lp_normalize %{{.*}} {axis = 1 : i64} : {{.*}} -> tensor<?x6x5x5xf16>
  %1 = mp.lp_normalize %x {axis = 1 : i64} : (tensor<?x6x5x5xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.mean_variance_norm %{{.*}} -> tensor<?x6x5x5xf16>
  %2 = mp.mean_variance_norm %x {axes = array<i64: 0, 2, 3>} : (tensor<?x6x5x5xf16>) -> tensor<*x!mp.unknown>
  return
}
