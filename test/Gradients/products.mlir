// RUN: mpopt-opt %s --split-input-file --mp-differentiate="wrt=all mark" --mp-print-gradients -o /dev/null 2>&1 | FileCheck %s

// Sums of products. What arrives is a second factor of the loss, of which the
// moments are said.

// Eight samples, dY of mean 1 and variance 1/4. dW is a sum of 8 products:
// 8 * 1 * (1 + 1/4) = 10. The bias gets a mean of 8 and a variance of 2, and X,
// by weights of 1/2, a mean of 2 and a variance of 4 * 1/4 * 1/4.
// CHECK: rms 8.124, largest {{.*}}, zero 0, lost 0, most 2^60
// CHECK: = mp.reduce_sum
// CHECK: rms 2.062,
// CHECK: = mp.matmul {{.*}}trans_b
// CHECK: rms 3.162,
// CHECK: = mp.matmul {{.*}}trans_a
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
#m = {mean = 1.0 : f64, std = 0.5 : f64, lo = -2.0 : f64, hi = 4.0 : f64, source = "option"}
#h = {mean = 0.5 : f64, std = 0.0 : f64, lo = 0.5 : f64, hi = 0.5 : f64, source = "option"}
func.func @linear(
    %x: tensor<8x16xf32> {mp.name = "x", mp.assume = #n},
    %w: tensor<16x4xf32> {mp.name = "w", mp.assume = #h},
    %b: tensor<4xf32> {mp.name = "b", mp.assume = #h},
    %g: tensor<8x4xf32> {mp.assume = #m}) -> tensor<f32> {
  %m = mp.matmul %x, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %y = mp.add %m, %b : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %p = mp.mul %y, %g : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1>, keepdims = false} : (tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Windows of 3 x 3 leave 6 x 6 places: dW adds up 2 * 36 products of variance 1,
// the bias as many numbers.
// CHECK: #1: rms 8.485,
// CHECK: #2: rms 8.485,
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
#h = {mean = 0.5 : f64, std = 0.0 : f64, lo = 0.5 : f64, hi = 0.5 : f64, source = "option"}
func.func @conv(
    %cx: tensor<2x3x8x8xf32> {mp.name = "cx", mp.assume = #n},
    %cw: tensor<4x3x3x3xf32> {mp.name = "cw", mp.assume = #h},
    %g: tensor<2x4x6x6xf32> {mp.assume = #n}) -> tensor<f32> {
  %y = mp.conv %cx, %cw : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x6x6xf32>
  %p = mp.mul %y, %g : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<2x4x6x6xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Taps that read padding only send nothing back: each element of x meets two of
// the three taps of 1/2, times g of mean 1 and variance 1/4, which is
// sqrt(1 + 2 / 16).
// CHECK: #0: rms 1.061,
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
#m = {mean = 1.0 : f64, std = 0.5 : f64, lo = -2.0 : f64, hi = 4.0 : f64, source = "option"}
func.func @border(
    %x: tensor<1x1x2xf32> {mp.name = "x", mp.assume = #n},
    %g: tensor<1x1x2xf32> {mp.assume = #m}) -> tensor<f32> {
  %w = mp.constant dense<[[[99.0, 0.5, 0.5, 0.5, 99.0]]]> : tensor<1x1x5xf32>
  %y = mp.conv %x, %w {pads = array<i64: 2, 2>} : (tensor<1x1x2xf32>, tensor<1x1x5xf32>) -> tensor<1x1x2xf32>
  %p = mp.mul %y, %g : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<1x1x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The same where an op of its own pads.
// CHECK: #0: rms 1.061,
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
#m = {mean = 1.0 : f64, std = 0.5 : f64, lo = -2.0 : f64, hi = 4.0 : f64, source = "option"}
func.func @padded(
    %x: tensor<1x1x2xf32> {mp.name = "x", mp.assume = #n},
    %g: tensor<1x1x2xf32> {mp.assume = #m}) -> tensor<f32> {
  %w = mp.constant dense<[[[99.0, 0.5, 0.5, 0.5, 99.0]]]> : tensor<1x1x5xf32>
  %q = mp.pad %x {pads = array<i64: 0, 0, 2, 0, 0, 2>} : (tensor<1x1x2xf32>) -> tensor<1x1x6xf32>
  %y = mp.conv %q, %w : (tensor<1x1x6xf32>, tensor<1x1x5xf32>) -> tensor<1x1x2xf32>
  %p = mp.mul %y, %g : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<1x1x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A filter that is computed may have any number of taps: their number is no
// loop.
// CHECK: #0: rms
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @many_taps(
    %x: tensor<1x1x4x4xf32> {mp.name = "x", mp.assume = #n},
    %w: tensor<1x1x268435456x268435456xf32> {mp.assume = #n},
    %g: tensor<1x1x5x5xf32> {mp.assume = #n}) -> tensor<f32> {
  %y = mp.conv %x, %w {pads = array<i64: 134217728, 134217728, 134217728, 134217728>} : (tensor<1x1x4x4xf32>, tensor<1x1x268435456x268435456xf32>) -> tensor<1x1x5x5xf32>
  %p = mp.mul %y, %g : (tensor<1x1x5x5xf32>, tensor<1x1x5x5xf32>) -> tensor<1x1x5x5xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<1x1x5x5xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// 16 keys that are nearly even, since k is small: P is 1/16, and dV adds up 16
// products, 16 / 256. dP is a sum over 8 channels, 8; with K = 1/16 dS has
// 8 / 256 (1 - K) = 0.0293. dQ and dK add 16 products up, times 1/8: dK 0.242,
// and dQ with k of 0.01 a hundredth.
// CHECK: #0: rms 0.002421,
// CHECK: #1: rms 0.2421,
// CHECK: #2: rms 0.25,
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
#s = {mean = 0.0 : f64, std = 0.01 : f64, lo = -0.06 : f64, hi = 0.06 : f64, source = "option"}
func.func @attention(
    %q: tensor<2x2x16x8xf32> {mp.name = "q", mp.assume = #n},
    %k: tensor<2x2x16x8xf32> {mp.name = "k", mp.assume = #s},
    %v: tensor<2x2x16x8xf32> {mp.name = "v", mp.assume = #n},
    %g: tensor<2x2x16x8xf32> {mp.assume = #n}) -> tensor<f32> {
  %y = mp.attention %q, %k, %v : (tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32>
  %p = mp.mul %y, %g : (tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<2x2x16x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A mask that is not known keeps every second key: P is 1/8 at 8 of 16 keys, and
// dV adds up 16 products, 16 * 8 / 64 / 16.
// CHECK: #2: rms 0.3536,
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
#s = {mean = 0.0 : f64, std = 0.01 : f64, lo = -0.06 : f64, hi = 0.06 : f64, source = "option"}
#b = {mean = 0.5 : f64, std = 0.5 : f64, lo = 0.0 : f64, hi = 1.0 : f64, source = "option"}
func.func @masked(
    %q: tensor<2x2x16x8xf32> {mp.name = "q", mp.assume = #n},
    %k: tensor<2x2x16x8xf32> {mp.name = "k", mp.assume = #s},
    %v: tensor<2x2x16x8xf32> {mp.name = "v", mp.assume = #n},
    %m: tensor<2x1x1x16xi1> {mp.assume = #b},
    %g: tensor<2x2x16x8xf32> {mp.assume = #n}) -> tensor<f32> {
  %y = mp.attention %q, %k, %v mask %m : (tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>, tensor<2x1x1x16xi1>) -> tensor<2x2x16x8xf32>
  %p = mp.mul %y, %g : (tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<2x2x16x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Weights that are no constants: gates are not known, and neither is anything
// behind them.
// CHECK: remark: unknown
// CHECK-NOT: rms
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @unknown(
    %rx: tensor<5x2x3xf32> {mp.name = "rx", mp.assume = #n},
    %rw: tensor<1x8x3xf32> {mp.name = "rw", mp.assume = #n},
    %rr: tensor<1x8x2xf32> {mp.name = "rr", mp.assume = #n},
    %g: tensor<5x1x2x2xf32> {mp.assume = #n}) -> tensor<f32> {
  %y, %last, %cell = mp.lstm %rx, %rw, %rr {hidden_size = 2 : i64, activations = ["Sigmoid", "Tanh", "Tanh"]} : (tensor<5x2x3xf32>, tensor<1x8x3xf32>, tensor<1x8x2xf32>) -> (tensor<5x1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>)
  %p = mp.mul %y, %g : (tensor<5x1x2x2xf32>, tensor<5x1x2x2xf32>) -> tensor<5x1x2x2xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<5x1x2x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
