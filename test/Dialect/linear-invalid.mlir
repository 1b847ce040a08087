// RUN: mpopt-opt %s --mp-infer-types -split-input-file -verify-diagnostics

func.func @sum_dim(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @below {{sums over 3 elements of the left operand but 4 of the right}}
  %0 = mp.matmul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @batch(%a: tensor<2x3x4xf32>, %b: tensor<3x4x5xf32>) {
  // expected-error @below {{batch dims do not broadcast}}
  %0 = mp.matmul %a, %b : (tensor<2x3x4xf32>, tensor<3x4x5xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @scalar(%a: tensor<f32>, %b: tensor<4x5xf32>) {
  // expected-error @below {{operands must have at least one dim}}
  %0 = mp.matmul %a, %b : (tensor<f32>, tensor<4x5xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @gemm_rank(%a: tensor<1x2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @below {{needs matrices}}
  %0 = mp.gemm %a, %b : (tensor<1x2x3xf32>, tensor<3x5xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @gemm_bias(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{does not broadcast to 'tensor<2x5xf32>'}}
  %0 = mp.gemm %a, %b bias %c : (tensor<2x3xf32>, tensor<3x5xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @channels(%x: tensor<1x3x5x5xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @below {{input has 3 channels where the filter has 4}}
  %0 = mp.conv %x, %w : (tensor<1x3x5x5xf32>, tensor<8x4x3x3xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @group(%x: tensor<1x4x5x5xf32>, %w: tensor<9x2x3x3xf32>) {
  // expected-error @below {{group 2 does not divide the filter's 9 channels}}
  %0 = mp.conv %x, %w {group = 2 : i64} : (tensor<1x4x5x5xf32>, tensor<9x2x3x3xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @window(%x: tensor<1x4x1x5xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @below {{a window of 3 does not fit dim 2}}
  %0 = mp.conv %x, %w : (tensor<1x4x1x5xf32>, tensor<8x4x3x3xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @strides(%x: tensor<1x4x5x5xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @below {{strides has 3 entries where 2 spatial dims need 2}}
  %0 = mp.conv %x, %w {strides = array<i64: 1, 1, 1>} : (tensor<1x4x5x5xf32>, tensor<8x4x3x3xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @zero_stride(%x: tensor<1x4x5x5xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @below {{strides has entry 0, the least is 1}}
  %0 = mp.conv %x, %w {strides = array<i64: 0, 1>} : (tensor<1x4x5x5xf32>, tensor<8x4x3x3xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @auto_pad(%x: tensor<1x4x5x5xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @below {{unknown auto_pad 'SAME'}}
  %0 = mp.conv %x, %w {auto_pad = "SAME"} : (tensor<1x4x5x5xf32>, tensor<8x4x3x3xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @bias(%x: tensor<1x4x5x5xf32>, %w: tensor<8x4x3x3xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{is not one number per output channel}}
  %0 = mp.conv %x, %w bias %b : (tensor<1x4x5x5xf32>, tensor<8x4x3x3xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @transpose_channels(%x: tensor<1x3x5x6xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @below {{input has 3 channels where the filter has 4}}
  %0 = mp.conv_transpose %x, %w : (tensor<1x3x5x6xf32>, tensor<4x3x3x3xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @offset(%x: tensor<1x4x5x6xf32>, %w: tensor<8x4x3x3xf32>, %o: tensor<1x9x3x4xf32>) {
  // expected-error @below {{does not fit filter}}
  %0 = mp.deform_conv %x, %w, %o : (tensor<1x4x5x6xf32>, tensor<8x4x3x3xf32>, tensor<1x9x3x4xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @malformed(%a: tensor<2x3xf32>) {
  // expected-error @below {{equation 'ij->ik' is malformed}}
  %0 = mp.einsum %a {equation = "ij->ik"} : (tensor<2x3xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @terms(%a: tensor<2x3xf32>) {
  // expected-error @below {{equation has 2 terms for 1 operands}}
  %0 = mp.einsum %a {equation = "ij,jk"} : (tensor<2x3xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @labels(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @below {{label 'j' is both 3 and 4}}
  %0 = mp.einsum %a, %b {equation = "ij,jk"} : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<*x!mp.unknown>
  return
}
