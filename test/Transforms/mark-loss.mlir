// RUN: mpopt-opt %s --mp-mark-loss --mp-apply-precision=mode=autocast-fp16 --split-input-file | FileCheck %s
// RUN: mpopt-opt %s --mp-mark-loss --mp-apply-precision=mode=fp16 --split-input-file | FileCheck %s --check-prefix=PLAIN
// RUN: mpopt-opt %s --mp-mark-loss=targets=target --mp-apply-precision=mode=autocast-fp16 --split-input-file | FileCheck %s --check-prefix=TARGETS

// The mean squared error as it is exported: it computes in FP32, and the model does not.

// CHECK-LABEL: func.func @predicts
// CHECK: %[[Y:.*]] = mp.matmul {{.*}} -> tensor<4x2xf16>
// CHECK: %[[R:.*]] = mp.relu %[[Y]] : (tensor<4x2xf16>)
// CHECK: %[[WIDE:.*]] = mp.cast %[[R]] {origin = #mp.cast_origin<policy>} : (tensor<4x2xf16>) -> tensor<4x2xf32>
// CHECK: mp.mul %[[WIDE]], {{.*}} {mp.category = "fp32", mp.loss_part} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
// CHECK: mp.reduce_mean {{.*}}mp.loss_part} : (tensor<4x2xf32>) -> tensor<f32>

// PLAIN-LABEL: func.func @predicts
// PLAIN: mp.relu {{.*}} -> tensor<4x2xf16>
// PLAIN: mp.mul {{.*}}mp.loss_part} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
// PLAIN: mp.reduce_mean {{.*}}mp.loss_part} : (tensor<4x2xf32>) -> tensor<f32>
func.func @predicts(%x: tensor<4x3xf32> {mp.name = "x"}) -> (tensor<4x2xf32> {mp.name = "y"}, tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<1.5> : tensor<3x2xf32>
  %two = mp.constant dense<2.0> : tensor<f32>
  %0 = mp.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %y = mp.relu %0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = mp.mul %y, %two : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
  %loss = mp.reduce_mean %1 : (tensor<4x2xf32>) -> tensor<f32>
  return %y, %loss : tensor<4x2xf32>, tensor<f32>
}

// -----

// A product is none of a loss, and what is in front of it neither.

// CHECK-LABEL: func.func @head
// CHECK-NOT: mp.tanh {{.*}}mp.loss_part
// CHECK: mp.matmul {{.*}} {mp.category = "lower"} : (tensor<4x2xf16>, tensor<2x4xf16>)
// CHECK: mp.reduce_mean {{.*}}mp.loss_part} : (tensor<4x4xf32>) -> tensor<f32>
func.func @head(%x: tensor<4x2xf32> {mp.name = "x"}) -> (tensor<4x2xf32> {mp.name = "y"}, tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<1.5> : tensor<2x4xf32>
  %y = mp.neg %x : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %0 = mp.tanh %y : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = mp.matmul %0, %w : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %loss = mp.reduce_mean %1 : (tensor<4x4xf32>) -> tensor<f32>
  return %y, %loss : tensor<4x2xf32>, tensor<f32>
}

// -----

// Where the loss is the only result, targets tell it from the model.

// CHECK-LABEL: func.func @alone
// CHECK-NOT: mp.loss_part
// CHECK: return

// TARGETS-LABEL: func.func @alone
// TARGETS: mp.relu {{.*}} : (tensor<4x2xf16>) -> tensor<4x2xf16>
// TARGETS: mp.sub {{.*}}mp.loss_part} : (tensor<4x2xf32>, tensor<4x2xf32>)
// TARGETS: mp.reduce_mean {{.*}}mp.loss_part} : (tensor<4x2xf32>) -> tensor<f32>
func.func @alone(%x: tensor<4x3xf32> {mp.name = "x"}, %t: tensor<4x2xf32> {mp.name = "target"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<1.5> : tensor<3x2xf32>
  %0 = mp.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %y = mp.relu %0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = mp.sub %y, %t : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %loss = mp.reduce_mean %1 : (tensor<4x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
