// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-differentiate="of=loss mark" --rule-parallel-precision --mp-emit-findings

// Running statistics, norms and routers; a reduce dtype that nobody chose.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {sharding = "fsdp", shard_parameters = f16, shard_buffers = f16}} {
  %g = mp.constant dense<1.0> : tensor<4xf16> loc(fused<#mp.origin<"g", "Initializer", "", ["g"]>>[unknown])
  %b = mp.constant dense<0.0> : tensor<4xf16> loc(fused<#mp.origin<"b", "Initializer", "", ["b"]>>[unknown])
  %m = mp.constant dense<0.0> : tensor<4xf16> loc(fused<#mp.origin<"m", "Buffer", "", ["m"]>>[unknown])
  %v = mp.constant dense<1.0> : tensor<4xf16> loc(fused<#mp.origin<"v", "Buffer", "", ["v"]>>[unknown])
  %w = mp.constant dense<0.5> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning @below {{the sharding policy casts buffers to f16, running mean and variance among them: with the usual momentum of 0.1 a change below 0.00488281 of their value does nothing; buffers in FP32 cost nothing [MP413 certain]}}
  // expected-remark @below {{the sharding policy casts the weights of a norm to f16, and the norm computes in it: around 1 its gain has steps of 0.000976562; norms wrapped with a policy of their own stay in FP32 [MP413 certain]}}
  %0 = mp.batch_norm %x scale %g bias %b mean %m variance %v : (tensor<8x4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<8x4xf16>
  // expected-warning @below {{the sharding policy casts the weights of a router to f16: scores that differ by less than 0.000976562 of their size are equal, and the choice of experts is left to chance; a router is computed in FP32 [MP413 certain]}}
  %1 = mp.matmul %0, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %2 = mp.softmax %1 {axis = 1} : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %k = mp.constant dense<1> : tensor<1xi64>
  %t:2 = mp.top_k %2 k %k : (tensor<8x2xf16>, tensor<1xi64>) -> (tensor<8x1xf16>, tensor<8x1xi64>)
  // expected-warning-re @below {{no reduce dtype is set, so that gradients are reduced in the parameters' f16: {{.*}} [MP413 certain]}}
  %loss = mp.reduce_mean %t#0 {axes = array<i64: 0, 1>} : (tensor<8x1xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// BF16.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {sharding = "fsdp", shard_parameters = bf16, shard_buffers = bf16, reduce = bf16}} {
  %g = mp.constant dense<1.0> : tensor<4xbf16> loc(fused<#mp.origin<"g", "Initializer", "", ["g"]>>[unknown])
  %b = mp.constant dense<0.0> : tensor<4xbf16> loc(fused<#mp.origin<"b", "Initializer", "", ["b"]>>[unknown])
  %m = mp.constant dense<0.0> : tensor<4xbf16> loc(fused<#mp.origin<"m", "Buffer", "", ["m"]>>[unknown])
  %v = mp.constant dense<1.0> : tensor<4xbf16> loc(fused<#mp.origin<"v", "Buffer", "", ["v"]>>[unknown])
  %w = mp.constant dense<0.5> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning-re @below {{the sharding policy casts buffers to bf16, {{.*}} [MP413 certain]}}
  // expected-remark-re @below {{{{.*}} bf16, {{.*}} steps of 0.0078125; {{.*}} [MP413 certain]}}
  %0 = mp.batch_norm %x scale %g bias %b mean %m variance %v : (tensor<8x4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>) -> tensor<8x4xbf16>
  // expected-warning-re @below {{{{.*}} bf16: {{.*}} [MP413 certain]}}
  %1 = mp.matmul %0, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %2 = mp.softmax %1 {axis = 1} : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %k = mp.constant dense<1> : tensor<1xi64>
  %t:2 = mp.top_k %2 k %k : (tensor<8x2xbf16>, tensor<1xi64>) -> (tensor<8x1xbf16>, tensor<8x1xi64>)
  // expected-remark @below {{gradients are reduced in bf16: each addition keeps 8 bits; reduce in FP32 where bandwidth allows it [MP413 certain]}}
  %loss = mp.reduce_mean %t#0 {axes = array<i64: 0, 1>} : (tensor<8x1xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// All in FP32.
func.func @main(%x: tensor<8x4xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {sharding = "fsdp", shard_parameters = f32, shard_buffers = f32}} {
  %g = mp.constant dense<1.0> : tensor<4xf32> loc(fused<#mp.origin<"g", "Initializer", "", ["g"]>>[unknown])
  %b = mp.constant dense<0.0> : tensor<4xf32> loc(fused<#mp.origin<"b", "Initializer", "", ["b"]>>[unknown])
  %m = mp.constant dense<0.0> : tensor<4xf32> loc(fused<#mp.origin<"m", "Buffer", "", ["m"]>>[unknown])
  %v = mp.constant dense<1.0> : tensor<4xf32> loc(fused<#mp.origin<"v", "Buffer", "", ["v"]>>[unknown])
  %w = mp.constant dense<0.5> : tensor<4x2xf32> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.batch_norm %x scale %g bias %b mean %m variance %v : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %1 = mp.matmul %0, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %2 = mp.softmax %1 {axis = 1} : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %k = mp.constant dense<1> : tensor<1xi64>
  %t:2 = mp.top_k %2 k %k : (tensor<8x2xf32>, tensor<1xi64>) -> (tensor<8x1xf32>, tensor<8x1xi64>)
  %loss = mp.reduce_mean %t#0 {axes = array<i64: 0, 1>} : (tensor<8x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// No sharding.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {shard_parameters = bf16, shard_buffers = bf16}} {
  %g = mp.constant dense<1.0> : tensor<4xbf16> loc(fused<#mp.origin<"g", "Initializer", "", ["g"]>>[unknown])
  %b = mp.constant dense<0.0> : tensor<4xbf16> loc(fused<#mp.origin<"b", "Initializer", "", ["b"]>>[unknown])
  %m = mp.constant dense<0.0> : tensor<4xbf16> loc(fused<#mp.origin<"m", "Buffer", "", ["m"]>>[unknown])
  %v = mp.constant dense<1.0> : tensor<4xbf16> loc(fused<#mp.origin<"v", "Buffer", "", ["v"]>>[unknown])
  %w = mp.constant dense<0.5> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.batch_norm %x scale %g bias %b mean %m variance %v : (tensor<8x4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>) -> tensor<8x4xbf16>
  %1 = mp.matmul %0, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %2 = mp.softmax %1 {axis = 1} : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %k = mp.constant dense<1> : tensor<1xi64>
  %t:2 = mp.top_k %2 k %k : (tensor<8x2xbf16>, tensor<1xi64>) -> (tensor<8x1xbf16>, tensor<8x1xi64>)
  %loss = mp.reduce_mean %t#0 {axes = array<i64: 0, 1>} : (tensor<8x1xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// One worker reduces nothing.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {sharding = "fsdp", world = 1 : i64, shard_reduce = f16}} {
  %g = mp.constant dense<1.0> : tensor<4xf16> loc(fused<#mp.origin<"g", "Initializer", "", ["g"]>>[unknown])
  %b = mp.constant dense<0.0> : tensor<4xf16> loc(fused<#mp.origin<"b", "Initializer", "", ["b"]>>[unknown])
  %m = mp.constant dense<0.0> : tensor<4xf16> loc(fused<#mp.origin<"m", "Buffer", "", ["m"]>>[unknown])
  %v = mp.constant dense<1.0> : tensor<4xf16> loc(fused<#mp.origin<"v", "Buffer", "", ["v"]>>[unknown])
  %w = mp.constant dense<0.5> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.batch_norm %x scale %g bias %b mean %m variance %v : (tensor<8x4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<8x4xf16>
  %1 = mp.matmul %0, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %2 = mp.softmax %1 {axis = 1} : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %k = mp.constant dense<1> : tensor<1xi64>
  %t:2 = mp.top_k %2 k %k : (tensor<8x2xf16>, tensor<1xi64>) -> (tensor<8x1xf16>, tensor<8x1xi64>)
  %loss = mp.reduce_mean %t#0 {axes = array<i64: 0, 1>} : (tensor<8x1xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}
