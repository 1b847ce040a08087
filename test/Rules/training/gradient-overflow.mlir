// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-differentiate="of=loss mark" --rule-gradient-overflow --mp-emit-findings

func.func @start_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  // expected-remark @+1 {{this gradient overflows f16 at loss scales above 2^6 (64), and the scaler starts at 65536 (GradScaler's default): the first 10 steps are skipped; 2^4 (16) is a better start [MP402 likely]}}
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<100.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @far_start(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "dynamic", scale = 4294967296.0, hysteresis = 2}} {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  // expected-warning @+1 {{this gradient overflows f16 at loss scales above 2^6 (64), and the scaler starts at 4.29497e+09: the first 27 steps are skipped; 2^4 (16) is a better start [MP402 likely]}}
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<100.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @fixed_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "fixed", scale = 65536.0}} {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  // expected-error @+1 {{this gradient overflows f16 at loss scales above 2^6 (64), and the scaler has 65536: no step is taken; a start of 2^4 (16) leaves room [MP402 likely]}}
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<100.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @clean_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0e-2> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @clean_fixed_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "fixed", scale = 64.0}} {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<100.0> : tensor<f32>
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
  %c0 = mp.constant dense<100.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @clean_f32(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<100.0> : tensor<f32>
  %z0 = mp.mul %y, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @overflow_bf16(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "fixed", scale = 1.152921504606846976e+18}} {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  // expected-error @+1 {{this gradient overflows bf16 at loss scales above 2^42, and the scaler has 1.15292e+18: no step is taken; a start of 2^16 (65536) leaves room [MP402 likely]}}
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %f = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c = mp.constant dense<1.0e+25> : tensor<f32>
  %z = mp.mul %f, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @fits_bf16(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "fixed", scale = 1.152921504606846976e+18}} {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %f = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c = mp.constant dense<1.0e+15> : tensor<f32>
  %z = mp.mul %f, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @overflow_f8E5M2(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "fixed", scale = 65536.0}} {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  // expected-error @+2 {{this gradient overflows f8E5M2 at loss scales above 2^14 (16384), and the scaler has 65536: no step is taken; a start of 2^12 (4096) leaves room [MP402 likely]}}
  %q = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf8E5M2>
  %b = mp.cast %q : (tensor<8x4xf8E5M2>) -> tensor<8x4xbf16>
  %f = mp.cast %b : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c = mp.constant dense<1.0> : tensor<f32>
  %z = mp.mul %f, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @fits_f8E5M2(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "fixed", scale = 16.0}} {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %q = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf8E5M2>
  %b = mp.cast %q : (tensor<8x4xf8E5M2>) -> tensor<8x4xbf16>
  %f = mp.cast %b : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c = mp.constant dense<1.0> : tensor<f32>
  %z = mp.mul %f, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @overflow_f8E4M3FN(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "fixed", scale = 1024.0}} {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  // expected-error @+2 {{this gradient overflows f8E4M3FN at loss scales above 2^7 (128), and the scaler has 1024: no step is taken; a start of 2^5 (32) leaves room [MP402 likely]}}
  %q = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf8E4M3FN>
  %b = mp.cast %q : (tensor<8x4xf8E4M3FN>) -> tensor<8x4xbf16>
  %f = mp.cast %b : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c = mp.constant dense<1.0> : tensor<f32>
  %z = mp.mul %f, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
