// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// Channels follow a transposition, a split of their axis and a concatenation.
func.func @channels() -> tensor<2x2xf32> {
  // expected-remark @below {{{1x4} [1, 1] [2, 2] [3, 3] [4, 4]}}
  %c = mp.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  // expected-remark @below {{{4x1} [1, 1] [2, 2] [3, 3] [4, 4]}}
  %0 = mp.transpose %c : (tensor<1x4xf32>) -> tensor<4x1xf32>
  // expected-remark @below {{[2, 2] integral}}
  %s = mp.constant dense<[2, 2]> : tensor<2xi64>
  // expected-remark @below {{{2x2} [1, 1] [2, 2] [3, 3] [4, 4]}}
  %1 = mp.reshape %0, %s : (tensor<4x1xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  // expected-remark @below {{{2x4} [1, 1] [2, 2] [1, 1] [2, 2] [3, 3] [4, 4] [3, 3] [4, 4]}}
  %2 = mp.concat %1, %1 {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{{2x2} [2, 2] [2, 2] [4, 4] [4, 4]}}
  %3 = mp.slice %2 {starts = array<i64: 1>, ends = array<i64: 4>, axes = array<i64: 1>, steps = array<i64: 2>} : (tensor<2x4xf32>) -> tensor<2x2xf32>
  return %3 : tensor<2x2xf32>
}

// -----

// A batch of unknown size is merged; the axes behind it stay apart.
func.func @batch(%x: tensor<?x6xf32>) -> tensor<?x2x3xf32> {
  // expected-remark @below {{{6} [0, 0] [1, 1] [2, 2] [3, 3] [4, 4] [5, 5]}}
  %c = mp.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf32>
  // expected-remark @below {{{1x6} [0, 0] [-10, 10] [-20, 20] [-30, 30] [-40, 40] [-50, 50]}}
  %0 = mp.mul %x, %c : (tensor<?x6xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  // expected-remark @below {{{3}}}
  %s = mp.constant dense<[-1, 2, 3]> : tensor<3xi64>
  // expected-remark @below {{{1x2x3} [0, 0] [-10, 10] [-20, 20] [-30, 30] [-40, 40] [-50, 50]}}
  %1 = mp.reshape %0, %s : (tensor<?x6xf32>, tensor<3xi64>) -> tensor<?x2x3xf32>
  return %1 : tensor<?x2x3xf32>
}

// -----

// Rows by unknown index: any of them, in each column.
func.func @rows(%ids: tensor<?xi64>) -> tensor<?x2xf32> {
  // expected-remark @below {{{3x2}}}
  %t = mp.constant dense<[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]> : tensor<3x2xf32>
  // expected-remark @below {{{1x2} [1, 3] [10, 30]}}
  %0 = mp.gather %t, %ids : (tensor<3x2xf32>, tensor<?xi64>) -> tensor<?x2xf32>
  // expected-remark @below {{{2} [2, 2] [0, 0]}}
  %i = mp.constant dense<[2, 0]> : tensor<2xi64>
  // expected-remark @below {{{2x2} [3, 3] [30, 30] [1, 1] [10, 10]}}
  %1 = mp.gather %t, %i : (tensor<3x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  return %0 : tensor<?x2xf32>
}

// -----

// Shapes are numbers where they are known.
func.func @shapes(%x: tensor<?x7xf32>) -> tensor<2xi64> {
  // expected-remark @below {{{2} [0, 2.81475e+14] [7, 7]}}
  %0 = mp.shape %x : (tensor<?x7xf32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----

// One row for all indices, and rows in a row, however many the table has.
func.func @known_rows() -> tensor<2x3x2xf32> {
  // expected-remark @below {{{3x2}}}
  %t = mp.constant dense<[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]> : tensor<3x2xf32>
  // expected-remark @below {{[2, 2] integral}}
  %i = mp.constant dense<2> : tensor<2x3xi64>
  // expected-remark @below {{{1x1x2} [3, 3] [30, 30]}}
  %0 = mp.gather %t, %i : (tensor<3x2xf32>, tensor<2x3xi64>) -> tensor<2x3x2xf32>
  // expected-remark @below {{{1x2} [0, 0] [1, 1]}}
  %j = mp.constant dense<[[0, 1]]> : tensor<1x2xi64>
  // expected-remark @below {{{1x2x2} [1, 1] [10, 10] [2, 2] [20, 20]}}
  %1 = mp.gather %t, %j : (tensor<3x2xf32>, tensor<1x2xi64>) -> tensor<1x2x2xf32>
  // expected-remark @below {{{2x1} [0, 0] [1, 1]}}
  %k = mp.constant dense<[[0], [1]]> : tensor<2x1xi64>
  // expected-remark @below {{{1x1x2} [1, 2] [10, 20]}}
  %2 = mp.gather %t, %k : (tensor<3x2xf32>, tensor<2x1xi64>) -> tensor<2x1x2xf32>
  return %0 : tensor<2x3x2xf32>
}

// -----

// What is off a triangle is 0 for sure, and no more than that.
func.func @triangle(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // expected-remark @below {{{2x2} [-10, 10] [0, 0] [-10, 10] [-10, 10]}}
  %0 = mp.trilu %x {upper = false} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // expected-remark @below {{{2x2} [0, 0] [-10, 10] [0, 0] [0, 0]}}
  %1 = mp.trilu %x {k = 1 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // expected-remark @below {{[-1, -1] integral}}
  %k = mp.constant dense<-1> : tensor<i64>
  // expected-remark @below {{{2x2} [0, 0] [0, 0] [-10, 10] [0, 0]}}
  %2 = mp.trilu %x k %k {upper = false} : (tensor<2x2xf32>, tensor<i64>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
