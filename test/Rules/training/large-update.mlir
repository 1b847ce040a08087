// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-differentiate="of=loss mark" --rule-large-update --mp-emit-findings

// Adam's first step is the learning rate.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e6 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-error-re @below {{nearly all of the weights become Inf in f16 by the first step: one of adam changes them by about {{.*}}, and the largest is 65504 [MP415 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// In BF16 it fits, and leaves nothing of the weights.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e6 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning-re @below {{the first step of adam changes weights of 0.699219 by about {{.*}} times their size [MP415 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// An FP32 copy takes what the layer's FP16 does not.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "lion", lr = 1.0e6 : f64, master = true}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-error @below {{[MP415 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

func.func @main(%x: tensor<8x4xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "sgd", lr = 1.0e4 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf32> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning @below {{[MP415 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = mp.square %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Clean: a step of a hundredth; weights of 0, which have no size.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-1 : f64}} {
  %w = mp.constant dense<0.0> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}
// -----

func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

func.func @main(%x: tensor<8x4xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf32> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = mp.square %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
