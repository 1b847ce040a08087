// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-differentiate="of=loss mark" --rule-scaler --mp-emit-findings

func.func @none_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "none"}} {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0e-10> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  // expected-error @+1 {{gradients are f16 and there is no loss scaler: nearly all of all parameters' gradients that are not 0 are lost; they need a scale of 2^10 (1024) or more, and nothing overflows up to 2^46 [MP411 likely]}}
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @fixed(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "fixed", scale = 16.0}} {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0e-10> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  // expected-error @+1 {{the fixed loss scale 16 is too small: nearly all of all parameters' gradients that are not 0 are lost; they need a scale of 2^10 (1024) or more, and nothing overflows up to 2^46 [MP411 likely]}}
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @useless_bf16(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "dynamic"}} {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  // expected-remark @+1 {{no gradient is f16 or narrower, and a loss scaler does nothing for others but cost time [MP411 certain]}}
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %f = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @useless_f32(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "fixed", scale = 16.0}} {
  %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
  // expected-remark @+1 {{no gradient is f16 or narrower, and a loss scaler does nothing for others but cost time [MP411 certain]}}
  %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %y, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @least_overflows(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "dynamic", least_scale = 1.0}} {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  // expected-note @+1 {{overflows first}}
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0e+6> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  // expected-error @+1 {{the scaler's least scale is 1, and gradients overflow above 2^-7: it stays there, and every step is skipped or the run ends with an error [MP411 likely]}}
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @never_works(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "dynamic", growth = 1.0, backoff = 1.0, interval = 0}} {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  // expected-error @+3 {{the scaler's growth is 1: it must be above 1, or the scale never rises again [MP411 certain]}}
  // expected-error @+2 {{the scaler's backoff is 1: it must be between 0 and 1, or the scale does not come down after an overflow [MP411 certain]}}
  // expected-error @+1 {{the scaler's growth interval is 0 steps: it must be at least 1 [MP411 certain]}}
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @forward_overflows(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<6.0e+4> : tensor<4x4xf16> loc(#w)
  // expected-error @+1 {{the forward pass overflows here (magnitudes are expected to reach 315932, past 65504, the largest f16 value), so that gradients are Inf or NaN at any loss scale: a dynamic scale runs to its least value, and no step is taken [MP411 likely]}}
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @masked_scores(%x: tensor<4x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  // -Inf in FP16: the softmax drops these scores, and no gradient passes them.
  %m = mp.constant dense<[[0.0, -3.4e38, -3.4e38, -3.4e38], [0.0, 0.0, -3.4e38, -3.4e38], [0.0, 0.0, 0.0, -3.4e38], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %n = mp.identity %m : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %h = mp.cast %n : (tensor<4x4xf32>) -> tensor<4x4xf16>
  %s = mp.add %y, %h : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  %p = mp.softmax %s {axis = 1 : i64} : (tensor<4x4xf16>) -> tensor<4x4xf16>
  %f = mp.cast %p : (tensor<4x4xf16>) -> tensor<4x4xf32>
  %c0 = mp.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %z0 = mp.mul %f, %c0 : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<4x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @clean_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @clean_none_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "none"}} {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @clean_bf16(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %f = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @clean_f32(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %y, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @none_f8E5M2(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "none"}} {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %q = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf8E5M2>
  %f = mp.cast %q : (tensor<8x4xf8E5M2>) -> tensor<8x4xf32>
  %c = mp.constant dense<1.0e-7> : tensor<f32>
  %z = mp.mul %f, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  // expected-error @+1 {{gradients are f8E5M2 and there is no loss scaler: nearly all of all parameters' gradients that are not 0 are lost; they need a scale of 2^7 (128) or more, and nothing overflows up to 2^38 [MP411 likely]}}
  %loss = mp.reduce_sum %z : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @dynamic_f8E5M2(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "dynamic"}} {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %q = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf8E5M2>
  %f = mp.cast %q : (tensor<8x4xf8E5M2>) -> tensor<8x4xf32>
  %c = mp.constant dense<1.0e-7> : tensor<f32>
  %z = mp.mul %f, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @too_small_bf16(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "fixed", scale = 2.0}} {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %f = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c = mp.constant dense<1.0e-42> : tensor<f32>
  %z = mp.mul %f, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
