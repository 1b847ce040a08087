// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-differentiate="of=loss mark" --rule-second-moment --mp-emit-findings

// 1 - beta2 is below half an ulp of BF16.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning @below {{the second moment does not decay in bf16: 0.999 v is rounded back to v, since 1 - beta2 = 0.001 is below half an ulp, so that one large gradient makes the updates of a weight small for good; beta2 below 0.996094 decays [MP408 certain]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// From 0.65 of a power of two on it stays.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64, beta2 = 0.997 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning-re @below {{{{.*}}: 0.997 v is rounded back to v at 0.651042 of the power of two above it, {{.*}} [MP408 certain]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// It decays.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64, beta2 = 0.95 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// State in FP32.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64, master = true}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// FP16 has enough digits, and loses small squares: epsilon alone divides.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 0.05 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64, eps = 1.0e-5 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning-re @below {{nearly all of the second moment is 0 in f16: squares of gradients up to 0.00545915 flush, and eps 1.00136e-05 alone divides; a gradient of {{.*}} learning rates instead of one [MP408 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// Large ones are kept.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 4.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64, eps = 1.0e-5 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// FP32.
func.func @main(%x: tensor<8x4xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 0.05 : f64, source = "option"}}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf32> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = mp.square %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
