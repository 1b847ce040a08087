// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-differentiate="of=loss mark" --rule-lost-update --mp-emit-findings

// Adam's first step is the learning rate: half an ulp of a BF16 weight of 0.7 is 2^-9.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning @below {{nearly all of the weights keep their value in bf16: a step of adam changes them by about 0.001, and half an ulp of a weight of 0.699219 is 0.00195312; there is no FP32 copy that adds the steps up [MP409 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// That of an FP16 one is 2^-12, which a lower rate is below.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-4 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning-re @below {{nearly all of the weights keep their value in f16: {{.*}} [MP409 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// In FP16 the step is taken.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// FP32 copies take it, and so do FP32 weights.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64, master = true}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// FP32 weights.
func.func @main(%x: tensor<8x4xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf32> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = mp.square %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A decay of 1e-5 of the weight is less than half an ulp of any.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adamw", lr = 1.0e-3 : f64, weight_decay = 1.0e-2 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-remark @below {{weight decay alone does nothing: it takes 1e-05 of a weight each step, and half an ulp in f16 is 0.000244141 of it or more; parameters: w [MP409 certain]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// Nothing is known of the step without a learning rate.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam"}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// SGD's steps are the gradients': those of large inputs change the weights.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 2.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "sgd", lr = 0.1 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// Those of small ones do not.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 0.01 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "sgd", lr = 0.1 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning-re @below {{nearly all {{.*}} [MP409 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}
