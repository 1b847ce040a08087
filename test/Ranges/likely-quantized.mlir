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
