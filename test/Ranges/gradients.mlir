// RUN: mpopt-opt %s --mp-print-ranges -verify-diagnostics=only-expected

#unit = {lo = -1.0 : f64, hi = 1.0 : f64}

// Probabilities less a target, over the number of rows.
func.func @classes(%x: tensor<4x10xf32>, %t: tensor<4xi64> {mp.assume = {lo = 0.0 : f64, hi = 9.0 : f64}}, %masked: tensor<4xi64> {mp.assume = {lo = -100.0 : f64, hi = 9.0 : f64}}, %g: tensor<f32> {mp.assume = {lo = 1.0 : f64, hi = 1.0 : f64}}) {
  // expected-remark @below {{[-0.253907, 0.253908] norm(1) <= 0.364688}}
  %0 = "mp.cross_entropy_grad"(%g, %x, %t) <{ignore_index = -100 : i64, wanted = array<i64: 1>}> : (tensor<f32>, tensor<4x10xf32>, tensor<4xi64>) -> tensor<4x10xf32>
  // One of them may be the only one that counts.
  // expected-remark @below {{[-1.01563, 1.01563] nan norm(1) <= 1.45875}}
  %1 = "mp.cross_entropy_grad"(%g, %x, %masked) <{ignore_index = -100 : i64, wanted = array<i64: 1>}> : (tensor<f32>, tensor<4x10xf32>, tensor<4xi64>) -> tensor<4x10xf32>
  // expected-remark @below {{[-0.25, 0]}}
  %2 = "mp.nll_loss_grad"(%g, %x, %t) <{wanted = array<i64: 1>}> : (tensor<f32>, tensor<4x10xf32>, tensor<4xi64>) -> tensor<4x10xf32>
  return
}

func.func @pairs(%x: tensor<4x10xf32>, %t: tensor<4x10xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64}}, %row: tensor<10xf32>, %g: tensor<f32> {mp.assume = {lo = 1.0 : f64, hi = 1.0 : f64}}) {
  // expected-remark @below {{[-0.0249989, 0.0249989]}}
  %0 = "mp.binary_cross_entropy_with_logits_grad"(%g, %x, %t) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, reduction = "mean", wanted = array<i64: 1>}> : (tensor<f32>, tensor<4x10xf32>, tensor<4x10xf32>) -> tensor<4x10xf32>
  // What was broadcast over four rows is summed.
  // expected-remark @+2 {{#0: [-1, 1]}}
  // expected-remark @below {{#1: [-4, 4]}}
  %1:2 = "mp.l1_loss_grad"(%g, %x, %row) <{reduction = "sum", wanted = array<i64: 1, 2>}> : (tensor<f32>, tensor<4x10xf32>, tensor<10xf32>) -> (tensor<4x10xf32>, tensor<10xf32>)
  return
}

// r is at most 1 / sqrt(epsilon), and a row of 16 no longer than 4 of its elements.
func.func @norms(%x: tensor<2x4x16xf32>, %w: tensor<16xf32> {mp.assume = {lo = 1.0 : f64, hi = 1.0 : f64}}, %c: tensor<4xf32> {mp.assume = {lo = 1.0 : f64, hi = 1.0 : f64}}, %g: tensor<2x4x16xf32> {mp.assume = #unit}) {
  // expected-remark @+3 {{#0: [-4.12603, 4.12603] norm(2) <= 4.12603}}
  // expected-remark @+2 {{#1: [-32.5002, 32.5002]}}
  // expected-remark @below {{#2: [-8.00001, 8.00001]}}
  %0, %1, %2 = mp.layer_norm_grad %g, %x, %w {epsilon = 1.0 : f64} : (tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<16xf32>) -> (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>)
  // expected-remark @+3 {{#0: [-7.89808, 7.89808]}}
  // expected-remark @+2 {{#1: [-45.9625, 45.9625]}}
  // expected-remark @below {{#2: [-32.0001, 32.0001]}}
  %3:3 = "mp.group_norm_grad"(%g, %x, %c, %c) <{epsilon = 1.0 : f64, num_groups = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1>, wanted = array<i64: 1, 2, 3>}> : (tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x16xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// What is lost beside a mask that is as large as this one is not known.
func.func @attention(%q: tensor<1x2x3x4xf32> {mp.assume = #unit}, %m: tensor<3x3xf32> {mp.assume = {lo = -1.0e9 : f64, hi = 0.0 : f64}}, %g: tensor<1x2x3x4xf32> {mp.assume = #unit}) {
  // expected-remark @+3 {{#0: [-2.06308, 2.06308]}}
  // expected-remark @+2 {{#1: [-3.09469, 3.09469]}}
  // expected-remark @below {{#2: [-3.04691, 3.04691]}}
  %0:3 = "mp.attention_grad"(%g, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0>, wanted = array<i64: 1, 2, 3>}> : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
  // expected-remark @below {{[-inf, inf] nan +inf -inf}}
  %1 = "mp.attention_grad"(%g, %q, %q, %q, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 0, 0>, wanted = array<i64: 1>}> : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<3x3xf32>) -> tensor<1x2x3x4xf32>
  return
}

// A row without keys has a gradient of 0 where the forward pass gives zeros, and
// NaN elsewhere.
func.func @masked_rows(%q: tensor<1x2x3x4xf32> {mp.assume = #unit}, %keep: tensor<3x3xi1>, %g: tensor<1x2x3x4xf32> {mp.assume = #unit}) {
  // expected-remark @below {{[-2.06308, 2.06308] nan}}
  %0 = "mp.attention_grad"(%g, %q, %q, %q, %keep) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 0, 0>, wanted = array<i64: 1>}> : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<3x3xi1>) -> tensor<1x2x3x4xf32>
  // expected-remark @below {{[-2.06308, 2.06308]}}
  %1 = "mp.attention_grad"(%g, %q, %q, %q, %keep) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 0, 0>, wanted = array<i64: 1>}> {mp.masked_zero} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<3x3xi1>) -> tensor<1x2x3x4xf32>
  return
}

// Steps of which each passes on twice what arrives: 1, 3, 7.
func.func @steps(%x: tensor<3x1x1xf32> {mp.assume = #unit}, %w: tensor<1x1x1xf32> {mp.assume = #unit}, %g: tensor<3x1x1x1xf32> {mp.assume = #unit}) {
  // expected-remark @below {{[2, 2] integral}}
  %r = mp.constant dense<2.0> : tensor<1x1x1xf32>
  // expected-remark @+2 {{#0: [-7.12208, 7.12208]}}
  // expected-remark @below {{#1: [-11.1891, 11.1891]}}
  %0:2 = "mp.rnn_grad"(%g, %x, %w, %r) <{activations = ["Tanh"], hidden_size = 1 : i64, operandSegmentSizes = array<i32: 1, 0, 1, 1, 1, 0, 0, 0>, wanted = array<i64: 1, 2>}> : (tensor<3x1x1x1xf32>, tensor<3x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> (tensor<3x1x1xf32>, tensor<1x1x1xf32>)
  return
}

func.func @movement(%x: tensor<2x3xf32>, %g: tensor<4x3xf32> {mp.assume = #unit}, %p: tensor<1x1x3xf32> {mp.assume = #unit}, %y: tensor<1x1x5xf32>) {
  // One element may be copied twice more.
  // expected-remark @below {{[-3, 3]}}
  %0 = "mp.pad_grad"(%g, %x) <{mode = "edge", operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, pads = array<i64: 1, 0, 1, 0>, wanted = array<i64: 1>}> : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-remark @below {{[-3, 3]}}
  %1 = "mp.max_pool_grad"(%p, %y) <{kernel_shape = array<i64: 3>, wanted = array<i64: 1>}> : (tensor<1x1x3xf32>, tensor<1x1x5xf32>) -> tensor<1x1x5xf32>
  return
}
