// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-differentiate="of=loss mark" --rule-optimizer-epsilon --mp-emit-findings

// 1e-8 is 0 in FP16, and so are the squares of small gradients.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 0.1 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-error-re @below {{eps 1e-08 is 0 in f16, the dtype of the optimizer's state: where the second moment is 0, of {{.*}} % of the weights (gradients up to 0.00545915), the first update is Inf, or NaN where the gradient is 0 [MP407 certain]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// FP16 holds 1e-4.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64, eps = 1.0e-4 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// FP32 state, and BF16, hold 1e-8.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 0.1 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64, state = f32}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// BF16.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 0.1 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// FP32.
func.func @main(%x: tensor<8x4xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 0.1 : f64, source = "option"}}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf32> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = mp.square %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// No optimizer without second moments has an epsilon that matters.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 0.1 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "lion", lr = 1.0e-3 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// An epsilon above the gradient.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 0.1 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64, eps = 1.0 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning-re @below {{eps 1 is above the gradient, whose root mean square is {{.*}}: updates are that much smaller than the learning rate ({{.*}} times), and the weight hardly moves [MP407 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// An epsilon above the gradient.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 0.1 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64, eps = 1.0 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning-re @below {{eps 1 is above the gradient, whose root mean square is {{.*}}: updates are that much smaller than the learning rate ({{.*}} times), and the weight hardly moves [MP407 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// An epsilon above the gradient.
func.func @main(%x: tensor<8x4xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 0.1 : f64, source = "option"}}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {optimizer = "adam", lr = 1.0e-3 : f64, eps = 1.0 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf32> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning-re @below {{eps 1 is above the gradient, whose root mean square is {{.*}}: updates are that much smaller than the learning rate ({{.*}} times), and the weight hardly moves [MP407 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = mp.square %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
