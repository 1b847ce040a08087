// RUN: mpopt-opt %s --mp-print-ranges="likely" -verify-diagnostics=only-expected

func.func @scans(%x: tensor<2x8xf32> {mp.assume = {lo = -1.0 : f64, hi = 3.0 : f64, mean = 1.0 : f64, std = 0.5 : f64}}, %d: tensor<?xf32>, %n: tensor<4xi32>) {
  // expected-remark @below {{[-8.00001, 24] likely (propagated) [-0.17741, 9.66511] mean 4.5 std 2.52488}}
  %0 = mp.cum_sum %x {axis = 1 : i64} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  // The last element does not count itself.
  // expected-remark @below {{[-7.00001, 21] likely (propagated) [-0.17741, 8.70099] mean 4 std 2.23607}}
  %1 = mp.cum_sum %x {axis = 1 : i64, exclusive} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  // expected-remark @below {{[-9, 9] likely (propagated) [-4.74112, 4.74112] mean 0 std 1.36864}}
  %2 = mp.cum_prod %x {axis = 0 : i64} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  // expected-remark @below {{[-inf, inf] nan +inf -inf likely (propagated) [-1.73205, 1.73205] mean 0 std 1}}
  %3 = mp.cum_sum %d {axis = 0 : i64} : (tensor<?xf32>) -> tensor<?xf32>
  // Integers wrap.
  // expected-remark @below {{[-2.14748e+09, 2.14748e+09] integral}}
  %4 = mp.cum_sum %n {axis = 0 : i64} : (tensor<4xi32>) -> tensor<4xi32>
  return
}
