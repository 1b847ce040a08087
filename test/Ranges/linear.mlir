// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// Exact per channel, but for what float32 sums lose.
func.func @weights(%x: tensor<5x2xf32> {mp.assume = {lo = -1.0 : f64, hi = 3.0 : f64}}) -> tensor<5x3xf32> {
  %w = mp.constant dense<[[1.0, 0.0, -2.0], [1.0, 0.5, 1.0]]> : tensor<2x3xf32>
  // expected-remark @below {{{1x3} [-2, 6] [-0.5, 1.5] [-7, 5]}}
  %0 = mp.matmul %x, %w : (tensor<5x2xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  %b = mp.constant dense<[10.0, 20.0, 30.0]> : tensor<3xf32>
  // expected-remark @below {{{1x3} [5.99999, 22] [19, 23] [16, 40]}}
  %1 = mp.gemm %x, %w bias %b {alpha = 2.0 : f64} : (tensor<5x2xf32>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<5x3xf32>
  %t = mp.constant dense<[[1.0, 1.0], [0.0, 0.5], [-2.0, 1.0]]> : tensor<3x2xf32>
  // expected-remark @below {{{1x3} [8, 16] [19.5, 21.5] [23, 35]}}
  %2 = mp.linear %x, %t bias %b : (tensor<5x2xf32>, tensor<3x2xf32>, tensor<3xf32>) -> tensor<5x3xf32>
  // Weights on the left: rows are channels.
  // expected-remark @below {{{3x1} [-2, 6] [-0.5, 1.5] [-7, 5]}}
  %3 = mp.matmul %t, %x {trans_b = true} : (tensor<3x2xf32>, tensor<5x2xf32>) -> tensor<3x5xf32>
  return %0 : tensor<5x3xf32>
}

// -----

// A 16-bit cast of the weights is what the product reads.
func.func @rounded(%x: tensor<1x1xf16> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64}}) -> tensor<1x2xf16> {
  %w = mp.constant dense<[[2049.0, 70000.0]]> : tensor<1x2xf32>
  %h = mp.cast %w : (tensor<1x2xf32>) -> tensor<1x2xf16>
  // expected-remark @below {{{1x2} [0, 2048] [0, 70000] nan +inf -inf}}
  %0 = mp.matmul %x, %h : (tensor<1x1xf16>, tensor<1x2xf16>) -> tensor<1x2xf16>
  return %0 : tensor<1x2xf16>
}

// -----

// Norms: |q k| <= ‖q‖‖k‖ where the elements' ranges say 16 times as much.
func.func @attention(%x: tensor<2x16xf32> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64}}, %v: tensor<2x4xf32> {mp.assume = {lo = -3.0 : f64, hi = 1.0 : f64}}) -> tensor<2x4xf32> {
  %n = mp.rms_norm %x : (tensor<2x16xf32>) -> tensor<2x16xf32>
  // expected-remark @below {{[-16.0001, 16.0001]}}
  %s = mp.matmul %n, %n {trans_b = true} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x2xf32>
  %p = mp.softmax %s : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // A convex combination stays in the hull.
  // expected-remark @below {{[-3.00003, 1.00001]}}
  %o = mp.matmul %p, %v : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %o : tensor<2x4xf32>
}

// -----

// Nobody knows how many terms: unbounded on one side.
func.func @unknown(%x: tensor<2x?xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64}}) -> tensor<2x2xf32> {
  // expected-remark @below {{[0, inf] +inf}}
  %0 = mp.matmul %x, %x {trans_b = true} : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

// Padding's zeros count where they occur.
func.func @conv(%x: tensor<1x1x8x8xf32> {mp.assume = {lo = 1.0 : f64, hi = 2.0 : f64}}) -> tensor<1x2x6x6xf32> {
  %w = mp.constant dense<[[[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]], [[[0.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 0.0]]]]> : tensor<2x1x3x3xf32>
  // expected-remark @below {{{1x2x1x1} [8.99999, 18] [-2, -0.999999]}}
  %0 = mp.conv %x, %w : (tensor<1x1x8x8xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x6x6xf32>
  // A corner sees four taps.
  // expected-remark @below {{{1x2x1x1} [3.99999, 18] [-2, -0.999999]}}
  %1 = mp.conv %x, %w {pads = array<i64: 1, 1, 1, 1>} : (tensor<1x1x8x8xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x8x8xf32>
  %b = mp.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // expected-remark @below {{{1x2x1x1} [9.99999, 19] [-2.38419e-06, 1]}}
  %2 = mp.conv %x, %w bias %b : (tensor<1x1x8x8xf32>, tensor<2x1x3x3xf32>, tensor<2xf32>) -> tensor<1x2x6x6xf32>
  return %0 : tensor<1x2x6x6xf32>
}

// -----

// With a stride as large as the kernel each position sees one tap.
func.func @transposed(%x: tensor<1x1x4xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64}}) -> tensor<1x1x8xf32> {
  %w = mp.constant dense<[[[3.0, 5.0]]]> : tensor<1x1x2xf32>
  // expected-remark @below {{[-5, 5]}}
  %0 = mp.conv_transpose %x, %w {strides = array<i64: 2>} : (tensor<1x1x4xf32>, tensor<1x1x2xf32>) -> tensor<1x1x8xf32>
  return %0 : tensor<1x1x8xf32>
}

// -----

// With a dilation as large as the stride all taps are at the phase of one position, so that the norm there is that of
// two products.
func.func @transposed_dilated(%x: tensor<1x1x5xf32> {mp.assume = {lo = 1.0 : f64, hi = 1.0 : f64}}) -> tensor<1x1x9xf32> {
  %w = mp.constant dense<3.0> : tensor<1x1x2xf32>
  // expected-remark @below {{, 6]}}
  %0 = mp.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 2>} : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x11xf32>
  %v = mp.constant dense<1.0> : tensor<1x1x3xf32>
  // expected-remark @below {{, 18]}}
  %1 = mp.conv %0, %v : (tensor<1x1x11xf32>, tensor<1x1x3xf32>) -> tensor<1x1x9xf32>
  return %1 : tensor<1x1x9xf32>
}

// -----

// Positions past the last tap receive the bias alone, however many they are.
func.func @output_padding(%x: tensor<1x1x2xf32> {mp.assume = {lo = 1.0 : f64, hi = 2.0 : f64}}) {
  %w = mp.constant dense<2.0> : tensor<1x1x1xf32>
  %b = mp.constant dense<5.0> : tensor<1xf32>
  // expected-remark @below {{[7, 9]}}
  %0 = mp.conv_transpose %x, %w bias %b : (tensor<1x1x2xf32>, tensor<1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x2xf32>
  // expected-remark @below {{[5, 9]}}
  %1 = mp.conv_transpose %x, %w bias %b {output_padding = array<i64: 3>} : (tensor<1x1x2xf32>, tensor<1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x5xf32>
  // expected-remark @below {{[5, 9]}}
  %2 = mp.conv_transpose %x, %w bias %b {output_padding = array<i64: 1099511627776>} : (tensor<1x1x2xf32>, tensor<1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x1099511627778xf32>
  return
}

// -----

func.func @integers(%x: tensor<4x2xui8>) -> tensor<4x2xi32> {
  %w = mp.constant dense<[[1, -1], [2, 0]]> : tensor<2x2xi8>
  %z = mp.constant dense<128> : tensor<ui8>
  // expected-remark @below {{{1x2} [-384, 381] [-127, 128] integral}}
  %0 = mp.matmul_integer %x, %w lhs_zero %z : (tensor<4x2xui8>, tensor<2x2xi8>, tensor<ui8>) -> tensor<4x2xi32>
  return %0 : tensor<4x2xi32>
}

// -----

// The kernel of this target adds in 16 bits: partial sums may overflow.
module attributes {mp.target = "strict16"} {
  func.func @accumulator(%x: tensor<1x2xf16> {mp.assume = {lo = 0.0 : f64, hi = 60000.0 : f64}}) -> tensor<1x1xf16> {
    %w = mp.constant dense<[[1.0], [-1.0]]> : tensor<2x1xf16>
    %o = mp.constant dense<[[1.0], [1.0]]> : tensor<2x1xf16>
    // expected-remark @below {{[-60117.2, 60117.2] nan +inf -inf}}
    %0 = mp.matmul %x, %w : (tensor<1x2xf16>, tensor<2x1xf16>) -> tensor<1x1xf16>
    // expected-remark @below {{[0, 120117] +inf}}
    %1 = mp.matmul %x, %o : (tensor<1x2xf16>, tensor<2x1xf16>) -> tensor<1x1xf16>
    return %0 : tensor<1x1xf16>
  }
}

// -----

// Rows that differ, columns that do not: each element of a small map is told
// apart.
func.func @conv_rows(%x: tensor<1x1x4x4xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64}}) -> tensor<1x1x2x2xf32> {
  %scale = mp.constant dense<[[[[1.0], [2.0], [3.0], [100.0]]]]> : tensor<1x1x4x1xf32>
  %0 = mp.mul %x, %scale : (tensor<1x1x4x4xf32>, tensor<1x1x4x1xf32>) -> tensor<1x1x4x4xf32>
  %w = mp.constant dense<1.0> : tensor<1x1x3x3xf32>
  // expected-remark @below {{{1x1x2x2} [-18, 18] [-18, 18] [-315, 315] [-315, 315]}}
  %1 = mp.conv %0, %w : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  return %1 : tensor<1x1x2x2xf32>
}

// -----

// Whole numbers times fractions are none: the reciprocal may be large. Times
// whole numbers they are.
func.func @fractional_weights(%i: tensor<3x2xi64> {mp.assume = {lo = 0.0 : f64, hi = 9.0 : f64}}) -> tensor<3x2xf32> {
  %x = mp.cast %i : (tensor<3x2xi64>) -> tensor<3x2xf32>
  %w = mp.constant dense<[[0.003, 0.2], [0.4, 0.7]]> : tensor<2x2xf32>
  // expected-remark @below {{{1x2} [0, 3.627] [0, 8.1]}}
  %0 = mp.matmul %x, %w : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  // expected-remark @below {{+inf -inf}}
  %1 = mp.reciprocal %0 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %whole = mp.constant dense<[[1.0, 2.0], [0.0, 1.0]]> : tensor<2x2xf32>
  // expected-remark @below {{27] integral}}
  %2 = mp.matmul %x, %whole : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

func.func @fractional_filter(%i: tensor<1x1x3x3xi1>) -> tensor<1x1x2x2xf32> {
  %x = mp.cast %i : (tensor<1x1x3x3xi1>) -> tensor<1x1x3x3xf32>
  %w = mp.constant dense<[[[[0.003, 0.2], [0.4, 0.7]]]]> : tensor<1x1x2x2xf32>
  %0 = mp.conv %x, %w {stride = array<i64: 1, 1>} : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  // expected-remark @below {{+inf -inf}}
  %1 = mp.reciprocal %0 : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
}

// -----

// One number is written out for the kernels, each time in the memory that the
// product before it has freed.
func.func @written_out(%x: tensor<1x200xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64}}) -> tensor<1x200xf32> {
  %w0 = mp.constant dense<0.5> : tensor<200x200xf32>
  // expected-remark @below {{{1x200} [-100.0}}
  %0 = mp.matmul %x, %w0 : (tensor<1x200xf32>, tensor<200x200xf32>) -> tensor<1x200xf32>
  %w1 = mp.constant dense<2.0> : tensor<200x200xf32>
  // expected-remark @below {{{1x200} [-400.0}}
  %1 = mp.matmul %x, %w1 : (tensor<1x200xf32>, tensor<200x200xf32>) -> tensor<1x200xf32>
  %w2 = mp.constant dense<3.0> : tensor<200x200xf32>
  // expected-remark @below {{{1x200} [-600.0}}
  %2 = mp.matmul %x, %w2 : (tensor<1x200xf32>, tensor<200x200xf32>) -> tensor<1x200xf32>
  %w3 = mp.constant dense<8.0> : tensor<200x200xf32>
  // expected-remark @below {{{1x200} [-1600.0}}
  %3 = mp.matmul %x, %w3 : (tensor<1x200xf32>, tensor<200x200xf32>) -> tensor<1x200xf32>
  return %3 : tensor<1x200xf32>
}

// -----

// A mixture of an open number of rows stays among them; sums of them do not.
func.func @open_mixture(%x: tensor<2x?xf32>, %v: tensor<?x4xf32> {mp.assume = {lo = -3.0 : f64, hi = 1.0 : f64}}, %w: tensor<2x?xf32>) -> tensor<2x4xf32> {
  %p = mp.softmax %x : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // expected-remark @below {{[-3.58596, 1.33595]}}
  %0 = mp.matmul %p, %v : (tensor<2x?xf32>, tensor<?x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{[-inf, inf] nan +inf -inf}}
  %1 = mp.matmul %w, %v : (tensor<2x?xf32>, tensor<?x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// The filter of an input of open rank says how many products there are.
func.func @open_rank(%x: tensor<*xf32> {mp.assume = {lo = 1.0 : f64, hi = 2.0 : f64}}) -> tensor<?x1x?xf32> {
  %w = mp.constant dense<[[[1.0, 1.0], [-1.0, 0.5]]]> : tensor<1x2x2xf32>
  // expected-remark @below {{[}}
  %0 = mp.conv %x, %w : (tensor<*xf32>, tensor<1x2x2xf32>) -> tensor<?x1x?xf32>
  return %0 : tensor<?x1x?xf32>
}

// -----

// Rounding makes no sum of positive products negative.
func.func @positive(%x: tensor<4x3xf32> {mp.assume = {lo = 0.0 : f64, hi = 1000.0 : f64}}) {
  %w = mp.constant dense<[[0.1], [0.2], [0.3]]> : tensor<3x1xf32>
  // expected-remark @below {{[0, 600}}
  %0 = mp.matmul %x, %w : (tensor<4x3xf32>, tensor<3x1xf32>) -> tensor<4x1xf32>
  %v = mp.constant dense<[[0.1], [-1.0e-30], [0.3]]> : tensor<3x1xf32>
  // expected-remark @below {{[-}}
  %1 = mp.matmul %x, %v : (tensor<4x3xf32>, tensor<3x1xf32>) -> tensor<4x1xf32>
  return
}
