// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-bad-scale --mp-emit-findings

func.func @zero(%x: tensor<4xf32>) -> tensor<4xsi8> {
  %scale = mp.constant dense<0.0> : tensor<f32>
  // expected-error @below {{the scale is 0: nothing is left of what it quantises [MP601 certain]}}
  %q = mp.quantize %x, %scale : (tensor<4xf32>, tensor<f32>) -> tensor<4xsi8>
  return %q : tensor<4xsi8>
}

// -----

func.func @channels(%x: tensor<2x3xsi8>) -> tensor<2x3xf32> {
  %scale = mp.constant dense<[0.5, -0.25, 0x7FC00000]> : tensor<3xf32>
  // expected-error @below {{the scale at index 1 is -0.25: codes and numbers have opposite signs, and 1 more of 3 are no positive numbers [MP601 certain]}}
  %y = mp.dequantize %x, %scale : (tensor<2x3xsi8>, tensor<3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// FP16 stores 1e-9 as 0.
func.func @stored(%x: tensor<4xsi8>) -> tensor<4xf16> {
  %scale = mp.constant dense<1.0e-9> : tensor<f16>
  // expected-error @below {{the scale is 0}}
  %y = mp.dequantize %x, %scale : (tensor<4xsi8>, tensor<f16>) -> tensor<4xf16>
  return %y : tensor<4xf16>
}

// -----

func.func @silent(%x: tensor<4xf32>) -> tensor<4xf32> {
  %scale = mp.constant dense<0.1> : tensor<f32>
  %q = mp.quantize %x, %scale : (tensor<4xf32>, tensor<f32>) -> tensor<4xsi8>
  %y = mp.dequantize %q, %scale : (tensor<4xsi8>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
