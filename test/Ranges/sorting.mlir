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

// Gates of a mixture of experts: the two largest of eight shares hold a quarter
// of the whole at least, and nearly all of it as a rule, so that dividing by
// their sum is no 0 / 0. The smallest may hold nothing.
func.func @gates(%x: tensor<4x8xf32> {mp.assume = {lo = -300.0 : f64, hi = 300.0 : f64, mean = 0.0 : f64, std = 5.0 : f64}}) {
  %0 = mp.softmax %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{#0: [0, 1] sum(1) in [0.249993, 1.00003] likely (propagated) [4.31985e-10, 0.99155] mean 0.48}}
  %1, %2 = mp.top_k %0 {k = 2 : i64} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  // expected-remark @below {{[0.249993, 1.00003] likely}}
  %3 = mp.reduce_sum %1 {axes = array<i64: 1>, keep_dims = true} : (tensor<4x2xf32>) -> tensor<4x1xf32>
  // expected-remark @below {{[0, 1] sum(1) in [0.999988, 1.00001] likely}}
  %4 = mp.div %1, %3 : (tensor<4x2xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  %5, %6 = mp.top_k %0 {k = 2 : i64, largest = false} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  // expected-remark @below {{[0, 2] likely}}
  %7 = mp.reduce_sum %5 {axes = array<i64: 1>, keep_dims = true} : (tensor<4x2xf32>) -> tensor<4x1xf32>
  return
}
