// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-infer-types

func.func @reduction(%x: tensor<4xf32>) {
  // expected-error @+1 {{none, mean, sum or batchmean}}
  %0 = mp.mse_loss %x, %x {reduction = "max"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @target(%x: tensor<8x10xf32>, %t: tensor<7xi64>) {
  // expected-error @+1 {{target 'tensor<7xi64>' does not fit 'tensor<8x10xf32>'}}
  %0 = mp.nll_loss %x, %t : (tensor<8x10xf32>, tensor<7xi64>) -> tensor<f32>
  return
}

// -----

func.func @weights(%x: tensor<8x10xf32>, %t: tensor<8xi64>, %w: tensor<9xf32>) {
  // expected-error @+1 {{has 9 weights for 10 classes}}
  %0 = mp.cross_entropy %x, %t weight %w : (tensor<8x10xf32>, tensor<8xi64>, tensor<9xf32>) -> tensor<f32>
  return
}

// -----

func.func @smoothing(%x: tensor<8x10xf32>, %t: tensor<8xi64>) {
  // expected-error @+1 {{label_smoothing must lie in [0, 1]}}
  %0 = mp.cross_entropy %x, %t {label_smoothing = 2.0} : (tensor<8x10xf32>, tensor<8xi64>) -> tensor<f32>
  return
}

// -----

func.func @shapes(%x: tensor<8xf32>, %t: tensor<7xf32>) {
  // expected-error @+1 {{operands do not broadcast}}
  %0 = mp.l1_loss %x, %t : (tensor<8xf32>, tensor<7xf32>) -> tensor<f32>
  return
}

// -----

func.func @rows(%x: tensor<8x5xf32>, %y: tensor<8x4xf32>) {
  // expected-error @+1 {{rows of 5 and 4 elements}}
  %0 = mp.cdist %x, %y : (tensor<8x5xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @axis(%x: tensor<5xf32>) {
  // expected-error @+1 {{axis 1 is out of range of rank 1}}
  %0 = mp.cosine_similarity %x, %x : (tensor<5xf32>, tensor<5xf32>) -> tensor<f32>
  return
}

// -----

func.func @pairs(%x: tensor<5xf32>) {
  // expected-error @+1 {{input must have rank 2}}
  %0 = mp.pdist %x : (tensor<5xf32>) -> tensor<10xf32>
  return
}
