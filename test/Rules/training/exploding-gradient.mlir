// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-differentiate="of=loss mark" --rule-exploding-gradient --mp-emit-findings

func.func @explodes_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<1.0e-3> : tensor<4x4xf16> loc(#w)
  %v = mp.constant dense<6.0e+4> : tensor<4x4xf16> loc(#v)
  // expected-warning @+1 {{the gradient of w has a root mean square of 0.678823, 1.19951e+08 times that of the last weight, v (5.65914e-09); precision is not the cause [MP405 likely]}}
  %h = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  // expected-note @+1 {{root mean square 5.65914e-09}}
  %y = mp.matmul %h, %v : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0e-6> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>[unknown])

// -----

func.func @explodes_bf16(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<1.0e-3> : tensor<4x4xbf16> loc(#w)
  %v = mp.constant dense<6.0e+4> : tensor<4x4xbf16> loc(#v)
  // expected-warning @+1 {{the gradient of w has a root mean square of 0.677736, 1.19874e+08 times that of the last weight, v (5.65375e-09); precision is not the cause [MP405 likely]}}
  %h = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  // expected-note @+1 {{root mean square 5.65375e-09}}
  %y = mp.matmul %h, %v : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %f = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0e-6> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>[unknown])

// -----

func.func @explodes_f32(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<1.0e-3> : tensor<4x4xf32> loc(#w)
  %v = mp.constant dense<6.0e+4> : tensor<4x4xf32> loc(#v)
  // expected-warning @+1 {{the gradient of w has a root mean square of 0.678823, 1.2e+08 times that of the last weight, v (5.65685e-09); precision is not the cause [MP405 likely]}}
  %h = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // expected-note @+1 {{root mean square 5.65685e-09}}
  %y = mp.matmul %h, %v : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0e-6> : tensor<f32>
  %z0 = mp.mul %y, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>[unknown])

// -----

func.func @large_norm(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {clip_norm = 1.0}} {
  %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0e+4> : tensor<f32>
  %z0 = mp.mul %y, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  // expected-warning @+1 {{the norm of all gradients is 113137, above 1000; the largest part is that of w; clipping to 1 divides it by 113137. Precision is not the cause [MP405 likely]}}
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @clean_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  %v = mp.constant dense<0.5> : tensor<4x4xf16> loc(#v)
  %h = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
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

func.func @clean_bf16(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %v = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#v)
  %h = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
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

func.func @clean_f32(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
  %v = mp.constant dense<0.5> : tensor<4x4xf32> loc(#v)
  %h = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %y = mp.matmul %h, %v : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %y, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>[unknown])
