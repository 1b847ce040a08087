// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-saturated-probability --mp-emit-findings

// expected-note @below {{logits likely within}}
func.func @fires_f16(%x: tensor<4x8xf16> {mp.assume = {lo = -20.0 : f64, hi = 20.0 : f64, mean = 0.0 : f64, std = 20.0 : f64, source = "option"}}) {
  %c = mp.constant dense<1.0> : tensor<f16>
  // expected-warning @below {{probabilities round to exactly 0 in f16, and their logarithm is taken [MP306 likely]}}
  // expected-warning @below {{probabilities round to exactly 1 in f16, and 1 - p is 0 then, in a logarithm or division [MP306 likely]}}
  %0 = mp.sigmoid %x : (tensor<4x8xf16>) -> tensor<4x8xf16>
  // expected-note @below {{reads the probability}}
  %1 = mp.log %0 : (tensor<4x8xf16>) -> tensor<4x8xf16>
  // expected-note @below {{reads the probability}}
  %2 = mp.sub %c, %0 : (tensor<f16>, tensor<4x8xf16>) -> tensor<4x8xf16>
  %3 = mp.log %2 : (tensor<4x8xf16>) -> tensor<4x8xf16>
  return
}

// -----

// Small logits; nobody takes a logarithm; the fused form.
func.func @clean_f16(%x: tensor<4x8xf16> {mp.assume = {lo = -2.0 : f64, hi = 2.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}, %y: tensor<4x8xf16> {mp.assume = {lo = -20.0 : f64, hi = 20.0 : f64, mean = 0.0 : f64, std = 20.0 : f64, source = "option"}}) {
  %0 = mp.sigmoid %x : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %1 = mp.log %0 : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %2 = mp.softmax %y : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %3 = mp.neg %2 : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %4 = mp.log_softmax %y : (tensor<4x8xf16>) -> tensor<4x8xf16>
  return
}

// -----

// expected-note @below {{logits likely within}}
func.func @fires_bf16(%x: tensor<4x8xbf16> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 100.0 : f64, source = "option"}}) {
  %c = mp.constant dense<1.0> : tensor<bf16>
  // expected-warning @below {{probabilities round to exactly 0 in bf16, and their logarithm is taken [MP306 likely]}}
  // expected-warning @below {{probabilities round to exactly 1 in bf16, and 1 - p is 0 then, in a logarithm or division [MP306 likely]}}
  %0 = mp.sigmoid %x : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  // expected-note @below {{reads the probability}}
  %1 = mp.log %0 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  // expected-note @below {{reads the probability}}
  %2 = mp.sub %c, %0 : (tensor<bf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %3 = mp.log %2 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return
}

// -----

// Small logits; nobody takes a logarithm; the fused form.
func.func @clean_bf16(%x: tensor<4x8xbf16> {mp.assume = {lo = -2.0 : f64, hi = 2.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}, %y: tensor<4x8xbf16> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 100.0 : f64, source = "option"}}) {
  %0 = mp.sigmoid %x : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %1 = mp.log %0 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %2 = mp.softmax %y : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %3 = mp.neg %2 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %4 = mp.log_softmax %y : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return
}

// -----

// expected-note @below {{logits likely within}}
func.func @fires_f32(%x: tensor<4x8xf32> {mp.assume = {lo = -120.0 : f64, hi = 120.0 : f64, mean = 0.0 : f64, std = 120.0 : f64, source = "option"}}) {
  %c = mp.constant dense<1.0> : tensor<f32>
  // expected-warning @below {{probabilities round to exactly 0 in f32, and their logarithm is taken [MP306 likely]}}
  // expected-warning @below {{probabilities round to exactly 1 in f32, and 1 - p is 0 then, in a logarithm or division [MP306 likely]}}
  %0 = mp.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-note @below {{reads the probability}}
  %1 = mp.log %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-note @below {{reads the probability}}
  %2 = mp.sub %c, %0 : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = mp.log %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// Small logits; nobody takes a logarithm; the fused form.
func.func @clean_f32(%x: tensor<4x8xf32> {mp.assume = {lo = -2.0 : f64, hi = 2.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}, %y: tensor<4x8xf32> {mp.assume = {lo = -120.0 : f64, hi = 120.0 : f64, mean = 0.0 : f64, std = 120.0 : f64, source = "option"}}) {
  %0 = mp.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = mp.log %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = mp.softmax %y : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = mp.neg %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = mp.log_softmax %y : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// expected-note @below {{logits likely within}}
func.func @softmax(%x: tensor<4x8xf16> {mp.assume = {lo = -12.0 : f64, hi = 12.0 : f64, mean = 0.0 : f64, std = 12.0 : f64, source = "option"}}) -> tensor<4x8xf16> {
  // expected-warning @below {{probabilities round to exactly 0 in f16, and their logarithm is taken [MP306 likely]}}
  %0 = mp.softmax %x : (tensor<4x8xf16>) -> tensor<4x8xf16>
  // expected-note @below {{reads the probability}}
  %1 = mp.log %0 : (tensor<4x8xf16>) -> tensor<4x8xf16>
  return %1 : tensor<4x8xf16>
}
