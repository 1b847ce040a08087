// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-infer-types

func.func @approximate(%x: tensor<8xf32>) {
  // expected-error @+1 {{approximate must be none or tanh, is erf}}
  %0 = mp.gelu_grad %x, %x {approximate = "erf"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @shapes(%x: tensor<8xf32>, %y: tensor<7xf32>) {
  // expected-error @+1 {{gradient 'tensor<8xf32>' does not fit 'tensor<7xf32>'}}
  %0 = mp.gelu_grad %x, %y : (tensor<8xf32>, tensor<7xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @axis(%x: tensor<8xf32>) {
  // expected-error @+1 {{axis 1 is out of range of 'tensor<8xf32>'}}
  %0 = mp.softmax_grad %x, %x {axis = 1 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @target(%x: tensor<2x10xf32>, %t: tensor<3xi64>) {
  // expected-error @+1 {{target 'tensor<3xi64>' does not fit 'tensor<2x10xf32>'}}
  %0 = mp.softmax_cross_entropy_grad %x, %t : (tensor<2x10xf32>, tensor<3xi64>) -> tensor<2x10xf32>
  return
}

// -----

func.func @kind(%g: tensor<3x8xf32>, %i: tensor<3xi64>, %d: tensor<2xi64>) {
  // expected-error @+1 {{kind must be gather, elements or nd, is rows}}
  %0 = mp.gather_grad %g, %d, %i {kind = "rows"} : (tensor<3x8xf32>, tensor<2xi64>, tensor<3xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @dims(%g: tensor<3x8xf32>, %i: tensor<3xi64>) {
  %shape = mp.constant dense<[-1, 8]> : tensor<2xi64>
  // expected-error @+1 {{shape has the dim -1}}
  %0 = mp.gather_grad %g, %shape, %i : (tensor<3x8xf32>, tensor<2xi64>, tensor<3xi64>) -> tensor<?x8xf32>
  return
}

// -----

func.func @gradients(%g: tensor<3xf32>) {
  // expected-error @+1 {{has 1 results for 2 tensors}}
  %0 = mp.gradient %g, %g {count = 2 : i64, of = "y"} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @weight(%w: tensor<8xf32>, %g: tensor<9xf32>) {
  // expected-error @+1 {{gradient 'tensor<9xf32>' does not fit 'tensor<8xf32>'}}
  %0 = mp.sgd %w, %g : (tensor<8xf32>, tensor<9xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @states(%w: tensor<8xf32>) {
  // expected-error @+1 {{has 1 states and 0 new ones}}
  %0 = mp.sgd %w, %w states(%w) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}
