// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// Functions of one value whose parts are ops of their own, in any spelling.
#wide = {lo = -50.0 : f64, hi = 60.0 : f64}
func.func @hard_swish(%x: tensor<4xf32> {mp.assume = #wide}) {
  %c0 = mp.constant dense<0.0> : tensor<f32>
  %c3 = mp.constant dense<3.0> : tensor<f32>
  %c6 = mp.constant dense<6.0> : tensor<f32>
  %a = mp.add %x, %c3 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = mp.clip %a min %c0 max %c6 : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  // The least is -2.25, at -1.5.
  // expected-remark @below {{[-2.3}}
  %0 = mp.mul %x, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = mp.relu %a : (tensor<4xf32>) -> tensor<4xf32>
  %m = mp.min %r, %c6 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-remark @below {{[-2.3}}
  %1 = mp.mul %m, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// What is stored between two steps may be off: 1 + tanh(x) where both cancel.
#wide = {lo = -50.0 : f64, hi = 60.0 : f64}
func.func @rounded(%x: tensor<4xf16> {mp.assume = #wide}) {
  %c1 = mp.constant dense<1.0> : tensor<f16>
  %t = mp.tanh %x : (tensor<4xf16>) -> tensor<4xf16>
  %s = mp.add %t, %c1 : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // expected-remark @below {{[-0.28}}
  %0 = mp.mul %x, %s : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  // A power that overflows becomes Inf, and x / Inf is 0.
  %big = mp.mul %x, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %more = mp.mul %big, %big : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %d = mp.add %more, %c1 : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // expected-remark @below {{[-0.5875}}
  %1 = mp.div %x, %d : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return
}

// -----

// x - x^3 has its extremes at 1 / sqrt(3); of two values each is free.
#unit = {lo = -1.0 : f64, hi = 1.0 : f64}
func.func @difference(%x: tensor<4xf32> {mp.assume = #unit}, %y: tensor<4xf32> {mp.assume = #unit}) {
  %q = mp.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = mp.mul %q, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{[-0.39}}
  %0 = mp.sub %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{[-2, 2]}}
  %1 = mp.sub %y, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// A cast that saturates stays at its largest code: x = 1000 is off by 552.
#large = {lo = 0.0 : f64, hi = 1000.0 : f64}
func.func @saturating(%x: tensor<4xf32> {mp.assume = #large}) {
  %0 = mp.cast %x {saturate} : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  %1 = mp.cast %0 : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  // expected-remark @below {{1000]}}
  %2 = mp.sub %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
