// 1 / (1 + e^-x) is 0 where e^-x overflows, and 1 / 65,536 at most in FP32: next to nothing is
// lost. Behind a factor that makes the infinite elements small again they may be any number.
// RUN: split-file %s %t
// RUN: mpopt --check %t/near.mlir --precision fp16 --input x=-60:60 --input x~0,10 | FileCheck %s --check-prefix=NEAR
// RUN: not mpopt --check %t/far.mlir --precision fp16 --input x=-14:14 --input x~0,5 | FileCheck %s --check-prefix=FAR

// NEAR:     is expected to change `y` by 0.{{[0-9]+}} %
// NEAR-NOT: error[
// NEAR-NOT: warning[
// FAR:      error[MP207]

//--- near.mlir
func.func @main(%x: tensor<32x32xf32> {mp.name = "x"}) -> (tensor<32x32xf32> {mp.name = "y"}) {
  %one = mp.constant dense<1.0> : tensor<f32>
  %0 = mp.neg %x : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = mp.exp %0 : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = mp.add %1, %one : (tensor<32x32xf32>, tensor<f32>) -> tensor<32x32xf32>
  %3 = mp.reciprocal %2 : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %3 : tensor<32x32xf32>
}

//--- far.mlir
func.func @main(%x: tensor<32x32xf32> {mp.name = "x"}) -> (tensor<32x32xf32> {mp.name = "y"}) {
  %one = mp.constant dense<1.0> : tensor<f32>
  %small = mp.constant dense<1.0e-5> : tensor<f32>
  %0 = mp.neg %x : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = mp.exp %0 : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = mp.mul %1, %small : (tensor<32x32xf32>, tensor<f32>) -> tensor<32x32xf32>
  %3 = mp.add %2, %one : (tensor<32x32xf32>, tensor<f32>) -> tensor<32x32xf32>
  %4 = mp.reciprocal %3 : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %4 : tensor<32x32xf32>
}
