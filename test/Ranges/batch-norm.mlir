// RUN: mpopt-opt %s --mp-print-ranges="likely" -split-input-file -verify-diagnostics=only-expected

// An affine map of each channel, and the running statistics beside it: the
// third channel's input is far narrower than in training, so they decide.
func.func @inference(%x: tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32> {
  %gain = mp.constant dense<[1.0, 2.0, 3.0, -4.0]> : tensor<4xf32>
  %bias = mp.constant dense<[0.0, 0.0, 0.0, 1.0]> : tensor<4xf32>
  %mean = mp.constant dense<[0.0, 0.0, 0.0, 1.0]> : tensor<4xf32>
  %var = mp.constant dense<[1.0, 1.0, 100.0, 0.0]> : tensor<4xf32>
  // expected-remark @below {{{1x4x1x1} [-9.99996, 9.99996] [-19.9999, 19.9999] [-3, 3] [-11383.2, 13915] likely (gain) {1x4x1x1} [-3.53221, 3.53221] mean 0 std 0.999995 [-7.06442, 7.06442] mean 0 std 1.99999 [-3, 3] mean 0 std 3 [-3202.05, 5733.87]}}
  %0 = mp.batch_norm %x scale %gain bias %bias mean %mean variance %var : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  return %0 : tensor<2x4x8x8xf32>
}

// -----

func.func @negative(%x: tensor<1x1x2xf16>) -> tensor<1x1x2xf16> {
  %mean = mp.constant dense<0.0> : tensor<1xf32>
  %var = mp.constant dense<-1.0> : tensor<1xf32>
  // A negative variance has no root.
  // expected-remark @below {{none nan}}
  %0 = mp.batch_norm %x mean %mean variance %var : (tensor<1x1x2xf16>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x2xf16>
  return %0 : tensor<1x1x2xf16>
}

// -----

// Over the batch: rows of 128, and running statistics between old and new.
func.func @training(%x: tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32> {
  %mean = mp.constant dense<[0.0, 0.0, 20.0, 1.0]> : tensor<4xf32>
  %var = mp.constant dense<[1.0, 1.0, 300.0, 0.0]> : tensor<4xf32>
  // expected-remark @below {{#0: [-11.2696, 11.2696]}}
  // expected-remark @below {{#1: {4} [-10.0001, 10.0001] [-10.0001, 10.0001] [-10.0001, 20] [-10.0001, 10.0001]}}
  // expected-remark @below {{#2: {4} [0, 200.002] [0, 200.002] [0, 300] [0, 200.002]}}
  %0:3 = mp.batch_norm %x mean %mean variance %var {training = true} : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#0 : tensor<2x4x8x8xf32>
}

// -----

// A mean of 0 and a variance of 1 in all channels are what nobody trained: of
// values that are far smaller they say nothing.
func.func @untrained(%x: tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32> {
  %small = mp.constant dense<0.001> : tensor<f32>
  %gain = mp.constant dense<1.0> : tensor<4xf32>
  %zero = mp.constant dense<0.0> : tensor<4xf32>
  %t = mp.mul %x, %small : (tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  // expected-remark @below {{likely (gain) [-0.00353221, 0.00353221] mean 0 std 0.000999995}}
  %0 = mp.batch_norm %t scale %gain bias %zero mean %zero variance %gain : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  return %0 : tensor<2x4x8x8xf32>
}

// -----

// An epsilon that is larger than the variances decides.
func.func @epsilon(%x: tensor<2x2x8x8xf32>) -> tensor<2x2x8x8xf32> {
  %small = mp.constant dense<0.001> : tensor<f32>
  %gain = mp.constant dense<1.0> : tensor<2xf32>
  %mean = mp.constant dense<[0.0, 0.0001]> : tensor<2xf32>
  %var = mp.constant dense<[1.0e-6, 1.1e-6]> : tensor<2xf32>
  %t = mp.mul %x, %small : (tensor<2x2x8x8xf32>, tensor<f32>) -> tensor<2x2x8x8xf32>
  // expected-remark @below {{likely (propagated) {1x2x1x1} [-0.105258, 0.105258] mean 0 std 0.031607 [-0.11039, 0.11039] mean 0 std 0.033148}}
  %0 = mp.batch_norm %t scale %gain mean %mean variance %var {epsilon = 1.0e-3 : f64} : (tensor<2x2x8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x8x8xf32>
  return %0 : tensor<2x2x8x8xf32>
}

// -----

// As weights are standardised: without a bias the estimate is that of the rows.
func.func @standardized(%x: tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32> {
  %gain = mp.constant dense<2.0> : tensor<4xf32>
  // expected-remark @below {{likely (gain) [-7.06442, 7.06442] mean 0 std 1.99999}}
  %0 = mp.batch_norm %x scale %gain {training = true} : (tensor<2x4x8x8xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  return %0 : tensor<2x4x8x8xf32>
}

// -----

// A variance that is stored as Inf leaves the bias alone, whatever the input's
// distance from the mean.
func.func @infinite_variance(%x: tensor<1x1x2xf16>) -> tensor<1x1x2xf16> {
  %gain = mp.constant dense<1.0> : tensor<1xf32>
  %bias = mp.constant dense<0.65> : tensor<1xf32>
  %mean = mp.constant dense<300.0> : tensor<1xf32>
  %var = mp.constant dense<7.0e5> : tensor<1xf32>
  %narrow = mp.cast %var : (tensor<1xf32>) -> tensor<1xf16>
  // expected-remark @below {{[0.279478, 0.65] nan +inf -inf likely}}
  %0 = mp.batch_norm %x scale %gain bias %bias mean %mean variance %narrow : (tensor<1x1x2xf16>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf16>) -> tensor<1x1x2xf16>
  return %0 : tensor<1x1x2xf16>
}
