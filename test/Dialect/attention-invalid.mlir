// RUN: mpopt-opt %s --mp-infer-types -split-input-file -verify-diagnostics

func.func @features(%q: tensor<2x8x5x16xf16>, %k: tensor<2x8x7x12xf16>) {
  // expected-error @below {{query has 16 features a head and key 12}}
  %0 = mp.attention %q, %k, %k : (tensor<2x8x5x16xf16>, tensor<2x8x7x12xf16>, tensor<2x8x7x12xf16>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @groups(%q: tensor<2x8x5x16xf16>, %k: tensor<2x3x7x16xf16>) {
  // expected-error @below {{3 key heads do not divide 8 query heads}}
  %0 = mp.attention %q, %k, %k : (tensor<2x8x5x16xf16>, tensor<2x3x7x16xf16>, tensor<2x3x7x16xf16>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @lengths(%q: tensor<2x8x5x16xf16>, %k: tensor<2x8x7x16xf16>, %v: tensor<2x8x6x16xf16>) {
  // expected-error @below {{key has length 7 and value 6}}
  %0 = mp.attention %q, %k, %v : (tensor<2x8x5x16xf16>, tensor<2x8x7x16xf16>, tensor<2x8x6x16xf16>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @heads(%q: tensor<2x5x30xf16>) {
  // expected-error @below {{8 heads do not divide the last dim of 'tensor<2x5x30xf16>'}}
  %0 = mp.attention %q, %q, %q {num_heads = 8 : i64} : (tensor<2x5x30xf16>, tensor<2x5x30xf16>, tensor<2x5x30xf16>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @mask(%q: tensor<2x5x32xf16>, %m: tensor<5x5xi32>) {
  // expected-error @below {{mask must be boolean or float}}
  %0 = mp.attention %q, %q, %q mask %m {num_heads = 8 : i64} : (tensor<2x5x32xf16>, tensor<2x5x32xf16>, tensor<2x5x32xf16>, tensor<5x5xi32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @extras(%q: tensor<2x5x32xf16>) {
  // expected-error @below {{has 1 results besides the output}}
  %0:2 = mp.attention %q, %q, %q {num_heads = 8 : i64} : (tensor<2x5x32xf16>, tensor<2x5x32xf16>, tensor<2x5x32xf16>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// -----

func.func @tables(%x: tensor<2x8x5x16xf16>, %c: tensor<64x8xf16>) {
  // expected-error @below {{cos and sin need 4 columns}}
  %0 = mp.rotary_embedding %x, %c, %c {rotary_dim = 8 : i64} : (tensor<2x8x5x16xf16>, tensor<64x8xf16>, tensor<64x8xf16>) -> tensor<*x!mp.unknown>
  return
}
