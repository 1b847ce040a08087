// RUN: mpopt-opt %s --mp-infer-types -split-input-file -verify-diagnostics

func.func @gather(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error @below {{axis 2 is out of range for rank 2}}
  %0 = mp.gather %x, %i {axis = 2 : i64} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @embedding(%x: tensor<2x3x4xf32>, %i: tensor<4xi64>) {
  // expected-error @below {{table has rank 3, not 2}}
  %0 = mp.embedding %x, %i : (tensor<2x3x4xf32>, tensor<4xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @gather_elements(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error @below {{input has rank 2, indices 1}}
  %0 = mp.gather_elements %x, %i : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @gather_nd(%x: tensor<2x3xf32>, %i: tensor<4x3xi64>) {
  // expected-error @below {{has index tuples of length 3 for rank 2 after 0 batch dims}}
  %0 = mp.gather_nd %x, %i : (tensor<2x3xf32>, tensor<4x3xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @gather_nd_batch(%x: tensor<2x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{has 1 batch dims of an operand of rank 1}}
  %0 = mp.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @scatter_elements(%x: tensor<2x3xf32>, %i: tensor<2x1xi64>, %u: tensor<2x1xf32>) {
  // expected-error @below {{reduction is 'sum', not one of 'none', 'add', 'mul', 'max', 'min'}}
  %0 = mp.scatter_elements %x, %i, %u {reduction = "sum"} : (tensor<2x3xf32>, tensor<2x1xi64>, tensor<2x1xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @scatter_elements_rank(%x: tensor<2x3xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) {
  // expected-error @below {{indices has rank 1, not 2}}
  %0 = mp.scatter_elements %x, %i, %u : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @scatter_nd(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>, %u: tensor<4xf32>) {
  // expected-error @below {{updates has rank 1, not 2}}
  %0 = mp.scatter_nd %x, %i, %u : (tensor<2x3xf32>, tensor<4x1xi64>, tensor<4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @masked_fill(%x: tensor<2x3xf32>, %m: tensor<4xi1>, %v: tensor<f32>) {
  // expected-error @below {{operands do not broadcast}}
  %0 = mp.masked_fill %x, %m, %v : (tensor<2x3xf32>, tensor<4xi1>, tensor<f32>) -> tensor<*xf32>
  return
}

// -----

func.func @compress(%x: tensor<2x3xf32>, %c: tensor<2x3xi1>) {
  // expected-error @below {{condition has rank 2, not 1}}
  %0 = mp.compress %x, %c : (tensor<2x3xf32>, tensor<2x3xi1>) -> tensor<*xf32>
  return
}

// -----

func.func @unique(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis -3 is out of range for rank 2}}
  %0:4 = mp.unique %x {axis = -3 : i64} : (tensor<2x3xf32>) -> (tensor<*xf32>, tensor<*xi64>, tensor<*xi64>, tensor<*xi64>)
  return
}

// -----

func.func @non_max_suppression(%b: tensor<1x9x5xf32>, %s: tensor<1x2x9xf32>) {
  // expected-error @below {{boxes have 5 coordinates, not 4}}
  %0 = mp.non_max_suppression %b, %s : (tensor<1x9x5xf32>, tensor<1x2x9xf32>) -> tensor<*xi64>
  return
}
