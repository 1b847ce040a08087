// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-differentiate="of=loss mark" --rule-infinite-derivative --mp-emit-findings

func.func @root_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<[[0.5, -0.5, 0.25, 0.5], [0.5, 0.5, -0.25, 0.1], [-0.5, 0.5, 0.3, 0.2], [0.1, -0.2, 0.3, 0.4]]> : tensor<4x4xf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  // expected-note @+1 {{argument in [0, 17], likely within [0, 2.33984]}}
  %r = mp.relu %y : (tensor<8x4xf16>) -> tensor<8x4xf16>
  // expected-error @+1 {{the argument of sqrt is likely to be 0, where its derivative is infinite although its value is finite: the gradient is Inf, or NaN where 0 arrives [MP412 likely]}}
  %s = mp.sqrt %r : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %s : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @root_bf16(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<[[0.5, -0.5, 0.25, 0.5], [0.5, 0.5, -0.25, 0.1], [-0.5, 0.5, 0.3, 0.2], [0.1, -0.2, 0.3, 0.4]]> : tensor<4x4xbf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  // expected-note @+1 {{argument in [0, 17], likely within [0, 2.34375]}}
  %r = mp.relu %y : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  // expected-error @+1 {{the argument of sqrt is likely to be 0, where its derivative is infinite although its value is finite: the gradient is Inf, or NaN where 0 arrives [MP412 likely]}}
  %s = mp.sqrt %r : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %f = mp.cast %s : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @root_f32(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<[[0.5, -0.5, 0.25, 0.5], [0.5, 0.5, -0.25, 0.1], [-0.5, 0.5, 0.3, 0.2], [0.1, -0.2, 0.3, 0.4]]> : tensor<4x4xf32> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // expected-note @+1 {{argument in [0, 17], likely within [0, 2.34006]}}
  %r = mp.relu %y : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-error @+1 {{the argument of sqrt is likely to be 0, where its derivative is infinite although its value is finite: the gradient is Inf, or NaN where 0 arrives [MP412 likely]}}
  %s = mp.sqrt %r : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %s, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @hidden(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<[[0.5, -0.5, 0.25, 0.5], [0.5, 0.5, -0.25, 0.1], [-0.5, 0.5, 0.3, 0.2], [0.1, -0.2, 0.3, 0.4]]> : tensor<4x4xf32> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // expected-note @+1 {{argument in [0, 17], likely within [0, 2.34006]}}
  %r = mp.relu %y : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %t = mp.constant dense<0.0> : tensor<f32>
  %m = mp.greater %r, %t : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xi1>
  // expected-error @+1 {{the argument of log is likely to be 0, where it is infinite: the selection behind hides the value, and its gradient there is 0 times Inf, NaN [MP412 likely]}}
  %l = mp.log %r : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-note @+1 {{selects beside it}}
  %s = mp.where %m, %l, %t : (tensor<8x4xi1>, tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %s, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @clean_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<[[0.5, -0.5, 0.25, 0.5], [0.5, 0.5, -0.25, 0.1], [-0.5, 0.5, 0.3, 0.2], [0.1, -0.2, 0.3, 0.4]]> : tensor<4x4xf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %r = mp.relu %y : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %e = mp.constant dense<1.0> : tensor<f16>
  %p = mp.add %r, %e : (tensor<8x4xf16>, tensor<f16>) -> tensor<8x4xf16>
  %s = mp.sqrt %p : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %s : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @clean_bf16(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<[[0.5, -0.5, 0.25, 0.5], [0.5, 0.5, -0.25, 0.1], [-0.5, 0.5, 0.3, 0.2], [0.1, -0.2, 0.3, 0.4]]> : tensor<4x4xbf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %r = mp.relu %y : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %e = mp.constant dense<1.0> : tensor<bf16>
  %p = mp.add %r, %e : (tensor<8x4xbf16>, tensor<bf16>) -> tensor<8x4xbf16>
  %s = mp.sqrt %p : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %f = mp.cast %s : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @clean_f32(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<[[0.5, -0.5, 0.25, 0.5], [0.5, 0.5, -0.25, 0.1], [-0.5, 0.5, 0.3, 0.2], [0.1, -0.2, 0.3, 0.4]]> : tensor<4x4xf32> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %r = mp.relu %y : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %e = mp.constant dense<1.0> : tensor<f32>
  %p = mp.add %r, %e : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %s = mp.sqrt %p : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %s, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @clean_guarded(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<[[0.5, -0.5, 0.25, 0.5], [0.5, 0.5, -0.25, 0.1], [-0.5, 0.5, 0.3, 0.2], [0.1, -0.2, 0.3, 0.4]]> : tensor<4x4xf32> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %r = mp.relu %y : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %t = mp.constant dense<0.0> : tensor<f32>
  %u = mp.constant dense<1.0> : tensor<f32>
  %m = mp.greater %r, %t : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xi1>
  %g = mp.where %m, %r, %u : (tensor<8x4xi1>, tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %l = mp.log %g : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %s = mp.where %m, %l, %t : (tensor<8x4xi1>, tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0> : tensor<f32>
  %z0 = mp.mul %s, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
