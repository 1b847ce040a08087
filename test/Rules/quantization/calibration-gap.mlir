// The ranges are what --calibration leaves on tensors.
// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-apply-precision=mode=as-is --rule-calibration-gap --mp-emit-findings

func.func @unseen(%x: tensor<64xf32> {mp.assume = {lo = -10.0, hi = 10.0, mean = 0.0, std = 3.0}, mp.calibrated = array<f64: -1.0, 1.0>}) -> tensor<64xsi8> {
  %scale = mp.constant dense<0.0079> : tensor<f32>
  // expected-warning @below {{the calibration saw [-1, 1], and}}
  %q = mp.quantize %x, %scale : (tensor<64xf32>, tensor<f32>) -> tensor<64xsi8>
  return %q : tensor<64xsi8>
}

// -----

// The file clips what was seen; unsigned codes.
func.func @other_table(%x: tensor<64xf32>) -> tensor<64xui16> {
  // expected-note @below {{is the scale}}
  %scale = mp.constant dense<1.0e-5> : tensor<f32>
  %zero = mp.constant dense<32768> : tensor<ui16>
  %y = mp.neg %x {mp.calibrated = [array<f64: -12.0, 9.0>]} : (tensor<64xf32>) -> tensor<64xf32>
  // expected-warning @below {{the calibration saw [-12, 9], and the codes of the file end at [-0.32768, 0.32767]: its scale is not that of this calibration [MP621 certain]}}
  %q = mp.quantize %y, %scale zero_point %zero : (tensor<64xf32>, tensor<f32>, tensor<ui16>) -> tensor<64xui16>
  return %q : tensor<64xui16>
}

// -----

// Codes that begin at 0 stand for the rectifier; what was seen fits.
func.func @rectified(%x: tensor<64xf32> {mp.assume = {lo = -10.0, hi = 10.0, mean = 0.0, std = 3.0}}) -> tensor<64xui8> {
  %scale = mp.constant dense<0.04> : tensor<f32>
  %zero = mp.constant dense<0> : tensor<ui8>
  %y = mp.neg %x {mp.calibrated = [array<f64: -8.0, 9.5>]} : (tensor<64xf32>) -> tensor<64xf32>
  %q = mp.quantize %y, %scale zero_point %zero : (tensor<64xf32>, tensor<f32>, tensor<ui8>) -> tensor<64xui8>
  return %q : tensor<64xui8>
}

// -----

// No calibration.
func.func @bare(%x: tensor<64xf32>) -> tensor<64xsi8> {
  %scale = mp.constant dense<0.0079> : tensor<f32>
  %q = mp.quantize %x, %scale : (tensor<64xf32>, tensor<f32>) -> tensor<64xsi8>
  return %q : tensor<64xsi8>
}
