// RUN: mpopt-opt %s --mp-infer-types -split-input-file -verify-diagnostics

func.func @range(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis -3 is out of range for rank 2}}
  %0 = mp.reduce_sum %x {axes = array<i64: -3>} : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @twice(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis -1 appears twice}}
  %0 = mp.reduce_l2 %x {axes = array<i64: 1, -1>} : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @both(%x: tensor<2x3xf32>, %a: tensor<1xi64>) {
  // expected-error @below {{has axes both as attribute and as operand}}
  %0 = mp.reduce_sum %x axes %a {axes = array<i64: 1>} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @arg(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis 2 is out of range for rank 2}}
  %0 = mp.arg_max %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<*xi64>
  return
}

// -----

func.func @no_k(%x: tensor<2x3xf32>) {
  // expected-error @below {{needs k, as attribute or as operand}}
  %0:2 = mp.top_k %x : (tensor<2x3xf32>) -> (tensor<*xf32>, tensor<*xi64>)
  return
}

// -----

func.func @negative_k(%x: tensor<2x3xf32>) {
  // expected-error @below {{k must not be negative}}
  %0:2 = mp.top_k %x {k = -1 : i64} : (tensor<2x3xf32>) -> (tensor<*xf32>, tensor<*xi64>)
  return
}

// -----

func.func @large_k(%x: tensor<2x3xf32>) {
  // expected-error @below {{takes 4 elements of an axis with 3}}
  %0:2 = mp.top_k %x {k = 4 : i64} : (tensor<2x3xf32>) -> (tensor<*xf32>, tensor<*xi64>)
  return
}

// -----

func.func @no_axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{needs an axis, as attribute or as operand}}
  %0 = mp.cum_sum %x : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}
