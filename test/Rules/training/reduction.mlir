// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-differentiate="of=loss mark" --rule-reduction --mp-emit-findings

// Sixteen workers that add before they divide reach sixteen times the gradient.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {world = 16 : i64, divides_after = true, scaler = "dynamic", scale = 65536.0 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning-re @below {{gradients are added in f16 over 16 workers before they are divided: at the loss scale 2^{{.*}} the sum reaches {{.*}}, past 65504; steps are skipped until the scale is 2^{{.*}} [MP410 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// A fixed scale does not give way.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {world = 1024 : i64, divides_after = true, scaler = "fixed", scale = 1024.0 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-error-re @below {{gradients are added in f16 over 1024 workers {{.*}}; every step is Inf [MP410 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  // expected-remark @below {{gradients of 1024 workers are added in f16: roundings add up to about 50 % of the sum at most [MP410 certain]}}
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// Dividing first loses small gradients instead.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 0.001 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {world = 64 : i64, divides_after = false, scaler = "none"}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning-re @below {{gradients are divided by 64 in f16 before the sum over 64 workers: at the loss scale 1 another {{.*}} of all elements become 0; a factor of about 8 leaves room at both ends [MP410 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// FSDP reduces in the parameters' dtype, with BF16's eight digits.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {world = 512 : i64, sharding = "fsdp", shard_parameters = bf16}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  // expected-warning @below {{gradients of 512 workers are added in bf16: from the 256th on a term of the same size is below half an ulp of the sum and is lost [MP410 certain]}}
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// Passes are added where the gradient is.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {accumulate = 64 : i64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  // expected-remark @below {{gradients of 64 passes are added in bf16: roundings add up to about 25 % of the sum at most [MP410 certain]}}
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// Few terms, room in the scale.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {world = 8 : i64, divides_after = true, scaler = "fixed", scale = 256.0 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// Few terms in BF16.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {world = 8 : i64, accumulate = 4 : i64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// FP32.
func.func @main(%x: tensor<8x4xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {world = 1024 : i64, accumulate = 512 : i64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf32> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = mp.square %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// One worker.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {scaler = "dynamic", scale = 65536.0 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// A reduction in FP32.
func.func @main(%x: tensor<8x4xf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f16> {mp.name = "loss"}) attributes {mp.training_step = {world = 64 : i64, reduce = f32, divides_after = true, scaler = "dynamic", scale = 65536.0 : f64}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  %1 = mp.square %0 : (tensor<8x2xf16>) -> tensor<8x2xf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// FP32 gradients that a hook casts to FP8: E4M3 has nothing below 2^-10, and
// the sixteenth of equal terms is below half an ulp of the sum.
func.func @main(%x: tensor<8x4xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 0.01 : f64, source = "option"}}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {world = 32 : i64, divides_after = true, scaler = "none", reduce = f8E4M3FN}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf32> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-warning-re @below {{gradients are cast to f8E4M3FN for the sum over 32 workers: at the loss scale 1 {{.*}} of all elements become 0, and no later step brings them back unless the hook feeds its error back [MP410 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = mp.square %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  // expected-warning @below {{gradients of 32 workers are added in f8E4M3FN: from the 16th on a term of the same size is below half an ulp of the sum and is lost [MP410 certain]}}
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// E5M2 holds these gradients, and two workers' sums are exact enough to say nothing.
func.func @main(%x: tensor<8x4xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {world = 2 : i64, divides_after = true, scaler = "none", reduce = f8E5M2}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf32> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = mp.square %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  // expected-remark @below {{gradients of 2 workers are added in f8E5M2: roundings add up to about 13 % of the sum at most [MP410 certain]}}
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A sum past 448 is NaN: E4M3 has no infinity.
func.func @main(%x: tensor<8x4xf32> {mp.name = "x", mp.assume = {lo = -80.0 : f64, hi = 80.0 : f64, mean = 0.0 : f64, std = 20.0 : f64, source = "option"}}) -> (tensor<f32> {mp.name = "loss"}) attributes {mp.training_step = {world = 4 : i64, divides_after = true, scaler = "none", reduce = f8E4M3FN}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xf32> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  // expected-error-re @below {{gradients are added in f8E4M3FN over 4 workers before they are divided: at the loss scale 1 the sum reaches {{.*}}, past 448; every step is {{.*}} [MP410 likely]}}
  %0 = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = mp.square %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  // expected-remark @below {{gradients of 4 workers are added in f8E4M3FN: roundings add up to about 19 % of the sum at most [MP410 certain]}}
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Megatron's buffer under --bf16 is FP32.
func.func @main(%x: tensor<8x4xbf16> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<bf16> {mp.name = "loss"}) attributes {mp.training_step = {accumulate = 64 : i64, sum_passes = f32}} {
  %w = mp.constant dense<0.69921875> : tensor<4x2xbf16> loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
  %0 = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = mp.square %0 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %loss = mp.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}
