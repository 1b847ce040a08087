// The mark is what --against leaves where no quantisation explains the numbers.
// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-apply-precision=mode=as-is --rule-foreign-constant --mp-emit-findings

func.func @bias() -> tensor<4xf32> {
  %scale = mp.constant dense<0.04> : tensor<f32>
  %codes = mp.constant dense<[1, -2, 3, 9]> : tensor<4xi32>
  // expected-error @below {{the numbers are 4 times too small for 'bias' in the float model [MP623 certain]}}
  %b = mp.dequantize %codes, %scale {mp.foreign_constant = {factor = 4.0, name = "bias", rest = 0.01}} : (tensor<4xi32>, tensor<f32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

func.func @weight() -> tensor<4xf32> {
  %scale = mp.constant dense<0.04> : tensor<f32>
  %codes = mp.constant dense<[1, -2, 3, 9]> : tensor<4xi8>
  // expected-error @below {{the codes are not those of 'w' in the float model, whatever their scale: 98 % of its square is lost [MP623 certain]}}
  %w = mp.dequantize %codes, %scale {mp.foreign_constant = {factor = 0.1, name = "w", rest = 0.98}} : (tensor<4xi8>, tensor<f32>) -> tensor<4xf32>
  return %w : tensor<4xf32>
}

// -----

// A difference that quantisation explains has no mark.
func.func @rounded() -> tensor<4xf32> {
  %scale = mp.constant dense<0.04> : tensor<f32>
  %codes = mp.constant dense<[1, -2, 3, 9]> : tensor<4xi4>
  %w = mp.dequantize %codes, %scale {mp.weight_error = 1.0e-4} : (tensor<4xi4>, tensor<f32>) -> tensor<4xf32>
  return %w : tensor<4xf32>
}
