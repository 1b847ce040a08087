// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-cancellation --mp-emit-findings

// expected-note @below {{mean 300, standard deviation}}
func.func @centred_f16(%x: tensor<4x64xf16> {mp.assume = {lo = 0.0 : f64, hi = 1000.0 : f64, mean = 300.0 : f64, std = 0.5 : f64, source = "option"}}) -> tensor<4x64xf16> {
  %0 = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xf16>) -> tensor<4x1xf16>
  // expected-warning-re @below {{x - mean(x) cancels: the mean is {{[0-9]+}} times the spread, and rounding to f16 is an error of}}
  %1 = mp.sub %x, %0 : (tensor<4x64xf16>, tensor<4x1xf16>) -> tensor<4x64xf16>
  return %1 : tensor<4x64xf16>
}

// -----

// expected-note @below {{mean 20, standard deviation}}
func.func @variance_f16(%x: tensor<4x64xf16> {mp.assume = {lo = 0.0 : f64, hi = 100.0 : f64, mean = 20.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<4x1xf16> {
  %0 = mp.square %x : (tensor<4x64xf16>) -> tensor<4x64xf16>
  %1 = mp.reduce_mean %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xf16>) -> tensor<4x1xf16>
  %2 = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xf16>) -> tensor<4x1xf16>
  %3 = mp.square %2 : (tensor<4x1xf16>) -> tensor<4x1xf16>
  // expected-warning @below {{E[x^2] - E[x]^2 cancels: the mean is 20 times the spread}}
  %4 = mp.sub %1, %3 : (tensor<4x1xf16>, tensor<4x1xf16>) -> tensor<4x1xf16>
  return %4 : tensor<4x1xf16>
}

// -----

func.func @clean_f16(%x: tensor<4x64xf16> {mp.assume = {lo = -10.0 : f64, hi = 10.0 : f64, mean = 1.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<4x64xf16> {
  %0 = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xf16>) -> tensor<4x1xf16>
  %1 = mp.sub %x, %0 : (tensor<4x64xf16>, tensor<4x1xf16>) -> tensor<4x64xf16>
  return %1 : tensor<4x64xf16>
}

// -----

// expected-note @below {{mean 100, standard deviation}}
func.func @centred_bf16(%x: tensor<4x64xbf16> {mp.assume = {lo = 0.0 : f64, hi = 1000.0 : f64, mean = 100.0 : f64, std = 0.5 : f64, source = "option"}}) -> tensor<4x64xbf16> {
  %0 = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xbf16>) -> tensor<4x1xbf16>
  // expected-warning-re @below {{x - mean(x) cancels: the mean is {{[0-9]+}} times the spread, and rounding to bf16 is an error of}}
  %1 = mp.sub %x, %0 : (tensor<4x64xbf16>, tensor<4x1xbf16>) -> tensor<4x64xbf16>
  return %1 : tensor<4x64xbf16>
}

// -----

// expected-note @below {{mean 20, standard deviation}}
func.func @variance_bf16(%x: tensor<4x64xbf16> {mp.assume = {lo = 0.0 : f64, hi = 100.0 : f64, mean = 20.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<4x1xbf16> {
  %0 = mp.square %x : (tensor<4x64xbf16>) -> tensor<4x64xbf16>
  %1 = mp.reduce_mean %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xbf16>) -> tensor<4x1xbf16>
  %2 = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xbf16>) -> tensor<4x1xbf16>
  %3 = mp.square %2 : (tensor<4x1xbf16>) -> tensor<4x1xbf16>
  // expected-warning @below {{E[x^2] - E[x]^2 cancels: the mean is 20 times the spread}}
  %4 = mp.sub %1, %3 : (tensor<4x1xbf16>, tensor<4x1xbf16>) -> tensor<4x1xbf16>
  return %4 : tensor<4x1xbf16>
}

// -----

func.func @clean_bf16(%x: tensor<4x64xbf16> {mp.assume = {lo = -10.0 : f64, hi = 10.0 : f64, mean = 1.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<4x64xbf16> {
  %0 = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xbf16>) -> tensor<4x1xbf16>
  %1 = mp.sub %x, %0 : (tensor<4x64xbf16>, tensor<4x1xbf16>) -> tensor<4x64xbf16>
  return %1 : tensor<4x64xbf16>
}

// -----

func.func @clean_f32(%x: tensor<4x64xf32> {mp.assume = {lo = 0.0 : f64, hi = 1000.0 : f64, mean = 300.0 : f64, std = 0.5 : f64, source = "option"}}) -> tensor<4x64xf32> {
  %0 = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xf32>) -> tensor<4x1xf32>
  %1 = mp.sub %x, %0 : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// -----

func.func @close_f16(%x: tensor<8xf16> {mp.assume = {lo = 990.0 : f64, hi = 1010.0 : f64, mean = 1000.0 : f64, std = 0.5 : f64, source = "option"}}, %y: tensor<8xf16> {mp.assume = {lo = 990.0 : f64, hi = 1010.0 : f64, mean = 1000.0 : f64, std = 0.5 : f64, source = "option"}}) -> tensor<8xf16> {
  // expected-warning @below {{values of 1000 cancel: what is left, 0.707107, has an error}}
  %0 = mp.sub %x, %y : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %0 : tensor<8xf16>
}

// -----

func.func @close_bf16(%x: tensor<8xbf16> {mp.assume = {lo = 990.0 : f64, hi = 1010.0 : f64, mean = 1000.0 : f64, std = 3.0 : f64, source = "option"}}, %y: tensor<8xbf16> {mp.assume = {lo = 990.0 : f64, hi = 1010.0 : f64, mean = 1000.0 : f64, std = 3.0 : f64, source = "option"}}) -> tensor<8xbf16> {
  // expected-warning @below {{values of 1000 cancel: what is left, 4.24264, has an error}}
  %0 = mp.sub %x, %y : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}

// -----

func.func @apart_f16(%x: tensor<8xf16> {mp.assume = {lo = 990.0 : f64, hi = 1010.0 : f64, mean = 1000.0 : f64, std = 8.0 : f64, source = "option"}}, %y: tensor<8xf16> {mp.assume = {lo = 990.0 : f64, hi = 1010.0 : f64, mean = 1000.0 : f64, std = 8.0 : f64, source = "option"}}) -> tensor<8xf16> {
  %0 = mp.sub %x, %y : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %0 : tensor<8xf16>
}

// -----

func.func @close_f32(%x: tensor<8xf32> {mp.assume = {lo = 990.0 : f64, hi = 1010.0 : f64, mean = 1000.0 : f64, std = 0.5 : f64, source = "option"}}, %y: tensor<8xf32> {mp.assume = {lo = 990.0 : f64, hi = 1010.0 : f64, mean = 1000.0 : f64, std = 0.5 : f64, source = "option"}}) -> tensor<8xf32> {
  %0 = mp.sub %x, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// One side is a number that the file holds; the other is chosen from a table.
func.func @table_bf16(%step: tensor<8xi64>) -> tensor<8xbf16> {
  %one = mp.constant dense<1.0> : tensor<bf16>
  %kept = mp.constant dense<[0.996, 0.992, 0.9922, 0.988]> : tensor<4xbf16>
  %0 = mp.gather %kept, %step : (tensor<4xbf16>, tensor<8xi64>) -> tensor<8xbf16>
  // expected-warning @below {{values of 0.99}}
  %1 = mp.sub %one, %0 : (tensor<bf16>, tensor<8xbf16>) -> tensor<8xbf16>
  return %1 : tensor<8xbf16>
}

// -----

// 1 - p of logits is another rule's.
func.func @complement_f16(%x: tensor<8xf16> {mp.assume = {lo = -10.0 : f64, hi = 10.0 : f64, mean = 9.0 : f64, std = 0.5 : f64, source = "option"}}) -> tensor<8xf16> {
  %one = mp.constant dense<1.0> : tensor<f16>
  %0 = mp.sigmoid %x : (tensor<8xf16>) -> tensor<8xf16>
  %1 = mp.sub %one, %0 : (tensor<f16>, tensor<8xf16>) -> tensor<8xf16>
  return %1 : tensor<8xf16>
}

// -----

// In windows, as filters and measures of similarity have it.
// expected-note @below {{mean 0.7, standard deviation 0.01}}
func.func @windows_f16(%x: tensor<1x1x16x16xf16> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.7 : f64, std = 0.01 : f64, source = "option"}}, %y: tensor<1x1x16x16xf16> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.7 : f64, std = 0.01 : f64, source = "option"}}) -> tensor<1x1x12x12xf16> {
  %0 = mp.mul %x, %y : (tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>) -> tensor<1x1x16x16xf16>
  %1 = mp.average_pool %0 {kernel_shape = array<i64: 5, 5>} : (tensor<1x1x16x16xf16>) -> tensor<1x1x12x12xf16>
  %2 = mp.average_pool %x {kernel_shape = array<i64: 5, 5>} : (tensor<1x1x16x16xf16>) -> tensor<1x1x12x12xf16>
  %3 = mp.average_pool %y {kernel_shape = array<i64: 5, 5>} : (tensor<1x1x16x16xf16>) -> tensor<1x1x12x12xf16>
  %4 = mp.mul %2, %3 : (tensor<1x1x12x12xf16>, tensor<1x1x12x12xf16>) -> tensor<1x1x12x12xf16>
  // expected-warning @below {{E[x y] - E[x] E[y] cancels: the mean is 70 times the spread}}
  %5 = mp.sub %1, %4 : (tensor<1x1x12x12xf16>, tensor<1x1x12x12xf16>) -> tensor<1x1x12x12xf16>
  return %5 : tensor<1x1x12x12xf16>
}

// -----

// Bands of a spectrum vary enough; one of silence does not.
// expected-note @below {{mean 9}}
func.func @flat_f16(%x: tensor<4x64xf16> {mp.assume = {lo = -20.0 : f64, hi = 0.0 : f64, mean = -9.0 : f64, std = 3.0 : f64, source = "option"}}) -> tensor<4x1xf16> {
  %0 = mp.square %x : (tensor<4x64xf16>) -> tensor<4x64xf16>
  %1 = mp.reduce_mean %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xf16>) -> tensor<4x1xf16>
  %2 = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xf16>) -> tensor<4x1xf16>
  %3 = mp.square %2 : (tensor<4x1xf16>) -> tensor<4x1xf16>
  // expected-warning @below {{E[x^2] - E[x]^2 of a row that does not vary, silence or one colour, is rounding error of up to 0.0395508, of either sign: its sqrt may be NaN}}
  %4 = mp.sub %1, %3 : (tensor<4x1xf16>, tensor<4x1xf16>) -> tensor<4x1xf16>
  // expected-note @below {{reads it}}
  %5 = mp.sqrt %4 : (tensor<4x1xf16>) -> tensor<4x1xf16>
  return %5 : tensor<4x1xf16>
}

// -----

// An epsilon above that error, or what a layer computes, which no row of is
// known to be flat.
func.func @guarded_f16(%x: tensor<4x64xf16> {mp.assume = {lo = -20.0 : f64, hi = 0.0 : f64, mean = -9.0 : f64, std = 3.0 : f64, source = "option"}}) -> (tensor<4x1xf16>, tensor<4x1xf16>) {
  %epsilon = mp.constant dense<0.125> : tensor<f16>
  %0 = mp.square %x : (tensor<4x64xf16>) -> tensor<4x64xf16>
  %1 = mp.reduce_mean %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xf16>) -> tensor<4x1xf16>
  %2 = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xf16>) -> tensor<4x1xf16>
  %3 = mp.square %2 : (tensor<4x1xf16>) -> tensor<4x1xf16>
  %4 = mp.sub %1, %3 : (tensor<4x1xf16>, tensor<4x1xf16>) -> tensor<4x1xf16>
  %5 = mp.add %4, %epsilon : (tensor<4x1xf16>, tensor<f16>) -> tensor<4x1xf16>
  %6 = mp.sqrt %5 : (tensor<4x1xf16>) -> tensor<4x1xf16>
  %s = mp.sin %x : (tensor<4x64xf16>) -> tensor<4x64xf16>
  %7 = mp.square %s : (tensor<4x64xf16>) -> tensor<4x64xf16>
  %8 = mp.reduce_mean %7 {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xf16>) -> tensor<4x1xf16>
  %9 = mp.reduce_mean %s {axes = array<i64: 1>, keep_dims = true} : (tensor<4x64xf16>) -> tensor<4x1xf16>
  %10 = mp.square %9 : (tensor<4x1xf16>) -> tensor<4x1xf16>
  %11 = mp.sub %8, %10 : (tensor<4x1xf16>, tensor<4x1xf16>) -> tensor<4x1xf16>
  %12 = mp.sqrt %11 : (tensor<4x1xf16>) -> tensor<4x1xf16>
  return %6, %12 : tensor<4x1xf16>, tensor<4x1xf16>
}
