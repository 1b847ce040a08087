// RUN: mpopt-opt %s --mp-print-ranges="likely" 2>&1 | FileCheck %s

// Positions along an axis of which nothing is known reach nowhere in particular;
// along one of 8 to 16 they reach 15.
func.func @positions(%x: tensor<?xf32>, %n: tensor<i64> {mp.assume = {lo = 8.0 : f64, hi = 16.0 : f64, mean = 12.0 : f64, std = 4.0 : f64}}) {
  %zero = mp.constant dense<0> : tensor<i64>
  %one = mp.constant dense<1> : tensor<i64>
  %size = mp.size %x : (tensor<?xf32>) -> tensor<i64>
  // CHECK: remark: [0, 2.81475e+14] integral{{$}}
  // CHECK: remark: [0, 2.81475e+14] integral{{$}}
  %0 = mp.range %zero, %size, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  // CHECK: remark: [0, 15] integral likely (propagated) [0, 15] mean 7.5
  %1 = mp.range %zero, %n, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  return
}
