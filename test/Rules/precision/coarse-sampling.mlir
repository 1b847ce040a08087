// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-coarse-sampling --mp-emit-findings

// expected-note @below {{input in [-1, 1]}}
func.func @grid_f16(%x: tensor<1x3x24x3840xf16>, %g: tensor<1x24x3840x2xf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.5 : f64, source = "option"}}) -> tensor<1x3x24x3840xf16> {
  // expected-warning @below {{are 0.000488281 apart in f16, which is 0.94 of a pixel [MP308 likely]}}
  %0 = mp.grid_sample %x, %g {align_corners} : (tensor<1x3x24x3840xf16>, tensor<1x24x3840x2xf16>) -> tensor<1x3x24x3840xf16>
  return %0 : tensor<1x3x24x3840xf16>
}

// -----

// expected-note @below {{input in [-1, 1]}}
func.func @grid_bf16(%x: tensor<1x3x256x256xbf16>, %g: tensor<1x256x256x2xbf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, source = "option"}}) -> tensor<1x3x256x256xbf16> {
  // expected-warning @below {{are 0.00390625 apart in bf16, which is 0.5 of a pixel}}
  %0 = mp.grid_sample %x, %g : (tensor<1x3x256x256xbf16>, tensor<1x256x256x2xbf16>) -> tensor<1x3x256x256xbf16>
  return %0 : tensor<1x3x256x256xbf16>
}

// -----

// Boxes of an image of 3200 pixels, on a feature map of a quarter of it.
// expected-note @below {{input in [0, 3200]}}
func.func @boxes(%x: tensor<1x8x800x800xf16>, %r: tensor<5x4xf16> {mp.assume = {lo = 0.0 : f64, hi = 3200.0 : f64, mean = 1600.0 : f64, std = 900.0 : f64, source = "option"}}, %b: tensor<5xi64>) -> tensor<5x8x7x7xf16> {
  // expected-warning @below {{are 2 apart in f16, which is 0.5 of a pixel}}
  %0 = mp.roi_align %x, %r, %b {output_height = 7 : i64, output_width = 7 : i64, spatial_scale = 0.25} : (tensor<1x8x800x800xf16>, tensor<5x4xf16>, tensor<5xi64>) -> tensor<5x8x7x7xf16>
  return %0 : tensor<5x8x7x7xf16>
}

// -----

// Small images, and coordinates in FP32.
func.func @clean(%x: tensor<1x3x64x64xf16>, %g: tensor<1x8x8x2xf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, source = "option"}}, %y: tensor<1x3x24x3840xf32>, %h: tensor<1x24x3840x2xf32>, %z: tensor<1x3x16x16xbf16>, %i: tensor<1x8x8x2xbf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, source = "option"}}) {
  %0 = mp.grid_sample %x, %g : (tensor<1x3x64x64xf16>, tensor<1x8x8x2xf16>) -> tensor<1x3x8x8xf16>
  %1 = mp.grid_sample %y, %h : (tensor<1x3x24x3840xf32>, tensor<1x24x3840x2xf32>) -> tensor<1x3x24x3840xf32>
  %2 = mp.grid_sample %z, %i : (tensor<1x3x16x16xbf16>, tensor<1x8x8x2xbf16>) -> tensor<1x3x8x8xbf16>
  return
}
