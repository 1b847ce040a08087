// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-differentiate="of=loss mark" --rule-vanishing-gradient --mp-emit-findings

func.func @vanishes_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  %v = mp.constant dense<1.0e-6> : tensor<4x4xf16> loc(#v)
  // expected-warning @+1 {{the gradient of w has a root mean square of 1.14639e-05, 4.05312e-06 times that of the last weight, v (2.82843); precision is not the cause [MP404 likely]}}
  %h = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  // expected-note @+1 {{root mean square 2.82843}}
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

func.func @vanishes_bf16(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %v = mp.constant dense<1.0e-6> : tensor<4x4xbf16> loc(#v)
  // expected-warning @+1 {{the gradient of w has a root mean square of 1.12954e-05, 3.99351e-06 times that of the last weight, v (2.82843); precision is not the cause [MP404 likely]}}
  %h = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  // expected-note @+1 {{root mean square 2.82843}}
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

func.func @vanishes_f32(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
  %v = mp.constant dense<1.0e-6> : tensor<4x4xf32> loc(#v)
  // expected-warning @+1 {{the gradient of w has a root mean square of 1.13137e-05, 4e-06 times that of the last weight, v (2.82843); precision is not the cause [MP404 likely]}}
  %h = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // expected-note @+1 {{root mean square 2.82843}}
  %y = mp.matmul %h, %v : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %y, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>[unknown])

// -----

func.func @small_norm(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0e-9> : tensor<f32>
  %z0 = mp.mul %y, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  // expected-warning @+1 {{the norm of all gradients is 1.13137e-08, below 1e-06; the largest part is that of w. Precision is not the cause: a greater weight of the loss, or a sum in place of a mean, moves it [MP404 likely]}}
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
