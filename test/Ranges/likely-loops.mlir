// RUN: mpopt-opt %s --mp-print-ranges="likely" -split-input-file -verify-diagnostics=only-expected

// A carried value that no iteration reads is set before anything does: the bound holds for
// a loop that does not run, and the estimate is of one that does.
func.func @set_later(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %garbage = mp.constant dense<1.77e27> : tensor<4xf32>
  // expected-remark @below {{[-1, 1.77e+27] likely (propagated) [-0.}}
  %0 = mp.loop count %n iter(%garbage) : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    // expected-remark @below {{likely}}
    %1 = mp.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
    mp.yield %go, %1 : tensor<i1>, tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
