// RUN: mpopt-opt %s --mp-apply-precision=mode=fp16 --mp-print-ranges=likely -o /dev/null 2>&1 | FileCheck %s

// Scores whose products may overflow in FP16, hence be -Inf, are no mask: one
// of a row stands out, so that the deviation is near that of a number that is 1
// in 48 cases, 0.143, and not that of equal shares of 1 to 48 keys, 0.039.
// CHECK: likely (propagated) [0, 1] mean 0.02{{.*}} std 0.1{{[34]}}
func.func @main(%q: tensor<1x48x16xf32> {mp.name = "q", mp.assume = {lo = -2000.0 : f64, hi = 2000.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %k: tensor<1x48x16xf32> {mp.name = "k", mp.assume = {lo = -2000.0 : f64, hi = 2000.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) -> (tensor<1x48x48xf32> {mp.name = "p"}) {
  %one = mp.constant dense<1.0> : tensor<48x48xf32>
  %lower = mp.trilu %one {upper = false} : (tensor<48x48xf32>) -> tensor<48x48xf32>
  %m = mp.cast %lower : (tensor<48x48xf32>) -> tensor<48x48xi1>
  %low = mp.constant dense<-65504.0> : tensor<f32>
  %ten = mp.constant dense<10.0> : tensor<f32>
  %s0 = mp.matmul %q, %k {trans_b = true} : (tensor<1x48x16xf32>, tensor<1x48x16xf32>) -> tensor<1x48x48xf32>
  %s = mp.mul %s0, %ten : (tensor<1x48x48xf32>, tensor<f32>) -> tensor<1x48x48xf32>
  %w = mp.where %m, %s, %low : (tensor<48x48xi1>, tensor<1x48x48xf32>, tensor<f32>) -> tensor<1x48x48xf32>
  %p = mp.softmax %w {axis = -1 : i64} : (tensor<1x48x48xf32>) -> tensor<1x48x48xf32>
  return %p : tensor<1x48x48xf32>
}
