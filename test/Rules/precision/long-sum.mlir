// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-long-sum --mp-emit-findings

module attributes {mp.target = "strict16"} {
  // expected-note @below {{the terms: mean 0.5, standard deviation 0.1}}
  func.func @fires_f16(%x: tensor<8x1000xf16> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.1 : f64, source = "option"}}) {
    // expected-warning @below {{the rounding errors of adding 1000 terms in f16 one after another amount to up to 25 % of the sum [MP304 likely]}}
    %0 = mp.reduce_sum %x {axes = array<i64: 1>} : (tensor<8x1000xf16>) -> tensor<8xf16>
    return
  }
}

// -----

// No mean: the sum is smaller than its terms together, and so are the errors.
module attributes {mp.target = "strict16"} {
  // expected-note @below {{mean 0, standard deviation 1}}
  // expected-note @below {{none of them negative}}
  func.func @forms(%x: tensor<8x1000xf16>, %i: tensor<2x4x32x32xf16>) {
    // expected-warning @below {{amount to up to 33 % of the sum}}
    %0 = mp.reduce_mean %x {axes = array<i64: -1>, keep_dims = true} : (tensor<8x1000xf16>) -> tensor<8x1xf16>
    // expected-warning @below {{adding 1000 terms}}
    %1 = mp.cum_sum %x {axis = 1 : i64} : (tensor<8x1000xf16>) -> tensor<8x1000xf16>
    // expected-warning @below {{adding 1024 terms}}
    %2 = mp.global_average_pool %i : (tensor<2x4x32x32xf16>) -> tensor<2x4x1x1xf16>
    // expected-warning @below {{amount to up to 24 % of the sum}}
    %3 = mp.reduce_sum_square %x {axes = array<i64: 1>} : (tensor<8x1000xf16>) -> tensor<8xf16>
    // expected-warning @below {{amount to up to 24 % of the sum}}
    %4 = mp.norm %x {axes = array<i64: 1>} : (tensor<8x1000xf16>) -> tensor<8xf16>
    // The largest magnitude is no sum.
    %5 = mp.norm %x {axes = array<i64: 1>, ord = 0x7FF0000000000000 : f64} : (tensor<8x1000xf16>) -> tensor<8xf16>
    return
  }
}

// -----

module attributes {mp.target = "strict16"} {
  // expected-note @below {{mean 0.5}}
  func.func @fires_bf16(%x: tensor<8x100xbf16> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.1 : f64, source = "option"}}) {
    // expected-warning @below {{the rounding errors of adding 100 terms in bf16 one after another amount to up to 20 % of the sum [MP304 likely]}}
    %0 = mp.reduce_sum %x {axes = array<i64: 1>} : (tensor<8x100xbf16>) -> tensor<8xbf16>
    return
  }
}

// -----

// Short; whole numbers that the dtype holds; FP32.
module attributes {mp.target = "strict16"} {
  func.func @clean(%x: tensor<8x256xf16>, %b: tensor<8x32xbf16>, %m: tensor<8x1000xi1>, %s: tensor<8x100000xf32>) {
    %0 = mp.reduce_sum %x {axes = array<i64: 1>} : (tensor<8x256xf16>) -> tensor<8xf16>
    %1 = mp.reduce_sum %b {axes = array<i64: 1>} : (tensor<8x32xbf16>) -> tensor<8xbf16>
    %2 = mp.cast %m : (tensor<8x1000xi1>) -> tensor<8x1000xf16>
    %3 = mp.reduce_sum %2 {axes = array<i64: 1>} : (tensor<8x1000xf16>) -> tensor<8xf16>
    %4 = mp.reduce_sum %s {axes = array<i64: 1>} : (tensor<8x100000xf32>) -> tensor<8xf32>
    return
  }
}

// -----

// Targets that add in FP32.
func.func @wide(%x: tensor<8x100000xf16>, %b: tensor<8x100000xbf16>) {
  %0 = mp.reduce_sum %x {axes = array<i64: 1>} : (tensor<8x100000xf16>) -> tensor<8xf16>
  %1 = mp.reduce_mean %b {axes = array<i64: 1>} : (tensor<8x100000xbf16>) -> tensor<8xbf16>
  return
}

// -----

// A loop stores the sum each time, whatever the target.
// expected-note @below {{mean 0.5}}
func.func @loop_f16(%x: tensor<4xf16> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.1 : f64, source = "option"}}) -> tensor<4xf16> {
  %n = mp.constant dense<5000> : tensor<i64>
  %zero = mp.constant dense<0.0> : tensor<4xf16>
  %r = mp.loop count %n iter(%zero) : (tensor<i64>, tensor<4xf16>) -> tensor<4xf16> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %sum: tensor<4xf16>):
    // expected-warning @below {{adding 5000 terms in f16 one after another amount to up to 123 % of the sum [MP304 likely]}}
    %next = mp.add %sum, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
    mp.yield %go, %next : tensor<i1>, tensor<4xf16>
  }
  return %r : tensor<4xf16>
}

// -----

func.func @scan_bf16(%s: tensor<4xbf16>, %x: tensor<100x4xbf16>) -> tensor<4xbf16> {
  %r = mp.scan states(%s) over(%x) : (tensor<4xbf16>, tensor<100x4xbf16>) -> tensor<4xbf16> {
  // expected-note @below {{the terms}}
  ^bb0(%state: tensor<4xbf16>, %slice: tensor<4xbf16>):
    // expected-warning @below {{adding 100 terms in bf16}}
    %y = mp.add %slice, %state : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
    mp.yield %y : tensor<4xbf16>
  }
  return %r : tensor<4xbf16>
}

// -----

// Few iterations; a sum carried in FP32; an addition to something else.
func.func @clean_loop(%x: tensor<4xf16>, %w: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf32>) {
  %n = mp.constant dense<16> : tensor<i64>
  %many = mp.constant dense<5000> : tensor<i64>
  %zero = mp.constant dense<0.0> : tensor<4xf16>
  %wide = mp.constant dense<0.0> : tensor<4xf32>
  %r = mp.loop count %n iter(%zero) : (tensor<i64>, tensor<4xf16>) -> tensor<4xf16> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %sum: tensor<4xf16>):
    %next = mp.add %sum, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
    mp.yield %go, %next : tensor<i1>, tensor<4xf16>
  }
  %q:2 = mp.loop count %many iter(%wide, %zero) : (tensor<i64>, tensor<4xf32>, tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>) {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %sum: tensor<4xf32>, %last: tensor<4xf16>):
    %next = mp.add %sum, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %other = mp.add %x, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
    mp.yield %go, %next, %other : tensor<i1>, tensor<4xf32>, tensor<4xf16>
  }
  return %r, %q#0 : tensor<4xf16>, tensor<4xf32>
}

// -----

module attributes {mp.target = "strict16", mp.thresholds = {"long-sum-error" = 0.5 : f64}} {
  func.func @set(%x: tensor<8x1000xf16>) {
    %0 = mp.reduce_sum %x {axes = array<i64: 1>} : (tensor<8x1000xf16>) -> tensor<8xf16>
    return
  }
}

// -----

// Whole numbers up to 2 add up to 2000 at most, and their squares to 4000.
module attributes {mp.target = "strict16"} {
  func.func @squares_of_integers(%m: tensor<8x1000xi8> {mp.assume = {lo = 0.0 : f64, hi = 2.0 : f64, mean = 1.0 : f64, std = 0.5 : f64, source = "option"}}) {
    // expected-note @below {{none of them negative once added}}
    %0 = mp.cast %m : (tensor<8x1000xi8>) -> tensor<8x1000xf16>
    %1 = mp.reduce_sum %0 {axes = array<i64: 1>} : (tensor<8x1000xf16>) -> tensor<8xf16>
    // expected-warning @below {{adding 1000 terms}}
    %2 = mp.reduce_sum_square %0 {axes = array<i64: 1>} : (tensor<8x1000xf16>) -> tensor<8xf16>
    return
  }
}
