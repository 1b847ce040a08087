// RUN: mpopt-opt %s --mp-print-ranges="likely" -split-input-file -verify-diagnostics=only-expected

// Windows of 16 terms: 16 means and 4 deviations; segments of 2, 4 and 10 that a table ends.
#n = {lo = 0.0 : f64, hi = 4.0 : f64, mean = 0.5 : f64, std = 0.25 : f64}
func.func @windows(%x: tensor<4x1024xf32> {mp.assume = #n}) -> (tensor<4x1008xf32>, tensor<4x3xf32>, tensor<4x1008xf32>) {
  %c = mp.cum_sum %x {axis = 1 : i64} : (tensor<4x1024xf32>) -> tensor<4x1024xf32>
  %late = mp.slice %c {axes = array<i64: 1>, starts = array<i64: 16>, ends = array<i64: 1024>} : (tensor<4x1024xf32>) -> tensor<4x1008xf32>
  %early = mp.slice %c {axes = array<i64: 1>, starts = array<i64: 0>, ends = array<i64: 1008>} : (tensor<4x1024xf32>) -> tensor<4x1008xf32>
  // expected-remark @below {{mean 8 std 1}}
  %0 = mp.sub %late, %early : (tensor<4x1008xf32>, tensor<4x1008xf32>) -> tensor<4x1008xf32>
  // expected-remark @below {{mean -8 std 1}}
  %1 = mp.sub %early, %late : (tensor<4x1008xf32>, tensor<4x1008xf32>) -> tensor<4x1008xf32>
  %ends = mp.constant dense<[9, 11, 15, 25]> : tensor<4xi64>
  %s = mp.gather %c, %ends {axis = 1 : i64} : (tensor<4x1024xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  %last = mp.slice %s {axes = array<i64: 1>, starts = array<i64: 1>, ends = array<i64: 4>} : (tensor<4x4xf32>) -> tensor<4x3xf32>
  %first = mp.slice %s {axes = array<i64: 1>, starts = array<i64: 0>, ends = array<i64: 3>} : (tensor<4x4xf32>) -> tensor<4x3xf32>
  // expected-remark @below {{mean 2.6666}}
  %2 = mp.sub %last, %first : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0, %2, %1 : tensor<4x1008xf32>, tensor<4x3xf32>, tensor<4x1008xf32>
}

// -----

#n = {lo = 1.0 : f64, hi = 2.0 : f64, mean = 1.5 : f64, std = 0.3 : f64}
func.func @other_rows(%x: tensor<64x4xf32> {mp.assume = #n}) -> tensor<63x4xf32> {
  %c = mp.cum_sum %x {axis = 1 : i64} : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %late = mp.slice %c {axes = array<i64: 0>, starts = array<i64: 1>, ends = array<i64: 64>} : (tensor<64x4xf32>) -> tensor<63x4xf32>
  %early = mp.slice %c {axes = array<i64: 0>, starts = array<i64: 0>, ends = array<i64: 63>} : (tensor<64x4xf32>) -> tensor<63x4xf32>
  // Rows of which neither is the other's beginning are taken as independent.
  // expected-remark @below {{mean 0 std}}
  %0 = mp.sub %late, %early : (tensor<63x4xf32>, tensor<63x4xf32>) -> tensor<63x4xf32>
  return %0 : tensor<63x4xf32>
}
