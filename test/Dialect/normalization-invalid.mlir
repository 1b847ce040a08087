// RUN: mpopt-opt %s --mp-infer-types -split-input-file -verify-diagnostics

func.func @channels(%x: tensor<1x4x5xf32>, %p: tensor<5xf32>) {
  // expected-error @below {{is not one number per channel of 'tensor<1x4x5xf32>'}}
  %0 = mp.batch_norm %x mean %p variance %p : (tensor<1x4x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @no_mean(%x: tensor<1x4x5xf32>, %p: tensor<4xf32>) {
  // expected-error @below {{needs a mean and a variance}}
  %0 = mp.batch_norm %x scale %p : (tensor<1x4x5xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @epsilon(%x: tensor<1x4x5xf32>) {
  // expected-error @below {{epsilon must be a finite number of at least 0}}
  %0 = mp.layer_norm %x {epsilon = -1.0} : (tensor<1x4x5xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @axis(%x: tensor<1x4x5xf32>) {
  // expected-error @below {{axis 3 is out of range for 'tensor<1x4x5xf32>'}}
  %0 = mp.layer_norm %x {axis = 3 : i64} : (tensor<1x4x5xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @scale(%x: tensor<1x4x5xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{parameter 'tensor<4xf32>' does not broadcast to 'tensor<1x4x5xf32>'}}
  %0 = mp.rms_norm %x scale %s : (tensor<1x4x5xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @stash(%x: tensor<1x4x5xf32>) {
  // expected-error @below {{stash_type must be a float type}}
  %0 = mp.layer_norm %x {stash_type = i32} : (tensor<1x4x5xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @groups(%x: tensor<1x4x5xf32>) {
  // expected-error @below {{num_groups 3 does not divide 4 channels}}
  %0 = mp.group_norm %x {num_groups = 3 : i64} : (tensor<1x4x5xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @size(%x: tensor<1x4x5xf32>) {
  // expected-error @below {{size is 0}}
  %0 = mp.lrn %x {size = 0 : i64} : (tensor<1x4x5xf32>) -> tensor<*x!mp.unknown>
  return
}
