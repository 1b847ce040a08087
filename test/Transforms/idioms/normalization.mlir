// RUN: mpopt-opt %s --mp-recognize-idioms --split-input-file | FileCheck %s

// What torch.onnx writes before opset 17: Pow 2, Sqrt, Div, gain and bias.
// CHECK-LABEL: @layer_norm_pow
func.func @layer_norm_pow(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %two = mp.constant dense<2.0> : tensor<f32>
  %eps = mp.constant dense<1.0e-12> : tensor<f32>
  %gain = mp.constant dense<[1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]> : tensor<8xf32>
  %bias = mp.constant dense<0.5> : tensor<8xf32>
  // CHECK: mp.reduce_mean {{.*}}mp.idiom = #mp.idiom<"layer_norm", 0, false>
  %m = mp.reduce_mean %x {axes = array<i64: -1>, keep_dims = true} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
  // CHECK: mp.sub {{.*}}"layer_norm", 0, false
  %d = mp.sub %x, %m : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
  // CHECK: mp.pow {{.*}}"layer_norm", 0, false
  %q = mp.pow %d, %two : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  // CHECK: mp.reduce_mean {{.*}}"layer_norm", 0, false
  %v = mp.reduce_mean %q {axes = array<i64: -1>, keep_dims = true} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
  // CHECK: mp.add {{.*}}"layer_norm", 0, false
  %e = mp.add %v, %eps : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xf32>
  // CHECK: mp.sqrt {{.*}}"layer_norm", 0, false
  %s = mp.sqrt %e : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
  // CHECK: mp.div {{.*}}"layer_norm", 0, false
  %n = mp.div %d, %s : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
  // CHECK: mp.mul {{.*}}"layer_norm", 0, false
  %g = mp.mul %n, %gain : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  // CHECK: mp.add {{.*}}"layer_norm", 0, true
  %y = mp.add %g, %bias : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// The difference computed twice, and 1 / sqrt by Reciprocal and Mul.
// CHECK-LABEL: @layer_norm_two_differences
func.func @layer_norm_two_differences(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %eps = mp.constant dense<1.0e-5> : tensor<f32>
  %m = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<?x8xf32>) -> tensor<?x1xf32>
  %a = mp.sub %x, %m : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %b = mp.sub %x, %m : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  // CHECK: mp.mul {{.*}}"layer_norm", 0, false
  %q = mp.mul %a, %b : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %v = mp.reduce_mean %q {axes = array<i64: 1>, keep_dims = true} : (tensor<?x8xf32>) -> tensor<?x1xf32>
  %e = mp.add %eps, %v : (tensor<f32>, tensor<?x1xf32>) -> tensor<?x1xf32>
  %s = mp.sqrt %e : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %r = mp.reciprocal %s : (tensor<?x1xf32>) -> tensor<?x1xf32>
  // CHECK: mp.mul {{.*}}"layer_norm", 0, true
  %n = mp.mul %r, %a : (tensor<?x1xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %n : tensor<?x8xf32>
}

// -----

// TensorFlow: x * k + (bias - mean * k), k = rsqrt(var + eps) * gain.
// CHECK-LABEL: @layer_norm_scaled_form
func.func @layer_norm_scaled_form(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %eps = mp.constant dense<1.0e-3> : tensor<f32>
  %gain = mp.constant dense<2.0> : tensor<8xf32>
  %bias = mp.constant dense<1.0> : tensor<8xf32>
  %m = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %d = mp.sub %x, %m : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %q = mp.mul %d, %d : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %v = mp.reduce_mean %q {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %e = mp.add %v, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  // CHECK: mp.rsqrt {{.*}}"layer_norm", 0, false
  %r = mp.rsqrt %e : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %k = mp.mul %r, %gain : (tensor<2x1xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %a = mp.mul %x, %k : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %b = mp.mul %m, %k : (tensor<2x1xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  // CHECK: mp.sub %{{.*}}"layer_norm", 0, false
  %c = mp.sub %bias, %b : (tensor<8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  // CHECK: mp.add %{{.*}}"layer_norm", 0, true
  %y = mp.add %a, %c : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// E[x^2] - E[x]^2, clipped, and eps beside the root.
// CHECK-LABEL: @layer_norm_difference_of_means
func.func @layer_norm_difference_of_means(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %eps = mp.constant dense<1.0e-6> : tensor<f32>
  %m = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %d = mp.sub %x, %m : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %q = mp.square %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %mq = mp.reduce_mean %q {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %qm = mp.square %m : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %v = mp.sub %mq, %qm : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %p = mp.relu %v : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %s = mp.sqrt %p : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %e = mp.add %s, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  // CHECK: mp.div {{.*}}"layer_norm", 0, true
  %y = mp.div %d, %e : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// Llama: in FP32 between two casts, the gain in front of the op that follows.
// CHECK-LABEL: @rms_norm_between_casts
func.func @rms_norm_between_casts(%h: tensor<2x8xf16>) -> tensor<2x8xf16> {
  %two = mp.constant dense<2> : tensor<i64>
  %eps = mp.constant dense<1.0e-6> : tensor<f32>
  %half = mp.constant dense<-0.5> : tensor<f32>
  %gain = mp.constant dense<2.0> : tensor<8xf16>
  %x = mp.cast %h : (tensor<2x8xf16>) -> tensor<2x8xf32>
  // CHECK: mp.pow {{.*}}"rms_norm", 0, false
  %q = mp.pow %x, %two : (tensor<2x8xf32>, tensor<i64>) -> tensor<2x8xf32>
  %v = mp.reduce_mean %q {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %e = mp.add %v, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  // CHECK: mp.pow {{.*}}"rms_norm", 0, false
  %r = mp.pow %e, %half : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  // CHECK: mp.mul {{.*}}"rms_norm", 0, false
  %n = mp.mul %x, %r : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  // CHECK: mp.cast
  // CHECK-NOT: mp.idiom
  // CHECK: : (tensor<2x8xf32>) -> tensor<2x8xf16>
  %c = mp.cast %n : (tensor<2x8xf32>) -> tensor<2x8xf16>
  // CHECK: mp.mul {{.*}}"rms_norm", 0, true
  %y = mp.mul %gain, %c : (tensor<8xf16>, tensor<2x8xf16>) -> tensor<2x8xf16>
  return %y : tensor<2x8xf16>
}

// -----

// The sum over a number of elements, and 1 / sqrt by Div. Two instances.
// CHECK-LABEL: @rms_norm_sum
func.func @rms_norm_sum(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %eight = mp.constant dense<8.0> : tensor<f32>
  %one = mp.constant dense<1.0> : tensor<f32>
  %q = mp.mul %x, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %u = mp.reduce_sum %q {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  // CHECK: mp.div {{.*}}"rms_norm", 0, false
  %v = mp.div %u, %eight : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %s = mp.sqrt %v : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %r = mp.div %one, %s : (tensor<f32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  // CHECK: mp.mul {{.*}}"rms_norm", 0, true
  %y = mp.mul %x, %r : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %q2 = mp.mul %y, %y : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %v2 = mp.reduce_mean %q2 {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %r2 = mp.rsqrt %v2 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  // CHECK: mp.mul {{.*}}"rms_norm", 1, true
  %y2 = mp.mul %y, %r2 : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %y2 : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: @instance_norm
func.func @instance_norm(%x: tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32> {
  %two = mp.constant dense<2.0> : tensor<f32>
  %eps = mp.constant dense<1.0e-5> : tensor<f32>
  %m = mp.reduce_mean %x {axes = array<i64: 2, 3>, keep_dims = true} : (tensor<2x4x8x8xf32>) -> tensor<2x4x1x1xf32>
  %d = mp.sub %x, %m : (tensor<2x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<2x4x8x8xf32>
  %q = mp.pow %d, %two : (tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %v = mp.reduce_mean %q {axes = array<i64: -2, -1>, keep_dims = true} : (tensor<2x4x8x8xf32>) -> tensor<2x4x1x1xf32>
  %e = mp.add %v, %eps : (tensor<2x4x1x1xf32>, tensor<f32>) -> tensor<2x4x1x1xf32>
  %s = mp.sqrt %e : (tensor<2x4x1x1xf32>) -> tensor<2x4x1x1xf32>
  // CHECK: mp.div {{.*}}"instance_norm", 0, true
  %y = mp.div %d, %s : (tensor<2x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<2x4x8x8xf32>
  return %y : tensor<2x4x8x8xf32>
}

// -----

// The input's rank is only known behind a cast.
// CHECK-LABEL: @rank_behind_cast
func.func @rank_behind_cast(%h: tensor<*xf16>) -> tensor<2x8xf32> {
  %x = mp.cast %h : (tensor<*xf16>) -> tensor<2x8xf32>
  %m = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %d = mp.sub %x, %m : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %q = mp.mul %d, %d : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %v = mp.reduce_mean %q {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %s = mp.sqrt %v : (tensor<2x1xf32>) -> tensor<2x1xf32>
  // CHECK: mp.div {{.*}}"layer_norm", 0, true
  %y = mp.div %d, %s : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// Near misses: nothing below is a normalisation.

// The mean and the variance run over different axes.
// CHECK-LABEL: @different_axes
func.func @different_axes(%x: tensor<4x8x8xf32>) -> tensor<4x8x8xf32> {
  // CHECK-NOT: mp.idiom
  %m = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<4x8x8xf32>) -> tensor<4x1x8xf32>
  %d = mp.sub %x, %m : (tensor<4x8x8xf32>, tensor<4x1x8xf32>) -> tensor<4x8x8xf32>
  %q = mp.mul %d, %d : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %v = mp.reduce_mean %q {axes = array<i64: 2>, keep_dims = true} : (tensor<4x8x8xf32>) -> tensor<4x8x1xf32>
  %s = mp.sqrt %v : (tensor<4x8x1xf32>) -> tensor<4x8x1xf32>
  %y = mp.div %d, %s : (tensor<4x8x8xf32>, tensor<4x8x1xf32>) -> tensor<4x8x8xf32>
  return %y : tensor<4x8x8xf32>
}

// The mean of another tensor is taken off.
// CHECK-LABEL: @different_x
func.func @different_x(%x: tensor<2x8xf32>, %z: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // CHECK-NOT: mp.idiom
  %q = mp.mul %x, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %v = mp.reduce_mean %q {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %s = mp.sqrt %v : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %y = mp.div %z, %s : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// Statistics over the batch.
// CHECK-LABEL: @batch_statistics
func.func @batch_statistics(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK-NOT: mp.idiom
  %m = mp.reduce_mean %x {axes = array<i64: 0>, keep_dims = true} : (tensor<8x4xf32>) -> tensor<1x4xf32>
  %d = mp.sub %x, %m : (tensor<8x4xf32>, tensor<1x4xf32>) -> tensor<8x4xf32>
  %q = mp.mul %d, %d : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %v = mp.reduce_mean %q {axes = array<i64: 0>, keep_dims = true} : (tensor<8x4xf32>) -> tensor<1x4xf32>
  %s = mp.sqrt %v : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %y = mp.div %d, %s : (tensor<8x4xf32>, tensor<1x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// A product with the root instead of its inverse.
// CHECK-LABEL: @not_inverted
func.func @not_inverted(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // CHECK-NOT: mp.idiom
  %q = mp.mul %x, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %v = mp.reduce_mean %q {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %s = mp.sqrt %v : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %y = mp.mul %x, %s : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// A cube, not a square.
// CHECK-LABEL: @cube
func.func @cube(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // CHECK-NOT: mp.idiom
  %three = mp.constant dense<3.0> : tensor<f32>
  %q = mp.pow %x, %three : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %v = mp.reduce_mean %q {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %s = mp.sqrt %v : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %y = mp.div %x, %s : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}
