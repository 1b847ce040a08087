// RUN: mpopt-opt %s --mp-print-ranges="likely" -split-input-file -verify-diagnostics=only-expected

// Biases alone decide: every unit goes where they take it. tanh(1) and
// tanh(-0.5), then h = n for any update gate, then c = g / (1 - f) and o = 1/2.
func.func @units(%x: tensor<30x1x2xf32>) {
  %w = mp.constant dense<0.0> : tensor<1x2x2xf32>
  %b = mp.constant dense<[[1.0, -0.5, 0.0, 0.0]]> : tensor<1x4xf32>
  // expected-remark @below {{{1x1x1x2} [0.761594, 0.761594] mean 0.761594 std 0 [-0.462117, -0.462117] mean -0.462117 std 0}}
  // expected-remark @below {{#1}}
  %0:2 = mp.rnn %x, %w, %w bias %b {hidden_size = 2 : i64, activations = ["Tanh"]} : (tensor<30x1x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x4xf32>) -> (tensor<30x1x1x2xf32>, tensor<1x1x2xf32>)
  %w3 = mp.constant dense<0.0> : tensor<1x3x2xf32>
  %r3 = mp.constant dense<0.0> : tensor<1x3x1xf32>
  %b3 = mp.constant dense<[[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]> : tensor<1x6xf32>
  // expected-remark @below {{#0: [-0.964112, 0.964112] likely (propagated) [0.761501, 0.761501] mean 0.7615}}
  // expected-remark @below {{#1}}
  %1:2 = mp.gru %x, %w3, %r3 bias %b3 {hidden_size = 1 : i64, activations = ["Sigmoid", "Tanh"]} : (tensor<30x1x2xf32>, tensor<1x3x2xf32>, tensor<1x3x1xf32>, tensor<1x6xf32>) -> (tensor<30x1x1x1xf32>, tensor<1x1x1xf32>)
  return
}

// -----

// One of two logits is masked: the other has all the weight, and what it
// combines is not averaged.
func.func @masked(%x: tensor<8x2xf32> {mp.assume = {lo = -3.0 : f64, hi = 3.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
  %mask = mp.constant dense<[0.0, -1.0e+4]> : tensor<2xf32>
  %0 = mp.add %x, %mask : (tensor<8x2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
  // expected-remark @below {{mean 1 std 0 [0, 0] mean 0 std 0}}
  %1 = mp.softmax %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  return
}

// -----

// Means of a row sum to 1, and a spread beyond what 16 numbers have makes the
// largest of them the whole.
func.func @confident(%x: tensor<64x16xf32> {mp.assume = {lo = -200.0 : f64, hi = 200.0 : f64, mean = 0.0 : f64, std = 40.0 : f64}}) {
  // Simulated: 0.236.
  // expected-remark @below {{mean 0.0625 std 0.23}}
  %0 = mp.softmax %x : (tensor<64x16xf32>) -> tensor<64x16xf32>
  return
}

// -----

// Four squares are all small in one of 256 rows.
func.func @squares(%x: tensor<256x4xf32> {mp.assume = {lo = -5.0 : f64, hi = 5.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
  // expected-remark @below {{likely (propagated) [0.1}}
  %0 = mp.reduce_sum_square %x {axes = array<i64: 1>} : (tensor<256x4xf32>) -> tensor<256xf32>
  return
}

// -----

// mean(x^2) - mean(x)^2 is the variance, 0.25, where the two as independent
// numbers would be expected to differ by 0 on average.
func.func @raw_variance(%x: tensor<8x64xf32> {mp.assume = {lo = -5.0 : f64, hi = 15.0 : f64, mean = 5.0 : f64, std = 0.5 : f64}}) {
  %0 = mp.mul %x, %x : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = mp.reduce_mean %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  %2 = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  %3 = mp.mul %2, %2 : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
  // expected-remark @below {{mean 0.25 std 0.0441942}}
  %4 = mp.sub %1, %3 : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
  return
}

// -----

// Logits of which a varying half is masked: nothing is known of the rest.
func.func @varying_mask(%keep: tensor<8x16xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.5 : f64}}) {
  %c = mp.constant dense<1.0e+9> : tensor<f32>
  %0 = mp.mul %keep, %c : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
  // expected-remark @below {{[0, 1] mean 0.0625}}
  %1 = mp.softmax %0 : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

// The estimate of a row that is not bounded is that of its elements.
func.func @unbounded(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = mp.div %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = mp.exp %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{nan norm(1) <= 2 likely (propagated) [-0.}}
  %2 = mp.layer_norm %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// -----

// A choice by a comparison of what is chosen: a rectified normal number has the
// mean 1 / sqrt(2 pi) and the deviation 0.584.
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64}
func.func @rectified(%x: tensor<64x64xf32> {mp.assume = #n}) -> tensor<64x64xf32> {
  %zero = mp.constant dense<0.0> : tensor<f32>
  %0 = mp.greater %x, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xi1>
  // expected-remark @below {{mean 0.39}}
  %1 = mp.where %0, %x, %zero : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// Less the logarithm of the sum of exponentials no element is expected above 0, however far both
// are rounded.
func.func @log_softmax(%x: tensor<64x16xf16> {mp.assume = {lo = -300.0 : f64, hi = 300.0 : f64, mean = 25.0 : f64, std = 36.0 : f64}}) -> tensor<64x16xf16> {
  %0 = mp.reduce_log_sum_exp %x {axes = array<i64: 1>, keep_dims = true} : (tensor<64x16xf16>) -> tensor<64x1xf16>
  // expected-remark-re @below {{likely (propagated) [{{.*}}, -{{.*}}] mean}}
  %1 = mp.sub %x, %0 : (tensor<64x16xf16>, tensor<64x1xf16>) -> tensor<64x16xf16>
  return %1 : tensor<64x16xf16>
}

// -----

// Logits that differ by more than the exponential's range: the logarithm is the
// distance from the largest.
func.func @wide_log_softmax(%x: tensor<64x16xf16> {mp.assume = {lo = -40000.0 : f64, hi = 40000.0 : f64, mean = 0.0 : f64, std = 9000.0 : f64}}) -> tensor<64x16xf16> {
  // expected-remark-re @below {{likely (declared) [-{{[45][0-9][0-9][0-9][0-9]}}.}}
  %0 = mp.log_softmax %x : (tensor<64x16xf16>) -> tensor<64x16xf16>
  return %0 : tensor<64x16xf16>
}

// -----

// A row of 16 over the root of its mean square: no element is expected above 4,
// and its mean square is 1. Bounds are wider, since the inverse may underflow.
func.func @unit_rows(%x: tensor<64x16xf16> {mp.assume = {lo = -40.0 : f64, hi = 40.0 : f64, mean = 0.0 : f64, std = 9.0 : f64}}) -> tensor<64x16xf16> {
  %s = mp.mul %x, %x : (tensor<64x16xf16>, tensor<64x16xf16>) -> tensor<64x16xf16>
  %m = mp.reduce_mean %s {axes = array<i64: 1>, keep_dims = true} : (tensor<64x16xf16>) -> tensor<64x1xf16>
  %q = mp.sqrt %m : (tensor<64x1xf16>) -> tensor<64x1xf16>
  %r = mp.reciprocal %q : (tensor<64x1xf16>) -> tensor<64x1xf16>
  // expected-remark @below {{likely (propagated) [-4, 4] mean 0 std 1}}
  %y = mp.mul %x, %r : (tensor<64x16xf16>, tensor<64x1xf16>) -> tensor<64x16xf16>
  return %y : tensor<64x16xf16>
}

// -----

// The largest of scores half of which are masked: of the others, not of two
// numbers 1e9 apart.
func.func @masked_maximum(%x: tensor<64x16xf32> {mp.assume = {lo = -40.0 : f64, hi = 40.0 : f64, mean = 0.0 : f64, std = 5.0 : f64}}, %c: tensor<64x16xi1>) -> tensor<64x1xf32> {
  %far = mp.constant dense<-1.0e9> : tensor<f32>
  %s = mp.where %c, %x, %far : (tensor<64x16xi1>, tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xf32>
  // expected-remark-re @below {{likely (propagated) [{{-?[0-9][.]?}}{{[0-9]*}}, {{1[0-9]|2[0-9]}}}}
  %m = mp.reduce_max %s {axes = array<i64: 1>, keep_dims = true} : (tensor<64x16xf32>) -> tensor<64x1xf32>
  return %m : tensor<64x1xf32>
}

// -----

// Points on a sphere are 2 apart at most: half of that is in the domain of an arc sine.
// Points that are not on one may be further apart.
#n = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}
func.func @chords(%x: tensor<256x4xf32> {mp.assume = #n}, %y: tensor<256x4xf32> {mp.assume = #n}) -> (tensor<256x1xf32>, tensor<256x1xf32>, tensor<256x1xf32>) {
  %0 = mp.reduce_l2 %x {axes = array<i64: 1>, keep_dims = true} : (tensor<256x4xf32>) -> tensor<256x1xf32>
  %p = mp.div %x, %0 : (tensor<256x4xf32>, tensor<256x1xf32>) -> tensor<256x4xf32>
  %1 = mp.reduce_l2 %y {axes = array<i64: 1>, keep_dims = true} : (tensor<256x4xf32>) -> tensor<256x1xf32>
  %q = mp.div %y, %1 : (tensor<256x4xf32>, tensor<256x1xf32>) -> tensor<256x4xf32>
  %d = mp.sub %p, %q : (tensor<256x4xf32>, tensor<256x4xf32>) -> tensor<256x4xf32>
  // expected-remark @below {{, 2] mean 1.4}}
  %2 = mp.reduce_l2 %d {axes = array<i64: 1>, keep_dims = true} : (tensor<256x4xf32>) -> tensor<256x1xf32>
  // expected-remark @below {{, 2] mean 1.4}}
  %3 = mp.norm %d {ord = 2.0 : f64, axes = array<i64: 1>, keep_dims = true} : (tensor<256x4xf32>) -> tensor<256x1xf32>
  %e = mp.sub %p, %y : (tensor<256x4xf32>, tensor<256x4xf32>) -> tensor<256x4xf32>
  // expected-remark @below {{mean 2.2}}
  %4 = mp.reduce_l2 %e {axes = array<i64: 1>, keep_dims = true} : (tensor<256x4xf32>) -> tensor<256x1xf32>
  return %2, %3, %4 : tensor<256x1xf32>, tensor<256x1xf32>, tensor<256x1xf32>
}

// -----

// Sums of what is no quotient have no length that is known.
#n = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}
func.func @lengths_of_others(%x: tensor<16x4xf32> {mp.assume = #n}) -> tensor<16x1xf32> {
  %0 = mp.relu %x : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %1 = mp.add %x, %0 : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
  // expected-remark @below {{likely (propagated)}}
  %2 = mp.reduce_l2 %1 {axes = array<i64: 1>, keep_dims = true} : (tensor<16x4xf32>) -> tensor<16x1xf32>
  return %2 : tensor<16x1xf32>
}

// -----

// Behind a rectifier that passes 2 % of the numbers on, half of the rows are 0
// altogether; of the others the least is simulated to be 9e-6, and of a gamma
// variable of these moments 8e-11.
func.func @rectified(%x: tensor<64x32xf32> {mp.assume = {lo = -2.0 : f64, hi = 1.0 : f64, mean = -0.5 : f64, std = 0.25 : f64}}) {
  %0 = mp.relu %x : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = mp.mul %0, %0 : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  // expected-remark @below {{likely (propagated) [0.000113}}
  %2 = mp.reduce_sum %1 {axes = array<i64: 1>} : (tensor<64x32xf32>) -> tensor<64xf32>
  return
}

// -----

// What all keys have in common moves the scores of a row alike: with channel
// means of 2 the scores' variance is 4 * (1 + 4) = 20 where the scores of a row
// differ by 4, as they do without it.
func.func @common(%q: tensor<64x4xf32> {mp.assume = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}},
                  %k: tensor<16x4xf32> {mp.assume = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
  %half = mp.constant dense<0.5> : tensor<f32>
  %0 = mp.matmul %q, %k {trans_b = true} : (tensor<64x4xf32>, tensor<16x4xf32>) -> tensor<64x16xf32>
  %1 = mp.mul %0, %half : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xf32>
  // expected-remark @below {{[0.000975731, 0.626036] mean 0.0625 std 0.0614341}}
  %2 = mp.softmax %1 : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %means = mp.constant dense<2.0> : tensor<1x4xf32>
  %moved = mp.add %k, %means : (tensor<16x4xf32>, tensor<1x4xf32>) -> tensor<16x4xf32>
  %3 = mp.matmul %q, %moved {trans_b = true} : (tensor<64x4xf32>, tensor<16x4xf32>) -> tensor<64x16xf32>
  // expected-remark @below {{std 2.23607}}
  %4 = mp.mul %3, %half : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xf32>
  // expected-remark @below {{[0.000975731, 0.626036] mean 0.0625 std 0.0614341}}
  %5 = mp.softmax %4 : (tensor<64x16xf32>) -> tensor<64x16xf32>
  return
}

// -----

// The largest result of a rectifier is that of the largest argument: of 9
// numbers, of which neighbours correlate, it is 0.99 above their mean.
func.func @rectified(%x: tensor<1x1x9x9xf32> {mp.assume = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
  // expected-remark @below {{mean 1.05346 std 0.849659}}
  %0 = mp.max_pool %x {kernel_shape = array<i64: 3, 3>, strides = array<i64: 3, 3>} : (tensor<1x1x9x9xf32>) -> tensor<1x1x3x3xf32>
  %1 = mp.relu %x : (tensor<1x1x9x9xf32>) -> tensor<1x1x9x9xf32>
  // expected-remark @below {{[0, 2.96461] mean 1.09762 std 0.754125}}
  %2 = mp.max_pool %1 {kernel_shape = array<i64: 3, 3>, strides = array<i64: 3, 3>} : (tensor<1x1x9x9xf32>) -> tensor<1x1x3x3xf32>
  return
}
