// RUN: mpopt-opt %s --split-input-file --mp-differentiate="wrt=all mark" --mp-print-gradients -o /dev/null 2>&1 | FileCheck %s

// Functions, rows, selections. What arrives is a second factor of the loss, of which the
// moments are said.

// A rectifier passes half of what arrives on; a dead one nothing.
// CHECK: rms 0, largest 0, zero 1,
// CHECK: = mp.relu_grad
// CHECK: rms 0.{{69|70|71}}{{.*}}, zero 0.5
// CHECK: = mp.relu_grad
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
#d = {mean = -10.0 : f64, std = 0.5 : f64, lo = -13.0 : f64, hi = -7.0 : f64, source = "option"}
func.func @relu(
    %x: tensor<8x64xf32> {mp.name = "x", mp.assume = #n},
    %dead: tensor<8x64xf32> {mp.name = "dead", mp.assume = #d},
    %g: tensor<8x64xf32> {mp.assume = #n}) -> tensor<f32> {
  %a = mp.relu %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %b = mp.relu %dead : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %y = mp.add %a, %b : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %p = mp.mul %y, %g : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1>, keepdims = false} : (tensor<8x64xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Causal rows of 1 to 4 even elements: of n of them dS^2 is 1/n (1 - 1/n), which
// is (0 + 1/4 + 2/9 + 3/16) / 4 / 4 = 0.04123. Of the elements 6 of 16 are masked.
// CHECK: rms 0.203{{[01]}}, largest {{.*}}, zero 0.375,
// CHECK: = mp.softmax_grad
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
#s = {mean = 0.0 : f64, std = 0.01 : f64, lo = -0.06 : f64, hi = 0.06 : f64, source = "option"}
func.func @causal(
    %s: tensor<8x4x4xf32> {mp.name = "s", mp.assume = #s},
    %g: tensor<8x4x4xf32> {mp.assume = #n}) -> tensor<f32> {
  %mask = mp.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %low = mp.constant dense<0xFF800000> : tensor<f32>
  %z = mp.where %mask, %s, %low : (tensor<4x4xi1>, tensor<8x4x4xf32>, tensor<f32>) -> tensor<8x4x4xf32>
  %y = mp.softmax %z {axis = 2 : i64} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
  %p = mp.mul %y, %g : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<8x4x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Two of 256 dimensions are taken off, and the scale is 1/2: (1 - 2 / 256) / 4.
// Scale and bias get sums over 64 rows of variance 1.
// CHECK: #0: rms 0.498,
// CHECK: #1: rms 8,
// CHECK: #2: rms 8,
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
#h = {mean = 0.5 : f64, std = 0.0 : f64, lo = 0.5 : f64, hi = 0.5 : f64, source = "option"}
func.func @layer_norm(
    %lx: tensor<64x256xf32> {mp.name = "lx", mp.assume = #n},
    %ls: tensor<256xf32> {mp.name = "ls", mp.assume = #h},
    %lb: tensor<256xf32> {mp.name = "lb", mp.assume = #h},
    %g: tensor<64x256xf32> {mp.assume = #n}) -> tensor<f32> {
  %y = mp.layer_norm %lx scale %ls bias %lb {epsilon = 1.0e-9 : f64} : (tensor<64x256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<64x256xf32>
  %p = mp.mul %y, %g : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1>, keepdims = false} : (tensor<64x256xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Statistics that are given: a variance of 4 and a scale of 1/2.
// CHECK: #0: rms 0.25,
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
#f = {mean = 4.0 : f64, std = 0.0 : f64, lo = 4.0 : f64, hi = 4.0 : f64, source = "option"}
#h = {mean = 0.5 : f64, std = 0.0 : f64, lo = 0.5 : f64, hi = 0.5 : f64, source = "option"}
func.func @batch_norm(
    %bx: tensor<8x3x5xf32> {mp.name = "bx", mp.assume = #n},
    %g: tensor<8x3x5xf32> {mp.assume = #n},
    %h: tensor<3xf32> {mp.assume = #h},
    %f: tensor<3xf32> {mp.assume = #f}) -> tensor<f32> {
  %y = mp.batch_norm %bx scale %h bias %h mean %h variance %f {epsilon = 1.0e-9 : f64} : (tensor<8x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<8x3x5xf32>
  %p = mp.mul %y, %g : (tensor<8x3x5xf32>, tensor<8x3x5xf32>) -> tensor<8x3x5xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<8x3x5xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A mean of 4 gives each of them a quarter; a maximum gives all to one.
// CHECK: rms 0.5, largest {{.*}}, zero 0.75,
// CHECK: = mp.max_pool_grad
// CHECK: rms 0.25, largest {{.*}}, zero 0,
// CHECK: = mp.average_pool_grad
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @pools(
    %ax: tensor<2x3x8x8xf32> {mp.name = "ax", mp.assume = #n},
    %mx: tensor<2x3x8x8xf32> {mp.name = "mx", mp.assume = #n},
    %g: tensor<2x3x4x4xf32> {mp.assume = #n}) -> tensor<f32> {
  %a = mp.average_pool %ax {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x3x8x8xf32>) -> tensor<2x3x4x4xf32>
  %b = mp.max_pool %mx {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x3x8x8xf32>) -> tensor<2x3x4x4xf32>
  %y = mp.add %a, %b : (tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  %p = mp.mul %y, %g : (tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<2x3x4x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// 32 picks of 100 rows: sqrt(32 / 100), and 0.99^32 = 0.725 are never picked.
// CHECK: rms 0.5657, largest {{.*}}, zero 0.725,
// CHECK: = mp.gather_grad
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @gather(
    %i: tensor<32xi64> {mp.name = "i"},
    %table: tensor<100x8xf32> {mp.name = "table", mp.assume = #n},
    %g: tensor<32x8xf32> {mp.assume = #n}) -> tensor<f32> {
  %y = mp.gather %table, %i {axis = 0 : i64} : (tensor<100x8xf32>, tensor<32xi64>) -> tensor<32x8xf32>
  %p = mp.mul %y, %g : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1>, keepdims = false} : (tensor<32x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A quarter gets something.
// CHECK: rms 0.5, largest {{.*}}, zero 0.75,
// CHECK: = mp.slice_grad
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @slice(
    %cut: tensor<8x16xf32> {mp.name = "cut", mp.assume = #n},
    %g: tensor<8x4xf32> {mp.assume = #n}) -> tensor<f32> {
  %y = mp.slice %cut {starts = array<i64: 0>, ends = array<i64: 4>, axes = array<i64: 1>} : (tensor<8x16xf32>) -> tensor<8x4xf32>
  %p = mp.mul %y, %g : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1>, keepdims = false} : (tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A parameter that is put together from its halves: each half's gradient lies
// beside zeros, and their sum has none. Four samples: a sum of variance 4.
// CHECK: rms 1.414, largest {{.*}}, zero 0.5,
// CHECK: = mp.slice_grad
// CHECK: rms 1.414, largest {{.*}}, zero 0.5,
// CHECK: = mp.slice_grad
// CHECK: rms 2, largest {{.*}}, zero 0,
// CHECK: = mp.add
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @halves(
    %g: tensor<4x16xf32> {mp.assume = #n},
    %cut: tensor<16xf32> {mp.name = "cut", mp.assume = #n}) -> tensor<f32> {
  %a = mp.slice %cut {starts = array<i64: 0>, ends = array<i64: 8>, axes = array<i64: 0>} : (tensor<16xf32>) -> tensor<8xf32>
  %b = mp.slice %cut {starts = array<i64: 8>, ends = array<i64: 16>, axes = array<i64: 0>} : (tensor<16xf32>) -> tensor<8xf32>
  %c = mp.concat %b, %a {axis = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %p = mp.mul %g, %c : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x16xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Of unit vectors of 256 elements 1/16 without one direction, sqrt(255) / 256; by the sum of
// magnitudes 1 / (256 sqrt(2 / pi)); behind mean and variance two directions are gone. A local
// response of 5 channels with s = 1 + E x^2 = 2 has 2^-3/4 of what arrives and takes 3/4 of
// it back along x: sqrt(1 - 2 3/4 / 5 + (3/4)^2 / 5) 2^-3/4.
// CHECK: rms 0.062{{[34]}}{{.*}},
// CHECK: = mp.lp_normalize_grad
// CHECK: rms 0.0048{{.*}},
// CHECK: = mp.lp_normalize_grad
// CHECK: rms 0.99{{.*}},
// CHECK: = mp.mean_variance_norm_grad
// CHECK: rms 0.53{{[56]}}{{.*}},
// CHECK: = mp.lrn_grad
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @lengths(
    %x0: tensor<64x256xf32> {mp.name = "x0", mp.assume = #n},
    %x1: tensor<64x256xf32> {mp.name = "x1", mp.assume = #n},
    %x2: tensor<64x256xf32> {mp.name = "x2", mp.assume = #n},
    %x3: tensor<64x256xf32> {mp.name = "x3", mp.assume = #n},
    %g: tensor<64x256xf32> {mp.assume = #n}) -> tensor<f32> {
  %y3 = mp.lrn %x3 {size = 5 : i64, alpha = 1.0 : f64, beta = 0.75 : f64, bias = 1.0 : f64} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %y2 = mp.mean_variance_norm %x2 {axes = array<i64: 1>} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %y1 = mp.lp_normalize %x1 {axis = 1 : i64, p = 1.0 : f64} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %y0 = mp.lp_normalize %x0 {axis = 1 : i64, p = 2.0 : f64} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %a = mp.add %y0, %y1 : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  %b = mp.add %a, %y2 : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  %c = mp.add %b, %y3 : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  %p = mp.mul %c, %g : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1>, keepdims = false} : (tensor<64x256xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Of 4 elements under a root each has the part 1 / 4 of the square: x / y is 1 / 2.
// A sum of magnitudes passes all on.
// CHECK: rms 0.5{{.*}},
// CHECK: = mp.lp_pool_grad
// CHECK: rms 1{{.*}},
// CHECK: = mp.lp_pool_grad
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @lp_pool(
    %x0: tensor<8x4x16x16xf32> {mp.name = "x0", mp.assume = #n},
    %x1: tensor<8x4x16x16xf32> {mp.name = "x1", mp.assume = #n},
    %g: tensor<8x4x8x8xf32> {mp.assume = #n}) -> tensor<f32> {
  %y1 = mp.lp_pool %x1 {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, p = 1.0 : f64} : (tensor<8x4x16x16xf32>) -> tensor<8x4x8x8xf32>
  %y0 = mp.lp_pool %x0 {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, p = 2.0 : f64} : (tensor<8x4x16x16xf32>) -> tensor<8x4x8x8xf32>
  %a = mp.add %y0, %y1 : (tensor<8x4x8x8xf32>, tensor<8x4x8x8xf32>) -> tensor<8x4x8x8xf32>
  %p = mp.mul %a, %g : (tensor<8x4x8x8xf32>, tensor<8x4x8x8xf32>) -> tensor<8x4x8x8xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<8x4x8x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The slope of log(|x| + 1e-6) is about 1 / |x|: as large as 1e6 next to 0 alone. A root of
// what a clip leaves is steep where the clip passes nothing.
// CHECK: rms {{[4-9]\..*}},
// CHECK: = mp.mul {{.*}}mp.backward
// CHECK: rms {{[01]\..*}},
// CHECK: = mp.where {{.*}}mp.backward
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @composed(
    %x: tensor<8x64xf32> {mp.name = "x", mp.assume = #n},
    %z: tensor<8x64xf32> {mp.name = "z", mp.assume = #n},
    %g: tensor<8x64xf32> {mp.assume = #n}) -> tensor<f32> {
  %eps = mp.constant dense<1.0e-6> : tensor<f32>
  %k = mp.clip %z min %eps : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %e = mp.sqrt %k : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %a = mp.abs %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %b = mp.add %a, %eps : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %c = mp.log %b : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %s = mp.add %c, %e : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %m = mp.mul %s, %g : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %l = mp.reduce_sum %m {axes = array<i64: 0, 1>, keepdims = false} : (tensor<8x64xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// One of four probabilities is the largest: of what arrives half comes to one
// element, as rms. That two may be equal takes a part of it.
// CHECK: rms 0.{{3[5-9]|4}}
// CHECK: = mp.mul {{.*}}tensor<8x1xf32>, tensor<8x4xf32>
// CHECK: = mp.softmax_grad
#n = {mean = 0.0 : f64, std = 1.0 : f64, lo = -6.0 : f64, hi = 6.0 : f64, source = "option"}
func.func @largest(
    %x: tensor<8x4xf32> {mp.name = "x", mp.assume = #n},
    %g: tensor<8xf32> {mp.assume = #n}) -> tensor<f32> {
  %0 = mp.softmax %x {axis = -1 : i64} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = mp.reduce_max %0 {axes = array<i64: 1>, keepdims = false} : (tensor<8x4xf32>) -> tensor<8xf32>
  %p = mp.mul %y, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %l = mp.reduce_sum %p {axes = array<i64: 0>, keepdims = false} : (tensor<8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
