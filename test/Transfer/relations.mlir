// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// x over the root of its own mean square: at most sqrt(64), in every form.
func.func @root_mean_square(%x: tensor<2x64xf32>, %other: tensor<2x64xf32>) -> tensor<2x64xf32> {
  %two = mp.constant dense<2.0> : tensor<f32>
  %eps = mp.constant dense<1.0e-5> : tensor<f32>
  %square = mp.pow %x, %two : (tensor<2x64xf32>, tensor<f32>) -> tensor<2x64xf32>
  %mean = mp.reduce_mean %square {axes = array<i64: -1>, keep_dims = true} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  %v = mp.add %mean, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %root = mp.sqrt %v : (tensor<2x1xf32>) -> tensor<2x1xf32>
  // expected-remark @below {{[-8.00005, 8.00005] norm(1) <= 8.00005}}
  %0 = mp.div %x, %root : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  %inverse = mp.reciprocal %root : (tensor<2x1xf32>) -> tensor<2x1xf32>
  // expected-remark @below {{[-8.00006, 8.00006] norm(1) <= 8.00006}}
  %1 = mp.mul %inverse, %x : (tensor<2x1xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  %rsqrt = mp.rsqrt %v : (tensor<2x1xf32>) -> tensor<2x1xf32>
  // expected-remark @below {{[-8.00005, 8.00005] norm(1) <= 8.00005}}
  %2 = mp.mul %x, %rsqrt : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  // Another value's rows.
  // expected-remark @below {{[-3162.28, 3162.28]}}
  %3 = mp.mul %other, %rsqrt : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  %l2 = mp.reduce_l2 %x {axes = array<i64: -1>, keep_dims = true} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  %guarded = mp.max %l2, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  // expected-remark @below {{[-1.00001, 1.00001] norm(1) <= 1.00001}}
  %4 = mp.div %x, %guarded : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  return %0 : tensor<2x64xf32>
}

// -----

// A mean over other rows than those that are divided.
func.func @other_axis(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %eps = mp.constant dense<1.0e-5> : tensor<f32>
  %square = mp.mul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %mean = mp.reduce_mean %square {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %v = mp.add %mean, %eps : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %root = mp.sqrt %v : (tensor<64xf32>) -> tensor<64xf32>
  // expected-remark @below {{[-3162.28, 3162.28]}}
  %0 = mp.div %x, %root : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

// Deviations from a mean, squared from twice the same difference or by a fused
// variance; taking the mean away makes no row longer.
func.func @deviation(%x: tensor<2x64xf32>) -> tensor<2x64xf32> {
  %eps = mp.constant dense<1.0e-5> : tensor<f32>
  %mean = mp.reduce_mean %x {axes = array<i64: -1>, keep_dims = true} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  %d = mp.sub %x, %mean : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  %again = mp.sub %x, %mean : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  %square = mp.mul %d, %d : (tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  %v = mp.reduce_mean %square {axes = array<i64: -1>, keep_dims = true} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  %guarded = mp.add %v, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %root = mp.sqrt %guarded : (tensor<2x1xf32>) -> tensor<2x1xf32>
  // expected-remark @below {{[-8.00005, 8.00005] norm(1) <= 8.00005}}
  %y = mp.div %again, %root : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  %variance = mp.variance %x {axes = array<i64: -1>, keep_dims = true, correction = 0.0 : f64} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  %fused = mp.add %variance, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %deviation = mp.sqrt %fused : (tensor<2x1xf32>) -> tensor<2x1xf32>
  // expected-remark @below {{[-8.02869, 8.02869] norm(1) <= 8.25789}}
  %z = mp.div %d, %deviation : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  %centre = mp.reduce_mean %y {axes = array<i64: -1>, keep_dims = true} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  // expected-remark @below {{norm(1) <= 8.00}}
  %centred = mp.sub %y, %centre : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  // By the norm: 64, not 64 64.
  // expected-remark @below {{[0, 64.00}}
  %squares = mp.reduce_sum_square %y {axes = array<i64: -1>} : (tensor<2x64xf32>) -> tensor<2xf32>
  return %y : tensor<2x64xf32>
}

// -----

// No epsilon in FP16: 0 / 0 and x / 0 are possible, and small squares vanish.
func.func @half(%x: tensor<2x64xf16>) -> tensor<2x64xf16> {
  %square = mp.mul %x, %x : (tensor<2x64xf16>, tensor<2x64xf16>) -> tensor<2x64xf16>
  %mean = mp.reduce_mean %square {axes = array<i64: -1>, keep_dims = true} : (tensor<2x64xf16>) -> tensor<2x1xf16>
  %root = mp.sqrt %mean : (tensor<2x1xf16>) -> tensor<2x1xf16>
  // expected-remark @below {{[-13.9141, 13.9141] nan +inf -inf norm(1) <= 13.9141}}
  %0 = mp.div %x, %root : (tensor<2x64xf16>, tensor<2x1xf16>) -> tensor<2x64xf16>
  return %0 : tensor<2x64xf16>
}

// -----

func.func @softmax(%x: tensor<2x64xf32>) -> tensor<2x64xf32> {
  %max = mp.reduce_max %x {axes = array<i64: -1>, keep_dims = true} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  // expected-remark @below {{[-20, 0]}}
  %z = mp.sub %x, %max : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  %e = mp.exp %z : (tensor<2x64xf32>) -> tensor<2x64xf32>
  // One of the terms is e^0.
  // expected-remark @below {{[0.999999, 64.0003]}}
  %sum = mp.reduce_sum %e {axes = array<i64: -1>, keep_dims = true} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  // expected-remark @below {{1] sum(1) in [0.99998, 1.00002]}}
  %p = mp.div %e, %sum : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  %log = mp.log %sum : (tensor<2x1xf32>) -> tensor<2x1xf32>
  // expected-remark @below {{[-24.1589, 1.07}}
  %l = mp.sub %z, %log : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  // The maximum of other rows.
  %columns = mp.reduce_max %x {axes = array<i64: 0>, keep_dims = true} : (tensor<2x64xf32>) -> tensor<1x64xf32>
  %y = mp.sub %x, %columns : (tensor<2x64xf32>, tensor<1x64xf32>) -> tensor<2x64xf32>
  %ey = mp.exp %y : (tensor<2x64xf32>) -> tensor<2x64xf32>
  // expected-remark @below {{[0, 64.0003]}}
  %wrong = mp.reduce_sum %ey {axes = array<i64: -1>, keep_dims = true} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  return %p : tensor<2x64xf32>
}

// -----

// x sigmoid(x) has a minimum, if it is known to be that.
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = mp.sigmoid %x {mp.idiom = #mp.idiom<"silu", 0, false>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{[-0.27849}}
  %0 = mp.mul %x, %s {mp.idiom = #mp.idiom<"silu", 0, true>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
