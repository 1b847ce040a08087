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
// variance.
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
  // expected-remark @below {{[1.31913e-07, 64.0003]}}
  %wrong = mp.reduce_sum %ey {axes = array<i64: -1>, keep_dims = true} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  return %p : tensor<2x64xf32>
}

// -----

// x sigmoid(x) has a minimum.
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = mp.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{[-0.28}}
  %0 = mp.mul %x, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// What is added and taken off again leaves what was there, up to the roundings.
func.func @affine(%x: tensor<2x4xf32> {mp.assume = {lo = -50.0 : f64, hi = 50.0 : f64, mean = 0.0 : f64, std = 10.0 : f64, source = "option"}}, %z: tensor<4xf32> {mp.assume = {lo = -50.0 : f64, hi = 50.0 : f64, mean = 0.0 : f64, std = 10.0 : f64, source = "option"}}) -> tensor<2x4xf32> {
  %two = mp.constant dense<2.0> : tensor<f32>
  %c = mp.constant dense<1000.0> : tensor<f32>
  // expected-remark @below {{[-100, 100]}}
  %0 = mp.sub %x, %z : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // x, broadcast as it was.
  // expected-remark @below {{[-50, 50]}}
  %1 = mp.add %0, %z : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // expected-remark-re @below {{[-{{[0-9.]+}}e-06, {{[0-9.]+}}e-06]}}
  %2 = mp.sub %1, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // 2 (x + 1000) - 2000: the factor is exact, the sums are not.
  %3 = mp.add %x, %c : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %4 = mp.mul %3, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %5 = mp.add %c, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // expected-remark @below {{[-100, 100]}}
  %6 = mp.sub %4, %5 : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  // -(z - x) - x is -z.
  %7 = mp.sub %z, %x : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %8 = mp.neg %7 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{[-50, 50]}}
  %9 = mp.sub %8, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // Another value stays, and so do elements in another order.
  // expected-remark @below {{[-150, 150]}}
  %10 = mp.add %0, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %11 = mp.transpose %x {perm = array<i64: 1, 0>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %shape = mp.constant dense<[2, 4]> : tensor<2xi64>
  %12 = mp.reshape %11, %shape : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %13 = mp.add %x, %z : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{[-150, 150]}}
  %14 = mp.sub %13, %12 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// -----

// In FP16 the roundings are larger, and what they lose stays lost: 65504 + x.
func.func @affine_half(%x: tensor<4xf16> {mp.assume = {lo = -2.0 : f64, hi = 2.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}, %z: tensor<4xf16> {mp.assume = {lo = -1000.0 : f64, hi = 1000.0 : f64, mean = 0.0 : f64, std = 100.0 : f64, source = "option"}}, %big: tensor<4xf16> {mp.assume = {lo = -65000.0 : f64, hi = 65000.0 : f64, mean = 0.0 : f64, std = 100.0 : f64, source = "option"}}) -> tensor<4xf16> {
  %0 = mp.add %x, %z : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  // expected-remark @below {{[-2.49}}
  %1 = mp.sub %0, %z : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  // A sum that may be infinite stays that: Inf - 65000.
  %2 = mp.add %big, %big : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  // expected-remark @below {{[-65024.1, 65024.1] +inf -inf}}
  %3 = mp.sub %2, %big : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}

// -----

// No element is larger than its row's largest magnitude.
func.func @by_maximum(%x: tensor<2x64xf16>, %y: tensor<2x64xf16>) -> tensor<2x64xf16> {
  %eps = mp.constant dense<1.0e-7> : tensor<f16>
  %abs = mp.abs %x : (tensor<2x64xf16>) -> tensor<2x64xf16>
  %max = mp.reduce_max %abs {axes = array<i64: -1>, keep_dims = true} : (tensor<2x64xf16>) -> tensor<2x1xf16>
  %guarded = mp.add %max, %eps : (tensor<2x1xf16>, tensor<f16>) -> tensor<2x1xf16>
  // expected-remark-re @below {{[-{{[12]\.[0-9]+}}, {{[12]\.[0-9]+}}]}}
  %0 = mp.div %x, %guarded : (tensor<2x64xf16>, tensor<2x1xf16>) -> tensor<2x64xf16>
  // expected-remark @below {{e+07}}
  %1 = mp.div %y, %guarded : (tensor<2x64xf16>, tensor<2x1xf16>) -> tensor<2x64xf16>
  return %0 : tensor<2x64xf16>
}

// -----

// A difference of two values behind casts, of which none is a reduction.
func.func @cast_operands(%x: tensor<4xf32>, %y: tensor<4xf16>) -> tensor<4xf32> {
  %low = mp.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  %0 = mp.cast %low : (tensor<4xf16>) -> tensor<4xf32>
  %1 = mp.cast %y : (tensor<4xf16>) -> tensor<4xf32>
  // expected-remark @below {{[-20, 20]}}
  %2 = mp.sub %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// x - max(x, y) is not past 0, as long as x is the same; where x is computed twice,
// one may be stored and the other not.
func.func @running_maximum(%x: tensor<8xf16>, %y: tensor<8xf16>, %b: tensor<8xf16>) -> tensor<8xf16> {
  %max = mp.max %x, %y : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  // expected-remark @below {{[-20, 0]}}
  %below = mp.sub %x, %max : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  // expected-remark @below {{[0, 20]}}
  %above = mp.sub %max, %y : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  // expected-remark @below {{[-20, 20]}}
  %other = mp.sub %b, %max : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %min = mp.min %x, %y : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  // expected-remark @below {{[0, 20]}}
  %over = mp.sub %y, %min : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %once = mp.add %x, %b : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %again = mp.add %x, %b : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %most = mp.max %once, %y : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  // expected-remark @below {{[-40, 0.0195}}
  %twice = mp.sub %again, %most : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %below : tensor<8xf16>
}

// -----

// A quantiser's own scale: the largest magnitude becomes 448, whatever the guard and the order, and a power of two that
// is no smaller.
func.func @largest_becomes(%x: tensor<2x64xf32>) {
  %last = mp.constant dense<448.0> : tensor<f32>
  %eps = mp.constant dense<1.0e-5> : tensor<f32>
  %abs = mp.abs %x : (tensor<2x64xf32>) -> tensor<2x64xf32>
  %rows = mp.reduce_max %abs {axes = array<i64: -1>, keep_dims = true} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  %all = mp.reduce_max %abs : (tensor<2x64xf32>) -> tensor<f32>
  %guarded = mp.max %rows, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %scale = mp.div %guarded, %last : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  // expected-remark @below {{[-448.001, 448.001]}}
  %0 = mp.div %x, %scale : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  %log = mp.log2 %scale : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %up = mp.ceil %log : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %power = mp.exp2 %up : (tensor<2x1xf32>) -> tensor<2x1xf32>
  // expected-remark @below {{[-449.058, 449.058]}}
  %1 = mp.div %x, %power : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  %down = mp.floor %log : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %smaller = mp.exp2 %down : (tensor<2x1xf32>) -> tensor<2x1xf32>
  // A power of two below: up to twice as large, which is not followed.
  // expected-remark @below {{[-6.71089e+08}}
  %2 = mp.div %x, %smaller : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  %held = mp.max %all, %eps : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %inverse = mp.div %last, %held : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // expected-remark @below {{[-448.001, 448.001]}}
  %3 = mp.mul %x, %inverse : (tensor<2x64xf32>, tensor<f32>) -> tensor<2x64xf32>
  return
}
