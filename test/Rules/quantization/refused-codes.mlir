// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-apply-precision=mode=as-is --rule-refused-codes --mp-emit-findings

module attributes {mp.target = "trt10"} {
func.func @unsigned(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = mp.constant dense<0.5> : tensor<f32>
  %z = mp.constant dense<100> : tensor<ui8>
  // expected-error @below {{trt10 takes no codes of type u8 (1, first}}
  %q = mp.quantize %x, %s zero_point %z : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
  %y = mp.dequantize %q, %s zero_point %z : (tensor<4xui8>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
  %codes = mp.constant dense<7> : tensor<4xsi32>
  %b = mp.dequantize %codes, %s : (tensor<4xsi32>, tensor<f32>) -> tensor<4xf32>
  return %y, %b : tensor<4xf32>, tensor<4xf32>
}
}

// -----

module attributes {mp.target = "trt10"} {
func.func @shifted(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = mp.constant dense<0.5> : tensor<f32>
  %z = mp.constant dense<-3> : tensor<si8>
  // expected-error @below {{trt10 takes no zero points other than 0 (1, first}}
  %q = mp.quantize %x, %s zero_point %z : (tensor<4xf32>, tensor<f32>, tensor<si8>) -> tensor<4xsi8>
  %y = mp.dequantize %q, %s zero_point %z : (tensor<4xsi8>, tensor<f32>, tensor<si8>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
}

// -----

module attributes {mp.target = "trt10"} {
func.func @symmetric(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = mp.constant dense<0.5> : tensor<f32>
  %z = mp.constant dense<0> : tensor<si8>
  %q = mp.quantize %x, %s zero_point %z : (tensor<4xf32>, tensor<f32>, tensor<si8>) -> tensor<4xsi8>
  %y = mp.dequantize %q, %s zero_point %z : (tensor<4xsi8>, tensor<f32>, tensor<si8>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
}

// -----

// Other targets take both.
module attributes {mp.target = "ort-cpu-vnni"} {
func.func @elsewhere(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = mp.constant dense<0.5> : tensor<f32>
  %z = mp.constant dense<100> : tensor<ui8>
  %q = mp.quantize %x, %s zero_point %z : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
  %y = mp.dequantize %q, %s zero_point %z : (tensor<4xui8>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
}
