// RUN: mpopt-opt %s --mp-infer-types -split-input-file -verify-diagnostics

func.func @dft_parts(%x: tensor<2x16x3xf32>) {
  // expected-error @below {{last dim is 3, not 1 or 2}}
  %0 = mp.dft %x : (tensor<2x16x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @dft_axis(%x: tensor<2x16x1xf32>) {
  // expected-error @below {{axis is that of real and imaginary parts}}
  %0 = mp.dft %x {axis = -1 : i64} : (tensor<2x16x1xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @dft_length(%x: tensor<2x16x1xf32>) {
  %n = mp.constant dense<0> : tensor<i64>
  // expected-error @below {{has length 0}}
  %0 = mp.dft %x length %n : (tensor<2x16x1xf32>, tensor<i64>) -> tensor<*xf32>
  return
}

// -----

func.func @stft_step(%x: tensor<2x16x1xf32>, %w: tensor<8xf32>) {
  %n = mp.constant dense<0> : tensor<i64>
  // expected-error @below {{has frame_step 0}}
  %0 = mp.stft %x, %n window %w : (tensor<2x16x1xf32>, tensor<i64>, tensor<8xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @stft_frame(%x: tensor<2x16x1xf32>, %w: tensor<32xf32>) {
  %n = mp.constant dense<4> : tensor<i64>
  // expected-error @below {{has frames of 32 samples of a signal of 16}}
  %0 = mp.stft %x, %n window %w : (tensor<2x16x1xf32>, tensor<i64>, tensor<32xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @window(%n: tensor<i64>) {
  // expected-error @below {{kind is 'kaiser', not one of 'hann', 'hamming', 'blackman'}}
  %0 = mp.window %n {kind = "kaiser"} : (tensor<i64>) -> tensor<*xf32>
  return
}

// -----

func.func @dft_onesided(%x: tensor<2x16x2xf32>) {
  // expected-error @below {{has a one-sided spectrum of complex input}}
  %0 = mp.dft %x {onesided} : (tensor<2x16x2xf32>) -> tensor<*xf32>
  return
}
