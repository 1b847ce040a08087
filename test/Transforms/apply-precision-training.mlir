// RUN: mpopt-opt %s --mp-apply-precision=mode=autocast-fp16 | FileCheck %s

// Losses and gradients follow what autocast does to the forward op.

// CHECK-LABEL: @loss
func.func @loss(%x: tensor<4x10xf16>, %t: tensor<4xi64>) -> tensor<f16> {
  // CHECK: mp.softmax_cross_entropy {{.*}} -> (tensor<f32>, tensor<4x10xf32>)
  %loss, %log = mp.softmax_cross_entropy %x, %t
      : (tensor<4x10xf16>, tensor<4xi64>) -> (tensor<f16>, tensor<4x10xf16>)
  return %loss : tensor<f16>
}

// CHECK-LABEL: @softmax_grad
func.func @softmax_grad(%dy: tensor<4x10xf16>, %y: tensor<4x10xf32>) -> tensor<4x10xf16> {
  // CHECK: %[[DY:.+]] = mp.cast %{{.*}} {origin = #mp.cast_origin<policy>} : (tensor<4x10xf16>) -> tensor<4x10xf32>
  // CHECK: mp.softmax_grad %[[DY]]
  %0 = mp.softmax_grad %dy, %y {axis = 1 : i64}
      : (tensor<4x10xf16>, tensor<4x10xf32>) -> tensor<4x10xf16>
  return %0 : tensor<4x10xf16>
}
