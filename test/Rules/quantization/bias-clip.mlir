// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-bias-clip --mp-emit-findings

func.func @bias(%x: tensor<1x2xsi8>) -> tensor<1x2xf32> {
  %sx = mp.constant dense<0.5> : tensor<f32>
  %sw = mp.constant dense<0.25> : tensor<f32>
  %a = mp.dequantize %x, %sx : (tensor<1x2xsi8>, tensor<f32>) -> tensor<1x2xf32>
  %codes = mp.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xsi8>
  %w = mp.dequantize %codes, %sw : (tensor<2x2xsi8>, tensor<f32>) -> tensor<2x2xf32>
  %bias = mp.constant dense<[2147483647, 5]> : tensor<2xsi32>
  %sb = mp.constant dense<1.0> : tensor<f32>
  %zero = mp.constant dense<7> : tensor<si32>
  // expected-error @below {{1 of 2 values of the bias are clipped at the ends of 32 bits [MP605 certain]}}
  // expected-error @below {{the bias has a zero point, which an integer kernel does not subtract}}
  // expected-error @below {{the bias has the scale 1, and the sum to which an integer kernel adds it 0.125, the product of the scales of input and weight}}
  %b = mp.dequantize %bias, %sb zero_point %zero : (tensor<2xsi32>, tensor<f32>, tensor<si32>) -> tensor<2xf32>
  // expected-note @below {{adds it}}
  %y = mp.gemm %a, %w bias %b : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// -----

func.func @silent(%x: tensor<1x2xsi8>) -> tensor<1x2xf32> {
  %sx = mp.constant dense<0.5> : tensor<f32>
  %sw = mp.constant dense<0.25> : tensor<f32>
  %a = mp.dequantize %x, %sx : (tensor<1x2xsi8>, tensor<f32>) -> tensor<1x2xf32>
  %codes = mp.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xsi8>
  %w = mp.dequantize %codes, %sw : (tensor<2x2xsi8>, tensor<f32>) -> tensor<2x2xf32>
  %bias = mp.constant dense<[2147483646, -5]> : tensor<2xsi32>
  %sb = mp.constant dense<0.125> : tensor<f32>
  %b = mp.dequantize %bias, %sb : (tensor<2xsi32>, tensor<f32>) -> tensor<2xf32>
  %y = mp.gemm %a, %w bias %b : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}
