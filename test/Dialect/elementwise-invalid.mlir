// RUN: mpopt-opt %s --mp-infer-types -split-input-file -verify-diagnostics

func.func @broadcast(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{operands do not broadcast}}
  %0 = mp.add %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<*x!mp.unknown>
  return
}

// -----

func.func @declared(%a: tensor<2xf32>) {
  // expected-error @below {{result has type 'tensor<3xf32>' where its operands give 'tensor<2xf32>'}}
  %0 = mp.exp %a : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @integer_exponential(%a: tensor<2xi32>) {
  // expected-error @below {{operand #0 must be tensor of floating-point or complex}}
  %0 = mp.exp %a : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @float_condition(%a: tensor<2xf32>) {
  // expected-error @below {{operand #0 must be tensor of 1-bit signless integer}}
  %0 = mp.where %a, %a, %a : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @nothing_to_add() {
  // expected-error @below {{needs an operand}}
  %0 = mp.add_n : () -> tensor<f32>
  return
}

// -----

func.func @width(%a: tensor<2xf32>) {
  // expected-error @below {{between element types of different width: 'f32' and 'f16'}}
  %0 = mp.bit_cast %a : (tensor<2xf32>) -> tensor<2xf16>
  return
}
