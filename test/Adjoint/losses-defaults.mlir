// RUN: mpopt-opt %s --mp-attach-loss --split-input-file --verify-diagnostics --mlir-print-debuginfo | FileCheck %s

// Without terms the first float output says what the loss is, and a remark tells.

// CHECK: loc(fused<#mp.origin<"loss", "", "", ["loss"]>>
// expected-remark @+1 {{takes 'cross-entropy:logits,target' as the loss, by the outputs}}
func.func @main(%x: tensor<4xi64> {mp.name = "x"}, %y: tensor<4x3xf32>) -> (tensor<4xi64> {mp.name = "ids"}, tensor<4x3xf32> {mp.name = "logits"}) {
  return %x, %y : tensor<4xi64>, tensor<4x3xf32>
}

// -----

// expected-remark @+1 {{takes 'bce-with-logits:logit,target' as the loss, by the outputs}}
func.func @main(%x: tensor<4x1xf32>) -> (tensor<4x1xf32> {mp.name = "logit"}) {
  return %x : tensor<4x1xf32>
}

// -----

// The name is taken by an input.
// CHECK: mp.name = "target(y)"
// expected-remark @+1 {{takes 'mse:y,target(y)' as the loss, by the outputs}}
func.func @main(%x: tensor<4x?xf32> {mp.name = "target"}) -> (tensor<4x?xf32> {mp.name = "y"}) {
  return %x : tensor<4x?xf32>
}

// -----

// The output is the loss: nothing is added.
// CHECK: func.func @main(%arg0: tensor<f32> loc({{.*}})) -> (tensor<f32> {mp.name = "loss"}) attributes
// expected-remark @+1 {{takes 'sum:loss' as the loss, by the outputs}}
func.func @main(%x: tensor<f32>) -> (tensor<f32> {mp.name = "loss"}) {
  return %x : tensor<f32>
}

// -----

// A value with a name of its own gets a second one.
// CHECK: %[[LOSS:.*]] = mp.identity %arg0 : (tensor<f32>) -> tensor<f32>
// CHECK: return %arg0, %[[LOSS]] :
// expected-remark @+1 {{takes 'sum:y' as the loss, by the outputs}}
func.func @main(%x: tensor<f32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "y"}) {
  return %x : tensor<f32>
}

// -----

// Models return their loss beside what they predict.
// expected-remark @+1 {{takes 'sum:my_loss' as the loss, by the outputs}}
func.func @main(%x: tensor<4x3xf32>, %y: tensor<1xf32>) -> (tensor<4x3xf32> {mp.name = "logits"}, tensor<1xf32> {mp.name = "my_loss"}) {
  return %x, %y : tensor<4x3xf32>, tensor<1xf32>
}

// -----

// expected-remark @+1 {{takes 'sum:31' as the loss, by the outputs}}
func.func @main(%x: tensor<4x3xf32>, %y: tensor<f32>) -> (tensor<4x3xf32> {mp.name = "logits"}, tensor<f32> {mp.name = "31"}) {
  return %x, %y : tensor<4x3xf32>, tensor<f32>
}

// -----

// Two numbers do not say which is the loss.
// expected-remark @+1 {{takes 'cross-entropy:logits,target' as the loss, by the outputs}}
func.func @main(%x: tensor<4x3xf32>, %y: tensor<f32>) -> (tensor<4x3xf32> {mp.name = "logits"}, tensor<f32> {mp.name = "31"}, tensor<f32> {mp.name = "32"}) {
  return %x, %y, %y : tensor<4x3xf32>, tensor<f32>, tensor<f32>
}

// -----

// In FP16 it is widened.
// CHECK: tensor<f32> {mp.name = "total_loss"}
// expected-remark @+1 {{takes 'sum:loss' as the loss, by the outputs}}
func.func @main(%x: tensor<f16>) -> (tensor<f16> {mp.name = "loss"}) {
  return %x : tensor<f16>
}

// -----

// Dims and ranks that are not known.
// CHECK: mp.cross_entropy %arg0, %arg1 {mp.loss_part} : (tensor<*xf32>, tensor<*xi64>) -> tensor<f32>
// expected-remark @+1 {{takes 'cross-entropy:logits,target' as the loss, by the outputs}}
func.func @main(%x: tensor<*xf32>) -> (tensor<*xf32> {mp.name = "logits"}) {
  return %x : tensor<*xf32>
}

// -----

// CHECK: mp.transpose %arg0 {mp.loss_part, perm = array<i64: 0, 2, 1>}
// CHECK: mp.cross_entropy {{.*}} : (tensor<?x?x?xf32>, tensor<?x?xi64>) -> tensor<f32>
// expected-remark @+1 {{takes 'cross-entropy:logits,target:class_axis=2' as the loss, by the outputs}}
func.func @main(%x: tensor<?x?x?xf32>) -> (tensor<?x?x?xf32> {mp.name = "logits"}) {
  return %x : tensor<?x?x?xf32>
}

// -----

// expected-error @+1 {{no output is of floats, and a loss needs one}}
func.func @main(%x: tensor<4xi64>) -> (tensor<4xi64> {mp.name = "ids"}) {
  return %x : tensor<4xi64>
}
