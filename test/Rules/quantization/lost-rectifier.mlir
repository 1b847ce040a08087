// The mark is what --against leaves where the float model has a rectifier.
// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-apply-precision=mode=as-is --rule-lost-rectifier --mp-emit-findings

func.func @signed(%x: tensor<64xf32>) -> tensor<64xsi8> {
  %scale = mp.constant dense<0.04> : tensor<f32>
  // expected-error @below {{the float model rectifies this by `relu_1`, which is missing here, and codes begin at -5.12: negative numbers stay [MP620 certain]}}
  %y = mp.neg %x {mp.lost_rectifier = "relu_1"} : (tensor<64xf32>) -> tensor<64xf32>
  %q = mp.quantize %y, %scale : (tensor<64xf32>, tensor<f32>) -> tensor<64xsi8>
  return %q : tensor<64xsi8>
}

// -----

// Codes that begin at 0 cut as a rectifier does.
func.func @unsigned(%x: tensor<64xf32>) -> tensor<64xui16> {
  %scale = mp.constant dense<0.0001> : tensor<f32>
  %zero = mp.constant dense<0> : tensor<ui16>
  %y = mp.neg %x {mp.lost_rectifier = "relu_1"} : (tensor<64xf32>) -> tensor<64xf32>
  %q = mp.quantize %y, %scale zero_point %zero : (tensor<64xf32>, tensor<f32>, tensor<ui16>) -> tensor<64xui16>
  return %q : tensor<64xui16>
}
