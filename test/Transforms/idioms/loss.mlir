// RUN: mpopt-opt %s --mp-recognize-idioms --split-input-file | FileCheck %s

// As torch.export writes binary_cross_entropy.
// CHECK-LABEL: @exported
func.func @exported(%p: tensor<2x4xf32>, %t: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %one = mp.constant dense<1.0> : tensor<f32>
  %least = mp.constant dense<-100.0> : tensor<f32>
  // CHECK: mp.sub {{.*}}mp.idiom = #mp.idiom<"binary_cross_entropy", 0, false>
  %a = mp.sub %t, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %n = mp.neg %p : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: mp.log1p {{.*}}"binary_cross_entropy", 0, false
  %l = mp.log1p %n : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %m = mp.max %l, %least : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %b = mp.mul %a, %m : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: mp.log {{.*}}"binary_cross_entropy", 0, false
  %k = mp.log %p : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %h = mp.max %k, %least : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %c = mp.mul %t, %h : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: mp.sub {{.*}}"binary_cross_entropy", 0, true
  %y = mp.sub %b, %c : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// Without the limits it is written by hand, and autocast runs it.
// CHECK-LABEL: @by_hand
// CHECK-NOT: mp.idiom
func.func @by_hand(%p: tensor<2x4xf32>, %t: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %one = mp.constant dense<1.0> : tensor<f32>
  %a = mp.sub %t, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %n = mp.sub %one, %p : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %l = mp.log %n : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = mp.mul %a, %l : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %k = mp.log %p : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %c = mp.mul %t, %k : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = mp.sub %b, %c : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
