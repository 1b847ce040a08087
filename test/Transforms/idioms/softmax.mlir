// RUN: mpopt-opt %s --mp-recognize-idioms --split-input-file | FileCheck %s

// CHECK-LABEL: @shifted
func.func @shifted(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // CHECK: mp.reduce_max {{.*}}mp.idiom = #mp.idiom<"softmax", 0, false>
  %m = mp.reduce_max %x {axes = array<i64: -1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  // CHECK: mp.sub {{.*}}"softmax", 0, false
  %z = mp.sub %x, %m : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  // CHECK: mp.exp {{.*}}"softmax", 0, false
  %e = mp.exp %z : (tensor<2x8xf32>) -> tensor<2x8xf32>
  // CHECK: mp.reduce_sum {{.*}}"softmax", 0, false
  %s = mp.reduce_sum %e {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  // CHECK: mp.div {{.*}}"softmax", 0, true
  %y = mp.div %e, %s : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// No shift; a product with the reciprocal; the axis in a constant operand.
// CHECK-LABEL: @unshifted
func.func @unshifted(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %axis = mp.constant dense<[1]> : tensor<1xi64>
  %e = mp.exp %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  // CHECK: mp.reduce_sum {{.*}}"softmax", 0, false
  %s = mp.reduce_sum %e axes %axis {keep_dims = true} : (tensor<2x8xf32>, tensor<1xi64>) -> tensor<2x1xf32>
  %r = mp.reciprocal %s : (tensor<2x1xf32>) -> tensor<2x1xf32>
  // CHECK: mp.mul {{.*}}"softmax", 0, true
  %y = mp.mul %r, %e : (tensor<2x1xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: @log_softmax
func.func @log_softmax(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // CHECK: mp.reduce_max {{.*}}"log_softmax", 0, false
  %m = mp.reduce_max %x {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %z = mp.sub %x, %m : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %e = mp.exp %z : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %s = mp.reduce_sum %e {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  // CHECK: mp.log {{.*}}"log_softmax", 0, false
  %l = mp.log %s : (tensor<2x1xf32>) -> tensor<2x1xf32>
  // CHECK: mp.sub {{.*}}"log_softmax", 0, true
  %y = mp.sub %z, %l : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: @log_softmax_fused_sum
func.func @log_softmax_fused_sum(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // CHECK: mp.reduce_log_sum_exp {{.*}}"log_softmax", 0, false
  %l = mp.reduce_log_sum_exp %x {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  // CHECK: mp.sub {{.*}}"log_softmax", 0, true
  %y = mp.sub %x, %l : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// Near misses.

// The sum of another exponential.
// CHECK-LABEL: @different_x
func.func @different_x(%x: tensor<2x8xf32>, %z: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // CHECK-NOT: mp.idiom
  %e = mp.exp %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %f = mp.exp %z : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %s = mp.reduce_sum %e {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %y = mp.div %f, %s : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// Over two axes.
// CHECK-LABEL: @two_axes
func.func @two_axes(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // CHECK-NOT: mp.idiom
  %e = mp.exp %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %s = mp.reduce_sum %e {axes = array<i64: 0, 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<1x1xf32>
  %y = mp.div %e, %s : (tensor<2x8xf32>, tensor<1x1xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// The quotient the other way round.
// CHECK-LABEL: @inverted
func.func @inverted(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // CHECK-NOT: mp.idiom
  %e = mp.exp %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %s = mp.reduce_sum %e {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %y = mp.div %s, %e : (tensor<2x1xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// The maximum over another axis is no shift: the softmax alone is marked.
// CHECK-LABEL: @shift_over_another_axis
func.func @shift_over_another_axis(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // CHECK: mp.reduce_max %
  // CHECK-NOT: mp.idiom
  // CHECK: mp.exp {{.*}}"softmax"
  %m = mp.reduce_max %x {axes = array<i64: 0>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<1x8xf32>
  %z = mp.sub %x, %m : (tensor<2x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
  %e = mp.exp %z : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %s = mp.reduce_sum %e {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %y = mp.div %e, %s : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// JAX's largest is at least -Inf, and shapes are written out.
// CHECK-LABEL: @at_least
func.func @at_least(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %inf = mp.constant dense<0xFF800000> : tensor<f32>
  %shape = mp.constant dense<[1, 1]> : tensor<2xi64>
  // CHECK: mp.reduce_max {{.*}}"softmax", 0, false
  %m = mp.reduce_max %x {axes = array<i64: 1>, keep_dims = false} : (tensor<1x8xf32>) -> tensor<1xf32>
  // CHECK: mp.max {{.*}}"softmax", 0, false
  %n = mp.max %inf, %m : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
  // CHECK: mp.reshape {{.*}}"softmax", 0, false
  %r = mp.reshape %n, %shape : (tensor<1xf32>, tensor<2xi64>) -> tensor<1x1xf32>
  %z = mp.sub %x, %r : (tensor<1x8xf32>, tensor<1x1xf32>) -> tensor<1x8xf32>
  %e = mp.exp %z : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %s = mp.reduce_sum %e {axes = array<i64: 1>, keep_dims = false} : (tensor<1x8xf32>) -> tensor<1xf32>
  // CHECK: mp.reshape {{.*}}"softmax", 0, false
  %t = mp.reshape %s, %shape : (tensor<1xf32>, tensor<2xi64>) -> tensor<1x1xf32>
  // CHECK: mp.div {{.*}}"softmax", 0, true
  %y = mp.div %e, %t : (tensor<1x8xf32>, tensor<1x1xf32>) -> tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}

// -----

// Sums of columns beside rows are no softmax.
// CHECK-LABEL: @turned
// CHECK-NOT: mp.idiom
func.func @turned(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %shape = mp.constant dense<[8, 1]> : tensor<2xi64>
  %e = mp.exp %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = mp.reduce_sum %e {axes = array<i64: 0>, keep_dims = false} : (tensor<8x8xf32>) -> tensor<8xf32>
  %t = mp.reshape %s, %shape : (tensor<8xf32>, tensor<2xi64>) -> tensor<8x1xf32>
  %y = mp.div %e, %t : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
