// RUN: mpopt-opt %s --mp-infer-types -split-input-file -verify-diagnostics

func.func @normal(%s: tensor<2xi64>) {
  // expected-error @below {{has a negative scale}}
  %0 = mp.random_normal %s {scale = -1.0 : f64} : (tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @uniform(%s: tensor<2xi64>) {
  // expected-error @below {{has low above high}}
  %0 = mp.random_uniform %s {low = 2.0 : f64} : (tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @integer(%s: tensor<2xi64>) {
  // expected-error @below {{has low not below high}}
  %0 = mp.random_int %s {low = 2 : i64, high = 2 : i64} : (tensor<2xi64>) -> tensor<*xi64>
  return
}

// -----

func.func @shape() {
  %s = mp.constant dense<[-5]> : tensor<1xi64>
  // expected-error @below {{shape has the negative dim -5}}
  %0 = mp.random_uniform %s : (tensor<1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @multinomial(%x: tensor<2x3xf32>) {
  // expected-error @below {{has sample_size 0}}
  %0 = mp.multinomial %x {sample_size = 0 : i64} : (tensor<2x3xf32>) -> tensor<*xi32>
  return
}

// -----

func.func @ratio(%x: tensor<2x3xf32>) {
  // expected-error @below {{has a ratio out of [0, 1]}}
  %0 = mp.dropout %x {ratio = 1.5 : f64} : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @training(%x: tensor<2x3xf32>, %t: tensor<i1>) {
  // expected-error @below {{has training as an attribute and an operand}}
  %0 = mp.dropout %x training %t {training} : (tensor<2x3xf32>, tensor<i1>) -> tensor<*xf32>
  return
}
