// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-differentiate="of=loss mark" --rule-no-loss-scale --mp-emit-findings

func.func @below_one_f16(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  // expected-error @+1 {{this gradient overflows f16 at loss scales above 2^-7, so that none of 1 or more works; a mean as loss in place of a sum moves that [MP403 likely]}}
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0e+6> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @no_common_scale(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf16> loc(#w)
  %v = mp.constant dense<0.5> : tensor<4x64xf16> loc(#v)
  // expected-error @+1 {{this gradient overflows f16 at loss scales above 2^3 (8), and at that scale about 94 % of all parameters' gradients that are not 0 are lost, most of them in v; they need 2^17 (131072) [MP403 likely]}}
  %y = mp.matmul %x, %w : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  // expected-note @+1 {{loses nearly all of the elements that are not 0 at 2^3 (8)}}
  %z = mp.matmul %x, %v : (tensor<8x4xf16>, tensor<4x64xf16>) -> tensor<8x64xf16>
  %f = mp.cast %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %g = mp.cast %z : (tensor<8x64xf16>) -> tensor<8x64xf32>
  %c = mp.constant dense<1.0e+3> : tensor<f32>
  %d = mp.constant dense<1.0e-12> : tensor<f32>
  %large = mp.mul %f, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %small = mp.mul %g, %d : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %first = mp.reduce_sum %large : (tensor<8x4xf32>) -> tensor<f32>
  %second = mp.reduce_sum %small : (tensor<8x64xf32>) -> tensor<f32>
  %loss = mp.add %first, %second : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
#v = loc(fused<#mp.origin<"v", "Initializer", "", ["v"]>>[unknown])

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

func.func @clean_bf16(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %f = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0e+6> : tensor<f32>
  %z0 = mp.mul %f, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @clean_f32(%x: tensor<8x4xf32> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xf32> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c0 = mp.constant dense<1.0e+6> : tensor<f32>
  %z0 = mp.mul %y, %c0 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z0 : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @below_one_bf16(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  // expected-error @+1 {{this gradient overflows bf16 at loss scales above 2^-1 (0.5), so that none of 1 or more works; a mean as loss in place of a sum moves that [MP403 likely]}}
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %f = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c = mp.constant dense<1.0e+38> : tensor<f32>
  %z = mp.mul %f, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @below_one_f8E5M2(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  // expected-error @+2 {{this gradient overflows f8E5M2 at loss scales above 2^-6 (0.015625), so that none of 1 or more works; a mean as loss in place of a sum moves that [MP403 likely]}}
  %q = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf8E5M2>
  %b = mp.cast %q : (tensor<8x4xf8E5M2>) -> tensor<8x4xbf16>
  %f = mp.cast %b : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c = mp.constant dense<1.0e+6> : tensor<f32>
  %z = mp.mul %f, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @below_one_f8E4M3FN(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  // expected-error @+2 {{this gradient overflows f8E4M3FN at loss scales above 2^-3 (0.125), so that none of 1 or more works; a mean as loss in place of a sum moves that [MP403 likely]}}
  %q = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf8E4M3FN>
  %b = mp.cast %q : (tensor<8x4xf8E4M3FN>) -> tensor<8x4xbf16>
  %f = mp.cast %b : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c = mp.constant dense<1.0e+3> : tensor<f32>
  %z = mp.mul %f, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])

// -----

func.func @fits_f8E4M3FN(%x: tensor<8x4xbf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<4x4xbf16> loc(#w)
  %y = mp.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %q = mp.cast %y : (tensor<8x4xbf16>) -> tensor<8x4xf8E4M3FN>
  %b = mp.cast %q : (tensor<8x4xf8E4M3FN>) -> tensor<8x4xbf16>
  %f = mp.cast %b : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %c = mp.constant dense<1.0> : tensor<f32>
  %z = mp.mul %f, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %loss = mp.reduce_sum %z : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>[unknown])
