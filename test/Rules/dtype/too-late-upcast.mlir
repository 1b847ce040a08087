// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-too-late-upcast --mp-emit-findings

func.func @down_and_up(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{is f32}}
  %y = mp.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note @below {{rounds it to f16}}
  %h = mp.cast %y : (tensor<4xf32>) -> tensor<4xf16>
  %v = mp.identity %h : (tensor<4xf16>) -> tensor<4xf16>
  // expected-warning @below {{widened to f32 right after it was rounded to f16: the digits are gone [MP104 certain]}}
  %z = mp.cast %v {origin = #mp.cast_origin<policy>} : (tensor<4xf16>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

// softmax(x.bfloat16()).float()
func.func @behind_the_op(%x: tensor<4xbf16>) -> tensor<4xf64> {
  // expected-note @below {{computes in bf16}}
  %y = mp.softmax %x {mp.category = "fp32"} : (tensor<4xbf16>) -> tensor<4xbf16>
  // expected-warning @below {{widened to f64 behind softmax in bf16, which the policy keeps in f32: too late to help}}
  %z = mp.cast %y : (tensor<4xbf16>) -> tensor<4xf64>
  return %z : tensor<4xf64>
}

// -----

// A member of a composite goes by the composite's name.
func.func @composite(%x: tensor<4xf16>) -> tensor<4xf32> {
  // expected-note @below {{computes in f16}}
  %y = mp.add %x, %x {mp.category = "fp32", mp.idiom = #mp.idiom<"layer_norm", 0, true>} : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  // expected-warning @below {{widened to f32 behind layer_norm in f16}}
  %z = mp.cast %y : (tensor<4xf16>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

// Clean: what autocast is for, what a whole-model conversion restores for an op
// that takes FP32 only, a rounded constant, widening a 16-bit input,
// integers, and narrowing that stays narrow.
func.func @clean(%x: tensor<4xf16>, %w: tensor<4xf32>, %i: tensor<4xi32>) {
  %0 = mp.add %x, %x {mp.category = "lower"} : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %1 = mp.cast %0 : (tensor<4xf16>) -> tensor<4xf32>
  %c = mp.constant dense<1.0> : tensor<4xf32>
  %2 = mp.cast %c : (tensor<4xf32>) -> tensor<4xf16>
  %3 = mp.cast %2 : (tensor<4xf16>) -> tensor<4xf32>
  %4 = mp.cast %x : (tensor<4xf16>) -> tensor<4xf32>
  %5 = mp.cast %i : (tensor<4xi32>) -> tensor<4xf16>
  %6 = mp.cast %5 : (tensor<4xf16>) -> tensor<4xf32>
  %7 = mp.cast %w : (tensor<4xf32>) -> tensor<4xf16>
  %8 = mp.exp %7 {mp.category = "fp32"} : (tensor<4xf16>) -> tensor<4xf16>
  %9 = mp.cast %8 {origin = #mp.cast_origin<storage>} : (tensor<4xf16>) -> tensor<4xf32>
  return
}

// -----

// A conversion gives an optimiser its operand back in FP32: no cast of the model.
func.func @conversion(%x: tensor<4xf16>, %axes: tensor<1xi64>) -> tensor<4xf32> {
  %0 = mp.exp %x {mp.category = "fp32"} : (tensor<4xf16>) -> tensor<4xf16>
  %1 = mp.cast %0 {origin = #mp.cast_origin<storage>} : (tensor<4xf16>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
