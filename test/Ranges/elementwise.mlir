// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// Ends past the edge of f16 stay; what is stored may be Inf.
// expected-remark @below {{argument 0: [-10, 10]}}
func.func @overflow(%x: tensor<4xf16>) -> tensor<4xf16> {
  // expected-remark @below {{[4.5}}
  %0 = mp.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  // expected-remark @below {{e+08] +inf}}
  %1 = mp.mul %0, %0 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  // 1 / Inf is 0, a finite consequence; the smallest product is subnormal.
  // expected-remark @below {{[0, 1.67772e+07] +inf}}
  %2 = mp.reciprocal %1 : (tensor<4xf16>) -> tensor<4xf16>
  return %2 : tensor<4xf16>
}

// -----

// A value and itself.
func.func @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @below {{[0, 100]}}
  %0 = mp.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{[0, 0]}}
  %1 = mp.sub %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{[1, 1] nan}}
  %2 = mp.div %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{[-20, 20]}}
  %3 = mp.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// Groups of a constant are told apart, and broadcast.
func.func @channels(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-remark @below {{{3} [1, 1] [-2, -2] [0, 0]}}
  %c = mp.constant dense<[1.0, -2.0, 0.0]> : tensor<3xf32>
  // expected-remark @below {{{1x3} [-10, 10] [-20, 20] [0, 0]}}
  %0 = mp.mul %x, %c : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // expected-remark @below {{{1x3} [-9, 11] [-22, 18] [0, 0]}}
  %1 = mp.add %0, %c : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // x / 0
  // expected-remark @below {{nan +inf -inf}}
  %2 = mp.div %x, %c : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// -----

// An epsilon that f16 cannot hold does not protect the division.
func.func @epsilon(%x: tensor<4xf16>) -> tensor<4xf16> {
  // expected-remark @below {{[1e-08, 1e-08]}}
  %eps = mp.constant dense<1.0e-8> : tensor<f32>
  // expected-remark @below {{[1e-08, 1e-08]}}
  %low = mp.cast %eps : (tensor<f32>) -> tensor<f16>
  // expected-remark @below {{[0, 10]}}
  %0 = mp.relu %x : (tensor<4xf16>) -> tensor<4xf16>
  // expected-remark @below {{[0, 10]}}
  %1 = mp.add %0, %low : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // expected-remark @below {{nan}}
  %2 = mp.div %0, %1 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %2 : tensor<4xf16>
}

// -----

// The power 0.5 of -Inf is Inf by the standard, and NaN where a kernel takes the root.
func.func @root_of_infinity() {
  %x = mp.constant dense<0xFF800000> : tensor<2xf32>
  %half = mp.constant dense<0.5> : tensor<f32>
  // expected-remark @below {{nan +inf}}
  %0 = mp.pow %x, %half : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
