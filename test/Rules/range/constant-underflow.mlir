// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-constant-underflow --mp-emit-findings

// x / sqrt(variance + eps).
func.func @epsilon_root(%x: tensor<4xf16>, %v: tensor<4xf16>) -> tensor<4xf16> {
  // expected-note @below {{its value 1e-12 is at most half the smallest f16 value, 5.96046e-08}}
  %eps = mp.constant dense<1.0e-12> : tensor<f32>
  %0 = mp.cast %eps {origin = #mp.cast_origin<storage>} : (tensor<f32>) -> tensor<f16>
  // expected-error @below {{epsilon 1e-12 is 0 in f16 and guards nothing: div by 0 gives Inf or NaN [MP203 certain]}}
  // expected-note @below {{is 0 where its other operand is}}
  %s = mp.add %v, %0 : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // expected-note @below {{takes the root, 0 again}}
  %r = mp.sqrt %s : (tensor<4xf16>) -> tensor<4xf16>
  // expected-note @below {{is the div that the constant guards}}
  %y = mp.div %x, %r : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %y : tensor<4xf16>
}

// -----

// max(norm, eps) below a division; a logarithm; a power; the divisor itself.
func.func @epsilon_forms(%x: tensor<4xf16>, %n: tensor<4xf16>) {
  %mhalf = mp.constant dense<-0.5> : tensor<f16>
  // expected-note @below {{its value 1e-10}}
  %a = mp.constant dense<1.0e-10> : tensor<f32>
  %0 = mp.cast %a : (tensor<f32>) -> tensor<f16>
  // expected-error @below {{epsilon 1e-10 is 0 in f16 and guards nothing: div by 0}}
  // expected-note @below {{is 0 where}}
  %1 = mp.clip %n min %0 : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // expected-note @below {{is the div that the constant guards}}
  %2 = mp.div %x, %1 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  // expected-note @below {{its value 2e-10}}
  %b = mp.constant dense<2.0e-10> : tensor<f32>
  %3 = mp.cast %b : (tensor<f32>) -> tensor<f16>
  // expected-error @below {{epsilon 2e-10 is 0 in f16 and guards nothing: log of 0 is -Inf}}
  // expected-note @below {{is 0 where}}
  %4 = mp.max %x, %3 : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // expected-note @below {{is the log that the constant guards}}
  %5 = mp.log %4 : (tensor<4xf16>) -> tensor<4xf16>
  // expected-note @below {{its value 3e-10}}
  %c = mp.constant dense<3.0e-10> : tensor<f32>
  %6 = mp.cast %c : (tensor<f32>) -> tensor<f16>
  // expected-error @below {{epsilon 3e-10 is 0 in f16 and guards nothing: pow of 0 is Inf}}
  // expected-note @below {{is 0 where}}
  %7 = mp.add %x, %6 : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // expected-note @below {{is the pow that the constant guards}}
  %8 = mp.pow %7, %mhalf : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // expected-note @below {{its value 4e-10}}
  %d = mp.constant dense<4.0e-10> : tensor<f32>
  %9 = mp.cast %d : (tensor<f32>) -> tensor<f16>
  // expected-error @below {{epsilon 4e-10 is 0 in f16 and guards nothing: div by 0}}
  // expected-note @below {{is the div that the constant guards}}
  %10 = mp.div %x, %9 : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  return
}

// -----

// Added to the elements of a length, and of squares that are added up.
func.func @epsilon_of_elements(%x: tensor<4x3xf16>) {
  // expected-note @below {{its value 1e-08}}
  %a = mp.constant dense<1.0e-8> : tensor<f32>
  %0 = mp.cast %a : (tensor<f32>) -> tensor<f16>
  // expected-error @below {{epsilon 1e-08 is 0 in f16 and guards nothing: div by 0}}
  // expected-note @below {{is 0 where its other operand is}}
  %1 = mp.add %x, %0 : (tensor<4x3xf16>, tensor<f16>) -> tensor<4x3xf16>
  // expected-note @below {{is 0 for a row of zeros}}
  %2 = mp.reduce_l2 %1 {axes = array<i64: 1>} : (tensor<4x3xf16>) -> tensor<4x1xf16>
  // expected-note @below {{is the div that the constant guards}}
  %3 = mp.div %x, %2 : (tensor<4x3xf16>, tensor<4x1xf16>) -> tensor<4x3xf16>
  // expected-note @below {{its value 2e-08}}
  %b = mp.constant dense<2.0e-8> : tensor<f32>
  %4 = mp.cast %b : (tensor<f32>) -> tensor<f16>
  // expected-error @below {{epsilon 2e-08 is 0 in f16 and guards nothing: div by 0}}
  // expected-note @below {{is 0 where its other operand is}}
  %5 = mp.add %x, %4 : (tensor<4x3xf16>, tensor<f16>) -> tensor<4x3xf16>
  // expected-note @below {{is 0 for a row of zeros}}
  %6 = mp.mul %5, %5 : (tensor<4x3xf16>, tensor<4x3xf16>) -> tensor<4x3xf16>
  // expected-note @below {{is 0 for a row of zeros}}
  %7 = mp.reduce_sum %6 {axes = array<i64: 1>} : (tensor<4x3xf16>) -> tensor<4x1xf16>
  // expected-note @below {{takes the root, 0 again}}
  %8 = mp.sqrt %7 : (tensor<4x1xf16>) -> tensor<4x1xf16>
  // expected-note @below {{is the div that the constant guards}}
  %9 = mp.div %x, %8 : (tensor<4x3xf16>, tensor<4x1xf16>) -> tensor<4x3xf16>
  return
}

// -----

// Bfloat16 holds it, and so does a larger one float16.
func.func @epsilon_of_elements_that_stays(%x: tensor<4x3xbf16>, %y: tensor<4x3xf16>) {
  %a = mp.constant dense<1.0e-8> : tensor<f32>
  %0 = mp.cast %a : (tensor<f32>) -> tensor<bf16>
  %1 = mp.add %x, %0 : (tensor<4x3xbf16>, tensor<bf16>) -> tensor<4x3xbf16>
  %2 = mp.reduce_l2 %1 {axes = array<i64: 1>} : (tensor<4x3xbf16>) -> tensor<4x1xbf16>
  %3 = mp.div %x, %2 : (tensor<4x3xbf16>, tensor<4x1xbf16>) -> tensor<4x3xbf16>
  %b = mp.constant dense<1.0e-3> : tensor<f32>
  %4 = mp.cast %b : (tensor<f32>) -> tensor<f16>
  %5 = mp.add %y, %4 : (tensor<4x3xf16>, tensor<f16>) -> tensor<4x3xf16>
  %6 = mp.reduce_l2 %5 {axes = array<i64: 1>} : (tensor<4x3xf16>) -> tensor<4x1xf16>
  %7 = mp.div %y, %6 : (tensor<4x3xf16>, tensor<4x1xf16>) -> tensor<4x3xf16>
  return
}

// -----

// The root itself: finite forwards.
func.func @epsilon_of_a_root(%v: tensor<4xf16>) -> tensor<4xf16> {
  // expected-note @below {{its value 1e-08}}
  %eps = mp.constant dense<1.0e-8> : tensor<f32>
  %0 = mp.cast %eps : (tensor<f32>) -> tensor<f16>
  // expected-error @below {{epsilon 1e-08 is 0 in f16 and guards nothing: sqrt has an infinite derivative at 0}}
  // expected-note @below {{is 0 where}}
  %s = mp.add %v, %0 : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // expected-note @below {{is the sqrt that the constant guards}}
  %r = mp.sqrt %s : (tensor<4xf16>) -> tensor<4xf16>
  return %r : tensor<4xf16>
}

// -----

// BF16 and E5M2 have their own edges.
func.func @other_formats(%x: tensor<4xbf16>, %h: tensor<4xf8E5M2>) {
  // expected-note @below {{its value 9.99967e-42}}
  %a = mp.constant dense<1.0e-41> : tensor<f32>
  %0 = mp.cast %a : (tensor<f32>) -> tensor<bf16>
  // expected-error @below {{epsilon 9.99967e-42 is 0 in bf16 and guards nothing: rsqrt of 0 is Inf}}
  // expected-note @below {{is 0 where}}
  %1 = mp.add %x, %0 : (tensor<4xbf16>, tensor<bf16>) -> tensor<4xbf16>
  // expected-note @below {{is the rsqrt that the constant guards}}
  %2 = mp.rsqrt %1 : (tensor<4xbf16>) -> tensor<4xbf16>
  // expected-note @below {{its value 5.96046e-06}}
  %b = mp.constant dense<5.96e-6> : tensor<f16>
  %3 = mp.cast %b : (tensor<f16>) -> tensor<f8E5M2>
  // expected-warning @below {{constant 5.96046e-06 is 0 in f8E5M2}}
  %4 = mp.mul %h, %3 : (tensor<4xf8E5M2>, tensor<f8E5M2>) -> tensor<4xf8E5M2>
  return
}

// -----

// Shares: all of a scale, a tenth, a channel, one element.
func.func @shares(%x: tensor<10xf16>, %y: tensor<8x10xf16>) {
  // expected-note @below {{10 of 10 values (100 %), the first at index 0, are at most half}}
  %all = mp.constant dense<1.0e-9> : tensor<10xf32>
  %0 = mp.cast %all : (tensor<10xf32>) -> tensor<10xf16>
  // expected-warning @below {{every value of the weight is 0 in f16: 1e-09 in magnitude and less [MP203 certain]}}
  %1 = mp.mul %x, %0 : (tensor<10xf16>, tensor<10xf16>) -> tensor<10xf16>
  // Beside what a bias is added to, its loss says little.
  // expected-note @below {{10 of 10 values (100 %), the first at index 0, are at most half}}
  %bias = mp.constant dense<2.0e-9> : tensor<10xf32>
  %b = mp.cast %bias : (tensor<10xf32>) -> tensor<10xf16>
  // expected-warning @below {{every value of the weight is 0 in f16: 2e-09 in magnitude and less, beside values up to 2.14}}
  %sum = mp.add %x, %b : (tensor<10xf16>, tensor<10xf16>) -> tensor<10xf16>
  // expected-note @below {{1 of 10 values}}
  %tenth = mp.constant dense<[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0e-9, 1.0, 1.0, 1.0]> : tensor<10xf32>
  %2 = mp.cast %tenth : (tensor<10xf32>) -> tensor<10xf16>
  // expected-warning @below {{a tenth or more of the weight is 0 in f16}}
  %3 = mp.mul %x, %2 : (tensor<10xf16>, tensor<10xf16>) -> tensor<10xf16>
  // expected-note @below {{1 of 16 values (6.2 %), the first at index 11}}
  %few = mp.constant dense<[[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0e-9, 1.0, 1.0, 1.0, 1.0]]> : tensor<2x8xf32>
  %4 = mp.cast %few : (tensor<2x8xf32>) -> tensor<2x8xf16>
  // expected-remark @below {{few values of the weight are 0 in f16}}
  %5 = mp.matmul %4, %y : (tensor<2x8xf16>, tensor<8x10xf16>) -> tensor<2x10xf16>
  return
}

// -----

// An epsilon that keeps a few bits is a remark.
func.func @subnormal(%v: tensor<4xf16>) -> tensor<4xf16> {
  %eps = mp.constant dense<1.0e-5> : tensor<f32>
  %0 = mp.cast %eps : (tensor<f32>) -> tensor<f16>
  // expected-remark @below {{epsilon 1e-05 is subnormal in f16: it keeps few bits, and is 0 where hardware flushes subnormals}}
  %s = mp.add %v, %0 : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // expected-note @below {{is the guarded value}}
  %r = mp.rsqrt %s : (tensor<4xf16>) -> tensor<4xf16>
  return %r : tensor<4xf16>
}

// -----

// Clean: FP32, zeros, BF16 for an epsilon that FP16 loses, subnormal weights,
// epsilons of a normalisation (an attribute).
func.func @clean(%w: tensor<4xf32>, %x: tensor<2x4xf16>, %g: tensor<4xf16>, %b: tensor<4xbf16>) {
  %eps = mp.constant dense<1.0e-12> : tensor<f32>
  %0 = mp.add %w, %eps : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = mp.rsqrt %0 : (tensor<4xf32>) -> tensor<4xf32>
  %zero = mp.constant dense<0.0> : tensor<4xf32>
  %2 = mp.cast %zero : (tensor<4xf32>) -> tensor<4xf16>
  %3 = mp.add %x, %2 : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
  %4 = mp.cast %eps : (tensor<f32>) -> tensor<bf16>
  %5 = mp.add %b, %4 : (tensor<4xbf16>, tensor<bf16>) -> tensor<4xbf16>
  %6 = mp.rsqrt %5 : (tensor<4xbf16>) -> tensor<4xbf16>
  %small = mp.constant dense<[1.0e-5, 1.0, 1.0, 1.0]> : tensor<4xf32>
  %7 = mp.cast %small : (tensor<4xf32>) -> tensor<4xf16>
  %8 = mp.mul %x, %7 : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
  %9 = mp.layer_norm %x scale %g {epsilon = 1.0e-12} : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
  return
}

// -----

// The mean magnitude of a channel that no input reaches is 0.
func.func @epsilon_beside_dead_channels(%x: tensor<4x2x6xf16> {mp.assume = {lo = -60.0 : f64, hi = 60.0 : f64, mean = -30.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<4x2x6xf16> {
  // expected-note @below {{its value 1e-08}}
  %a = mp.constant dense<1.0e-8> : tensor<f32>
  %0 = mp.cast %a : (tensor<f32>) -> tensor<f16>
  %1 = mp.relu %x : (tensor<4x2x6xf16>) -> tensor<4x2x6xf16>
  %2 = mp.abs %1 : (tensor<4x2x6xf16>) -> tensor<4x2x6xf16>
  %3 = mp.reduce_mean %2 {axes = array<i64: 2>, keep_dims = true} : (tensor<4x2x6xf16>) -> tensor<4x2x1xf16>
  // expected-error @below {{epsilon 1e-08 is 0 in f16 and guards nothing: div by 0}}
  // expected-note @below {{is 0 where its other operand is}}
  %4 = mp.add %3, %0 : (tensor<4x2x1xf16>, tensor<f16>) -> tensor<4x2x1xf16>
  // expected-note @below {{is the div that the constant guards}}
  %5 = mp.div %1, %4 : (tensor<4x2x6xf16>, tensor<4x2x1xf16>) -> tensor<4x2x6xf16>
  return %5 : tensor<4x2x6xf16>
}

// -----

// Nothing is guarded: softplus of a magnitude is ln 2 or more.
func.func @epsilon_beside_positive(%x: tensor<4xf16>) -> tensor<4xf16> {
  %eps = mp.constant dense<1.0e-08> : tensor<f32>
  %small = mp.cast %eps {mp.inserted} : (tensor<f32>) -> tensor<f16>
  %0 = mp.abs %x : (tensor<4xf16>) -> tensor<4xf16>
  %1 = mp.softplus %0 : (tensor<4xf16>) -> tensor<4xf16>
  // expected-remark @below {{epsilon 1e-08 is 0 in f16, and the number beside it never is}}
  %2 = mp.add %1, %small : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %3 = mp.reciprocal %2 : (tensor<4xf16>) -> tensor<4xf16>
  return %3 : tensor<4xf16>
}

// -----

// A limit takes the place of numbers below 0, which are no less guarded.
func.func @epsilon_above_negative(%x: tensor<4xf16>) -> tensor<4xf16> {
  // expected-note @below {{its value 1e-08}}
  %eps = mp.constant dense<1.0e-08> : tensor<f32>
  %small = mp.cast %eps {mp.inserted} : (tensor<f32>) -> tensor<f16>
  %0 = mp.abs %x : (tensor<4xf16>) -> tensor<4xf16>
  %1 = mp.softplus %0 : (tensor<4xf16>) -> tensor<4xf16>
  %2 = mp.neg %1 : (tensor<4xf16>) -> tensor<4xf16>
  // expected-error @below {{epsilon 1e-08 is 0 in f16 and guards nothing}}
  // expected-note @below {{is 0 where its other operand is}}
  %3 = mp.max %2, %small : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // expected-note @below {{is the reciprocal that the constant guards}}
  %4 = mp.reciprocal %3 : (tensor<4xf16>) -> tensor<4xf16>
  return %4 : tensor<4xf16>
}

// -----

// The epsilon of a cosine limits lengths in the dtype of the rows.
func.func @cosine(%a: tensor<4x8xf16>, %b: tensor<4x8xf16>, %c: tensor<4x8xbf16>, %d: tensor<4x8xf32>) -> tensor<4xf16> {
  // expected-error @below {{epsilon 1e-08 is 0 in f16 and guards nothing: the cosine of a row of zeros is 0 / 0 [MP203 certain]}}
  %0 = mp.cosine_similarity %a, %b : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4xf16>
  %1 = mp.cosine_similarity %a, %b {epsilon = 1.0e-4 : f64} : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4xf16>
  %2 = mp.cosine_similarity %c, %c : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4xbf16>
  %3 = mp.cosine_similarity %d, %d : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf16>
}

// -----

// Rows without a zero need no epsilon.
func.func @cosine_of_rows_without_zeros(%a: tensor<4x8xf16> {mp.assume = {lo = 1.0 : f64, hi = 2.0 : f64, mean = 1.5 : f64, std = 0.1 : f64, source = "option"}}, %b: tensor<4x8xf16> {mp.assume = {lo = -2.0 : f64, hi = -1.0 : f64, mean = -1.5 : f64, std = 0.1 : f64, source = "option"}}) -> tensor<4xf16> {
  %0 = mp.cosine_similarity %a, %b : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}
