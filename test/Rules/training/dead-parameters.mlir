// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-differentiate="of=loss mark" --rule-dead-parameters --mp-emit-findings

func.func @zero_head_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  %v = mp.constant dense<0.0> : tensor<4x4xf16> loc(#v)
  // expected-remark @+1 {{the gradient of w is exactly 0, since v is 0 throughout; it has a gradient itself, so that this is so at the first step only [MP406 likely]}}
  %h = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  // expected-note @+1 {{reads v, which is 0 throughout}}
  %y = mp.matmul %h, %v : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>[unknown])

// -----

func.func @zero_head_bf16(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %v = mp.constant dense<0.0> : tensor<4x4xbf16> loc(#v)
  // expected-remark @+1 {{the gradient of w is exactly 0, since v is 0 throughout; it has a gradient itself, so that this is so at the first step only [MP406 likely]}}
  %h = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  // expected-note @+1 {{reads v, which is 0 throughout}}
  %y = mp.matmul %h, %v : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %f = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>[unknown])

// -----

func.func @zero_head_f32(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
  %v = mp.constant dense<0.0> : tensor<4x4xf32> loc(#v)
  // expected-remark @+1 {{the gradient of w is exactly 0, since v is 0 throughout; it has a gradient itself, so that this is so at the first step only [MP406 likely]}}
  %h = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // expected-note @+1 {{reads v, which is 0 throughout}}
  %y = mp.matmul %h, %v : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %y, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>[unknown])

// -----

func.func @dead_rectifier(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
  %v = mp.constant dense<0.5> : tensor<4x4xf32> loc(#v)
  // expected-warning @+1 {{the gradients of 3 parameters (w, v, b) are exactly 0, since the rectifier behind passes nothing on: its argument is never positive [MP406 likely]}}
  %h = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %b = mp.constant dense<-100.0> : tensor<4xf32> loc(#b)
  %a = mp.add %h, %b : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  // expected-note @+2 {{never positive}}
  // expected-warning @+1 {{no unit of this rectifier is expected ever to be positive: they have no gradient and do not learn [MP406 likely]}}
  %r = mp.relu %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = mp.matmul %r, %v : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %y, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>[unknown])
#b = loc(fused<#mp.origin<"b", "Initializer", "", ["b"]>>[unknown])

// -----

// expected-warning @unknown {{no gradient of the loss reaches v: nothing differentiable leads from there to the loss [MP406 certain]}}
func.func @detached(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
  %v = mp.constant dense<0.5> : tensor<4x4xf32> loc(#v)
  %h = mp.matmul %x, %v : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %i = mp.cast %h : (tensor<8x4xf32>) -> tensor<8x4xi64>
  %g = mp.cast %i : (tensor<8x4xi64>) -> tensor<8x4xf32>
  %y = mp.matmul %g, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %y : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>[unknown])

// -----

func.func @keys_bias_cancels_f32(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %b = mp.constant dense<0.5> : tensor<4xf32> loc(#b)
  // expected-remark @+1 {{the gradient of b is 0 by algebra: the norm or softmax that reads the sum subtracts the addend again, so that the gradient cancels; a run shows rounding noise [MP406 likely]}}
  %k = mp.add %x, %b : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %t = mp.transpose %k {perm = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %s = mp.matmul %x, %t : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %p = mp.softmax %s {axis = -1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = mp.matmul %p, %x : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %y, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#b = loc(fused<#mp.origin<"b", "Initializer", "", ["b"]>>[unknown])

// -----

func.func @bias_cancels_f32(%x: tensor<8x4x6xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %one = mp.constant dense<1.0> : tensor<4xf32>
  %zero = mp.constant dense<0.0> : tensor<4xf32>
  %b = mp.constant dense<0.5> : tensor<4x1xf32> loc(#b)
  // expected-remark @+1 {{the gradient of b is 0 by algebra: the norm or softmax that reads the sum subtracts the addend again, so that the gradient cancels; a run shows rounding noise [MP406 likely]}}
  %k = mp.add %x, %b : (tensor<8x4x6xf32>, tensor<4x1xf32>) -> tensor<8x4x6xf32>
  %y, %m, %u = mp.batch_norm %k scale %one bias %zero mean %zero variance %one {training = true} : (tensor<8x4x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4x6xf32>, tensor<4xf32>, tensor<4xf32>)
  %q = mp.mul %y, %x : (tensor<8x4x6xf32>, tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %q, %c0 : (tensor<8x4x6xf32>, tensor<f32>) -> tensor<8x4x6xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4x6xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#b = loc(fused<#mp.origin<"b", "Initializer", "", ["b"]>>[unknown])

// -----

func.func @clean_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  %v = mp.constant dense<0.5> : tensor<4x4xf16> loc(#v)
  %h = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %r = mp.relu %h : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %y = mp.matmul %r, %v : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>[unknown])

// -----

func.func @clean_bf16(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %v = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#v)
  %h = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %r = mp.relu %h : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %y = mp.matmul %r, %v : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %f = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>[unknown])

// -----

func.func @clean_f32(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
  %v = mp.constant dense<0.5> : tensor<4x4xf32> loc(#v)
  %h = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %r = mp.relu %h : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = mp.matmul %r, %v : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %y, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>[unknown])

// -----

func.func @clean_frozen_norm_f32(%x: tensor<8x4x6xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %one = mp.constant dense<1.0> : tensor<4xf32>
  %zero = mp.constant dense<0.0> : tensor<4xf32>
  %b = mp.constant dense<0.5> : tensor<4x1xf32> loc(#b)
  %k = mp.add %x, %b : (tensor<8x4x6xf32>, tensor<4x1xf32>) -> tensor<8x4x6xf32>
  %y = mp.batch_norm %k scale %one bias %zero mean %zero variance %one : (tensor<8x4x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<8x4x6xf32>
  %q = mp.mul %y, %x : (tensor<8x4x6xf32>, tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %q, %c0 : (tensor<8x4x6xf32>, tensor<f32>) -> tensor<8x4x6xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4x6xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#b = loc(fused<#mp.origin<"b", "Initializer", "", ["b"]>>[unknown])

// -----

// A factor of 0 in the code, as of a loss that only keeps ranks in step, is meant.
func.func @times_zero(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  // expected-remark @+1 {{the gradient of w is exactly 0, since the model multiplies by 0 [MP406 likely]}}
  %h = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %h : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %s = mp.reduce_sum %f : (tensor<8x4xf32>) -> tensor<f32>
  %zero = mp.constant dense<0.0> : tensor<f32>
  // expected-note @+1 {{multiplies by 0}}
  %loss = mp.mul %s, %zero : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
