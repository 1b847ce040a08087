// RUN: mpopt-opt %s --mp-infer-types -split-input-file -verify-diagnostics

func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis 2 is out of range for rank 2}}
  %0 = mp.softmax %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @approximation(%x: tensor<2xf32>) {
  // expected-error @below {{unknown approximation 'sigmoid'}}
  %0 = mp.gelu %x {approximate = "sigmoid"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @zero_alpha(%x: tensor<2xf32>) {
  // expected-error @below {{divides by alpha, which is 0}}
  %0 = mp.celu %x {alpha = 0.0} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @zero_beta(%x: tensor<2xf32>) {
  // expected-error @below {{divides by beta, which is 0}}
  %0 = mp.softplus %x {beta = 0.0} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @ends(%x: tensor<2xf32>) {
  // expected-error @below {{low end above its high end}}
  %0 = mp.hard_tanh %x {low = 2.0, high = 1.0} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slope(%x: tensor<2x3xf32>, %slope: tensor<5x2x3xf32>) {
  // expected-error @below {{slope of type 'tensor<5x2x3xf32>' does not broadcast to 'tensor<2x3xf32>'}}
  %0 = mp.prelu %x, %slope : (tensor<2x3xf32>, tensor<5x2x3xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @gate(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) {
  // expected-error @below {{gate and value have different shapes}}
  %0 = mp.swiglu %x, %y : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<*x!mp.unknown>
  return
}
