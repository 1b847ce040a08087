// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// Both branches.
func.func @branch(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @below {{[-10, 22026.5]}}
  %0 = mp.if %c : (tensor<i1>) -> tensor<4xf32> {
    // expected-remark @below {{[4.53999e-05, 22026.5]}}
    %1 = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    mp.yield %1 : tensor<4xf32>
  } else {
    mp.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// Three iterations, one by one: 10, 20, 40, 80. The body's value holds for all.
func.func @counted(%x: tensor<4xf32>) -> tensor<4xf32> {
  %n = mp.constant dense<3> : tensor<i64>
  // expected-remark @below {{[-80, 80]}}
  %0 = mp.loop count %n iter(%x) : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    // expected-remark @below {{[-80, 80]}}
    %1 = mp.add %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mp.yield %go, %1 : tensor<i1>, tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// Nobody knows how often: what grows has no bound, what does not keeps its own.
func.func @open(%n: tensor<i64>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-remark @below {{#0: [-inf, inf]}}
  // expected-remark @below {{#1: [-10, 10]}}
  %0:2 = mp.loop count %n iter(%x, %x) : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>, %w: tensor<4xf32>):
    // expected-remark @below {{[-inf, inf]}}
    %1 = mp.add %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // expected-remark @below {{[-1, 1]}}
    %2 = mp.tanh %w : (tensor<4xf32>) -> tensor<4xf32>
    mp.yield %go, %1, %2 : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
