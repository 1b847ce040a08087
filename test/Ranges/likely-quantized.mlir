// RUN: mpopt-opt %s --mp-print-ranges="likely" -split-input-file -verify-diagnostics=only-expected

// A rectifier in front of a quantisation is no more than its clamp: half of the
// codes are the zero point's. A normal number's positive part has the mean 0.4;
// quadrature takes 0.38.
func.func @rectified(%x: tensor<4096xf32> {mp.assume = {lo = -5.0 : f64, hi = 5.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
  %scale = mp.constant dense<0.05> : tensor<f32>
  %zero = mp.constant dense<-128> : tensor<si8>
  %q = mp.quantize %x, %scale zero_point %zero : (tensor<4096xf32>, tensor<f32>, tensor<si8>) -> tensor<4096xsi8>
  // expected-remark @below {{mean 0.377}}
  %0 = mp.dequantize %q, %scale zero_point %zero : (tensor<4096xsi8>, tensor<f32>, tensor<si8>) -> tensor<4096xf32>
  // expected-remark @below {{mean 0.377}}
  %1 = mp.fake_quantize %x, %scale zero_point %zero {quant_min = -128 : i64, quant_max = 127 : i64} : (tensor<4096xf32>, tensor<f32>, tensor<si8>) -> tensor<4096xf32>
  return
}

// -----

// x sigmoid(x) is at least -0.28, be there a pair behind each of the ops, and
// of numbers past the end of the first pair's codes that end's.
func.func @gated(%x: tensor<4096xf32> {mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 2.0 : f64}}) {
  %scale = mp.constant dense<0.03> : tensor<f32>
  %small = mp.constant dense<0.004> : tensor<f32>
  %zero = mp.constant dense<0> : tensor<si8>
  %none = mp.constant dense<-128> : tensor<si8>
  %q = mp.quantize %x, %scale zero_point %zero : (tensor<4096xf32>, tensor<f32>, tensor<si8>) -> tensor<4096xsi8>
  %y = mp.dequantize %q, %scale zero_point %zero : (tensor<4096xsi8>, tensor<f32>, tensor<si8>) -> tensor<4096xf32>
  %s = mp.sigmoid %y : (tensor<4096xf32>) -> tensor<4096xf32>
  %qs = mp.quantize %s, %small zero_point %none : (tensor<4096xf32>, tensor<f32>, tensor<si8>) -> tensor<4096xsi8>
  %g = mp.dequantize %qs, %small zero_point %none : (tensor<4096xsi8>, tensor<f32>, tensor<si8>) -> tensor<4096xf32>
  // expected-remark @below {{likely (propagated) [-0.2}}
  %0 = mp.mul %y, %g : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  return
}
