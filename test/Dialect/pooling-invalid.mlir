// RUN: mpopt-opt %s --mp-infer-types -split-input-file -verify-diagnostics

func.func @rank(%x: tensor<1x2x3x4x5xf32>) {
  // expected-error @below {{has 2 spatial dims, which does not fit 'tensor<1x2x3x4x5xf32>'}}
  %0 = mp.max_pool %x {kernel_shape = array<i64: 2, 2>} : (tensor<1x2x3x4x5xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @kernel(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{kernel_shape has entry 0, the least is 1}}
  %0 = mp.average_pool %x {kernel_shape = array<i64: 2, 0>} : (tensor<1x2x3x4xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @window(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{a window of 6 does not fit dim 3}}
  %0 = mp.average_pool %x {kernel_shape = array<i64: 2, 6>} : (tensor<1x2x3x4xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @pads(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{pads has 2 entries where 2 spatial dims need 4}}
  %0 = mp.lp_pool %x {kernel_shape = array<i64: 2, 2>, pads = array<i64: 1, 1>} : (tensor<1x2x3x4xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @power(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{p must be positive}}
  %0 = mp.lp_pool %x {kernel_shape = array<i64: 2, 2>, p = -1.0} : (tensor<1x2x3x4xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @adaptive(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{output_size has entry -2}}
  %0 = mp.adaptive_avg_pool %x {output_size = array<i64: 2, -2>} : (tensor<1x2x3x4xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @rois(%x: tensor<2x4x16x16xf32>, %r: tensor<3x5xf32>, %b: tensor<3xi64>) {
  // expected-error @below {{rois must be [R, 4]}}
  %0 = mp.roi_align %x, %r, %b {output_height = 7 : i64, output_width = 7 : i64} : (tensor<2x4x16x16xf32>, tensor<3x5xf32>, tensor<3xi64>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @global(%x: tensor<4xf32>) {
  // expected-error @below {{needs a batch and a channel dim}}
  %0 = mp.global_max_pool %x : (tensor<4xf32>) -> tensor<*x!mp.unknown>
  return
}
