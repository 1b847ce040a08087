// RUN: mpopt-opt %s --mp-recognize-idioms --split-input-file | FileCheck %s

// What torch.onnx makes of GroupNorm: an instance normalisation of groups.
// CHECK-LABEL: @around_instance_norm
func.func @around_instance_norm(%x: tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32> {
  %groups = mp.constant dense<[0, 2, -1]> : tensor<3xi64>
  %whole = mp.constant dense<[2, 8, 4, 4]> : tensor<4xi64>
  %ones = mp.constant dense<1.0> : tensor<2xf32>
  %gain = mp.constant dense<2.0> : tensor<8x1x1xf32>
  %bias = mp.constant dense<0.5> : tensor<8x1x1xf32>
  // CHECK: mp.reshape {{.*}}"group_norm", 0, false
  %g = mp.reshape %x, %groups : (tensor<2x8x4x4xf32>, tensor<3xi64>) -> tensor<2x2x64xf32>
  // CHECK: mp.instance_norm {{.*}}"group_norm", 0, false
  %n = mp.instance_norm %g scale %ones bias %ones : (tensor<2x2x64xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x64xf32>
  // CHECK: mp.reshape {{.*}}"group_norm", 0, false
  %r = mp.reshape %n, %whole : (tensor<2x2x64xf32>, tensor<4xi64>) -> tensor<2x8x4x4xf32>
  // CHECK: mp.mul {{.*}}"group_norm", 0, false
  %m = mp.mul %r, %gain : (tensor<2x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<2x8x4x4xf32>
  // CHECK: mp.add {{.*}}"group_norm", 0, true
  %y = mp.add %m, %bias : (tensor<2x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<2x8x4x4xf32>
  return %y : tensor<2x8x4x4xf32>
}

// -----

// Mean and variance of the groups.
// CHECK-LABEL: @mean_and_variance
func.func @mean_and_variance(%x: tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32> {
  %groups = mp.constant dense<[2, 2, 64]> : tensor<3xi64>
  %whole = mp.constant dense<[2, 8, 4, 4]> : tensor<4xi64>
  %eps = mp.constant dense<1.0e-5> : tensor<f32>
  // CHECK: mp.reshape {{.*}}"group_norm", 0, false
  %g = mp.reshape %x, %groups : (tensor<2x8x4x4xf32>, tensor<3xi64>) -> tensor<2x2x64xf32>
  %m = mp.reduce_mean %g {axes = array<i64: 2>, keep_dims = true} : (tensor<2x2x64xf32>) -> tensor<2x2x1xf32>
  %d = mp.sub %g, %m : (tensor<2x2x64xf32>, tensor<2x2x1xf32>) -> tensor<2x2x64xf32>
  %q = mp.mul %d, %d : (tensor<2x2x64xf32>, tensor<2x2x64xf32>) -> tensor<2x2x64xf32>
  %v = mp.reduce_mean %q {axes = array<i64: 2>, keep_dims = true} : (tensor<2x2x64xf32>) -> tensor<2x2x1xf32>
  %e = mp.add %v, %eps : (tensor<2x2x1xf32>, tensor<f32>) -> tensor<2x2x1xf32>
  %s = mp.sqrt %e : (tensor<2x2x1xf32>) -> tensor<2x2x1xf32>
  %n = mp.div %d, %s : (tensor<2x2x64xf32>, tensor<2x2x1xf32>) -> tensor<2x2x64xf32>
  // CHECK: mp.div {{.*}}"group_norm", 0, false
  // CHECK: mp.reshape {{.*}}"group_norm", 0, true
  %r = mp.reshape %n, %whole : (tensor<2x2x64xf32>, tensor<4xi64>) -> tensor<2x8x4x4xf32>
  return %r : tensor<2x8x4x4xf32>
}

// -----

// Near miss: windows of tokens (Swin), whose rows do not divide the channels,
// are a LayerNorm; an instance normalisation of the tensor itself is one.
// CHECK-LABEL: @tokens
func.func @tokens(%x: tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32> {
  %tokens = mp.constant dense<[2, 24, 8]> : tensor<3xi64>
  %whole = mp.constant dense<[2, 4, 6, 8]> : tensor<4xi64>
  // CHECK: mp.reshape
  // CHECK-NOT: mp.idiom
  // CHECK: mp.reduce_mean {{.*}}"layer_norm", 0, false
  %g = mp.reshape %x, %tokens : (tensor<2x4x6x8xf32>, tensor<3xi64>) -> tensor<2x24x8xf32>
  %m = mp.reduce_mean %g {axes = array<i64: 2>, keep_dims = true} : (tensor<2x24x8xf32>) -> tensor<2x24x1xf32>
  %d = mp.sub %g, %m : (tensor<2x24x8xf32>, tensor<2x24x1xf32>) -> tensor<2x24x8xf32>
  %q = mp.mul %d, %d : (tensor<2x24x8xf32>, tensor<2x24x8xf32>) -> tensor<2x24x8xf32>
  %v = mp.reduce_mean %q {axes = array<i64: 2>, keep_dims = true} : (tensor<2x24x8xf32>) -> tensor<2x24x1xf32>
  %s = mp.sqrt %v : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
  // CHECK: mp.div {{.*}}"layer_norm", 0, true
  %n = mp.div %d, %s : (tensor<2x24x8xf32>, tensor<2x24x1xf32>) -> tensor<2x24x8xf32>
  %r = mp.reshape %n, %whole : (tensor<2x24x8xf32>, tensor<4xi64>) -> tensor<2x4x6x8xf32>
  // CHECK: mp.instance_norm
  // CHECK-NOT: mp.idiom
  // CHECK: return
  %i = mp.instance_norm %r : (tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  return %i : tensor<2x4x6x8xf32>
}
