// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-manual-half-cast --mp-emit-findings

module attributes {mp.precision = "autocast-fp16"} {
  func.func @hurts(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-warning @below {{the model casts to f16 inside autocast: rounded also for ops that autocast runs in f32 [MP105 certain]}}
    %h = mp.cast %x : (tensor<4xf32>) -> tensor<4xf16>
    %u = mp.cast %h {origin = #mp.cast_origin<policy>} : (tensor<4xf16>) -> tensor<4xf32>
    // expected-note @below {{runs in f32 on the rounded tensor}}
    %y = mp.exp %u {mp.category = "fp32"} : (tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

module attributes {mp.precision = "autocast-bf16"} {
  func.func @harmless(%x: tensor<4xf32>) -> tensor<4xbf16> {
    // expected-remark @below {{the model casts to bf16 inside autocast, which casts there by itself}}
    %h = mp.cast %x : (tensor<4xf32>) -> tensor<4xbf16>
    %y = mp.add %h, %h {mp.category = "lower"} : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
    return %y : tensor<4xbf16>
  }
}

// -----

// Clean: the policy's own casts, casts of constants, upward casts.
module attributes {mp.precision = "autocast-fp16"} {
  func.func @clean(%x: tensor<4xf32>, %h: tensor<4xf16>) {
    %c = mp.constant dense<1.0> : tensor<4xf32>
    %0 = mp.cast %x {origin = #mp.cast_origin<policy>} : (tensor<4xf32>) -> tensor<4xf16>
    %1 = mp.cast %c : (tensor<4xf32>) -> tensor<4xf16>
    %2 = mp.cast %h : (tensor<4xf16>) -> tensor<4xf32>
    return
  }
}

// -----

// Clean: no autocast.
module attributes {mp.precision = "as-is"} {
  func.func @as_is(%x: tensor<4xf32>) -> tensor<4xf16> {
    %0 = mp.cast %x : (tensor<4xf32>) -> tensor<4xf16>
    return %0 : tensor<4xf16>
  }
}

// -----

// The model's own region in a module that is judged as it is; none where it is
// switched off.
module attributes {mp.precision = "as-is"} {
  func.func @region(%x: tensor<4xf32>) -> tensor<4xbf16> {
    // expected-remark @below {{the model casts to bf16 inside autocast, which casts there by itself}}
    %h = mp.cast %x {mp.autocast = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
    %o = mp.cast %x {mp.autocast = false} : (tensor<4xf32>) -> tensor<4xbf16>
    %y = mp.add %h, %o {mp.category = "lower"} : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
    return %y : tensor<4xbf16>
  }
}
