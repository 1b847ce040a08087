// RUN: mpopt-opt %s --mp-print-ranges="likely" -split-input-file -verify-diagnostics=only-expected

// Bounds by element stay apart; an element is uniform unless more is declared.
// expected-remark @below {{argument 0: {1x3} [-1, 1] [2, 2] [3, 5] likely (declared) {1x3} [-1, 1] mean 0 std 0.57735 [2, 2] mean 2 std 0 [3, 5] mean 4 std 0.57735}}
func.func @rows(%x: tensor<2x3xf32> {mp.assume = {lo = -1.0 : f64, hi = 5.0 : f64, lo_elements = dense<[-1.0, 2.0, 3.0]> : tensor<3xf64>, hi_elements = dense<[1.0, 2.0, 5.0]> : tensor<3xf64>, source = "data"}}) {
  %w = mp.constant dense<[[1.0], [-1.0], [2.0]]> : tensor<3x1xf32>
  // Not [-11, 21], which the hull of the box gives.
  // expected-remark @below {{[3, 9]}}
  %0 = mp.matmul %x, %w : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
  return
}

// -----

// expected-remark @below {{argument 0: {2} [-inf, 1] [0, inf] +inf -inf likely (declared) {2} [-0.866025, 0.866025] mean 0 std 0.5 [0, 0.866025] mean 0 std 0.5}}
func.func @open(%x: tensor<2xf32> {mp.assume = {lo = 0xFFF0000000000000 : f64, hi = 0x7FF0000000000000 : f64, lo_elements = dense<[0xFFF0000000000000, 0.0]> : tensor<2xf64>, hi_elements = dense<[1.0, 0x7FF0000000000000]> : tensor<2xf64>, mean = 0.0 : f64, std = 0.5 : f64, source = "data"}}) {
  return
}

// -----

// An axis of unknown size keeps no elements apart.
// expected-remark @below {{argument 0: [0, 5]}}
func.func @dynamic(%x: tensor<?xf32> {mp.assume = {lo = 0.0 : f64, hi = 5.0 : f64, lo_elements = dense<[0.0, 4.0]> : tensor<2xf64>, hi_elements = dense<[1.0, 5.0]> : tensor<2xf64>, source = "data"}}) {
  return
}
