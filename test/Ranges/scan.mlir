// RUN: mpopt-opt %s --mp-print-ranges="likely" -verify-diagnostics=only-expected

func.func @scans(%x: tensor<2x8xf32> {mp.assume = {lo = -1.0 : f64, hi = 3.0 : f64, mean = 1.0 : f64, std = 0.5 : f64}}, %d: tensor<?xf32>, %n: tensor<4xi32>) {
  // A sum of as many elements as are in front of each place.
  // expected-remark @below {{{1x8} [-1, 3] [-2, 6] [-3, 9] [-4, 12] [-5, 15]}}
  %0 = mp.cum_sum %x {axis = 1 : i64} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  // The last element does not count itself.
  // expected-remark @below {{{1x8} [0, 0] [-1, 3] [-2, 6] [-3, 9] [-4, 12]}}
  %1 = mp.cum_sum %x {axis = 1 : i64, exclusive} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  // expected-remark @below {{[-9, 9] likely (propagated) [-4.74112, 4.74112] mean 0 std 1.36864}}
  %2 = mp.cum_prod %x {axis = 0 : i64} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  // expected-remark @below {{[-inf, inf] nan +inf -inf likely (propagated) [-1.73205, 1.73205] mean 0 std 1}}
  %3 = mp.cum_sum %d {axis = 0 : i64} : (tensor<?xf32>) -> tensor<?xf32>
  // From the end.
  // expected-remark @below {{{1x8} [-8.00001, 24] [-7.00001, 21] [-6.00001, 18]}}
  %5 = mp.cum_sum %x {axis = 1 : i64, reverse} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  // Integers wrap.
  // expected-remark @below {{[-2.14748e+09, 2.14748e+09] integral}}
  %4 = mp.cum_sum %n {axis = 0 : i64} : (tensor<4xi32>) -> tensor<4xi32>
  return
}
