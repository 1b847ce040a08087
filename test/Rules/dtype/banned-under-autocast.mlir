// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-banned-under-autocast --mp-emit-findings

func.func @f16(%p: tensor<4xf16>, %t: tensor<4xf16>) -> tensor<f16> {
  // expected-note @below {{are probabilities rounded to f16}}
  %q = mp.sigmoid %p : (tensor<4xf16>) -> tensor<4xf16>
  // expected-error @below {{binary cross-entropy of probabilities in f16: a probability that rounds to 0 or 1 makes the loss infinite, and autocast refuses to run it [MP102 certain]}}
  %l = mp.binary_cross_entropy %q, %t {mp.category = "banned"} : (tensor<4xf16>, tensor<4xf16>) -> tensor<f16>
  return %l : tensor<f16>
}

// -----

// The target's dtype does not matter.
func.func @bf16(%p: tensor<4xbf16>, %t: tensor<4xf32>) -> tensor<f32> {
  // expected-note @below {{are probabilities rounded to bf16}}
  %q = mp.sigmoid %p : (tensor<4xbf16>) -> tensor<4xbf16>
  // expected-error @below {{binary cross-entropy of probabilities in bf16}}
  %l = mp.binary_cross_entropy %q, %t {mp.category = "banned"} : (tensor<4xbf16>, tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Clean: FP32, and a policy that does not forbid it.
func.func @clean(%p: tensor<4xf32>, %t: tensor<4xf32>, %h: tensor<4xf16>) {
  %0 = mp.binary_cross_entropy %p, %t {mp.category = "banned"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %1 = mp.binary_cross_entropy %h, %h {mp.category = "fp32"} : (tensor<4xf16>, tensor<4xf16>) -> tensor<f16>
  return
}

// -----

// Inside of a region PyTorch looks at no dtype.
func.func @refused(%p: tensor<4xf32>, %t: tensor<4xf32>) -> tensor<f32> {
  // expected-error @below {{inside of an autocast region: autocast refuses to run it, in f32, too; move it out of the region, or take logits [MP102 certain]}}
  %l = mp.binary_cross_entropy %p, %t {mp.category = "banned", mp.refused} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// PyTorch has no decompositions in 16 bits. An op of another name is not judged.
func.func @decomposition(%h: tensor<4x4xf16>, %b: tensor<4x4xbf16>, %w: tensor<4x4xf32>) {
  // expected-error @below {{PyTorch has no kernel of aten::linalg_cholesky_ex in f16: the call ends with an error; cast its operands to f32 [MP102 certain]}}
  %0 = mp.opaque "aten::linalg_cholesky_ex"(%h) : (tensor<4x4xf16>) -> tensor<4x4xf16>
  // expected-error @below {{PyTorch has no kernel of aten::_linalg_svd in bf16}}
  %1 = mp.opaque "aten::_linalg_svd"(%b) : (tensor<4x4xbf16>) -> tensor<4xbf16>
  %2 = mp.opaque "aten::linalg_cholesky_ex"(%w) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = mp.opaque "com.acme::inverse"(%h) : (tensor<4x4xf16>) -> tensor<4x4xf16>
  return
}
