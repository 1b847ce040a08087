// RUN: mpopt-opt %s --mp-print-ranges="likely" -verify-diagnostics=only-expected

func.func @sorting(%x: tensor<2x8xf32> {mp.assume = {lo = -1.0 : f64, hi = 3.0 : f64, mean = 1.0 : f64, std = 0.5 : f64}}, %d: tensor<?xf32>) {
  // expected-remark @below {{[0, 7] integral likely (propagated) [0, 7] mean 3.5 std 2.02073}}
  %0 = mp.arg_max %x {axis = 1 : i64} : (tensor<2x8xf32>) -> tensor<2xi64>
  // expected-remark @below {{[0, 15] integral likely (propagated) [0, 15] mean 7.5 std 4.33013}}
  %1 = mp.arg_min %x : (tensor<2x8xf32>) -> tensor<i64>
  // expected-remark @below {{[0, 2.81475e+14] integral}}
  %2 = mp.arg_max %d {axis = 0 : i64} : (tensor<?xf32>) -> tensor<i64>
  // The better half lies above the mean.
  // expected-remark @+2 {{#0: [-1, 3] likely (propagated) [1, 2.17741] mean 1.57683 std 0.353553}}
  // expected-remark @below {{#1: [0, 7] integral likely (propagated) [0, 7] mean 3.5 std 2.02073}}
  %3, %4 = mp.top_k %x {k = 2 : i64} : (tensor<2x8xf32>) -> (tensor<2x2xf32>, tensor<2x2xi64>)
  // expected-remark @+2 {{#0: [-1, 3] likely (declared) [-0.17741, 2.17741] mean 1 std 0.5}}
  // expected-remark @below {{#1: [0, 7] integral likely (propagated) [0, 7] mean 3.5 std 2.02073}}
  %5, %6 = mp.sort %x : (tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xi64>)
  // expected-remark @+2 {{#0: [-1, 3] likely (propagated) [0.739137, 1.26086] mean 1 std 0.221557}}
  // expected-remark @below {{#1: [0, 7] integral likely (propagated) [0, 7] mean 3.5 std 2.02073}}
  %7, %8 = mp.median %x {axis = 1 : i64} : (tensor<2x8xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  return
}
