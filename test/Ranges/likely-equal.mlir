// RUN: mpopt-opt %s --mp-print-ranges="likely" -split-input-file -verify-diagnostics=only-expected

// One of 257 numbers is met, whichever it is: 1 / sqrt(2 pi (74^2 + 74^2)).
func.func @one_hot(%x: tensor<1x2048x1xi32> {mp.assume = {lo = 0.0 : f64, hi = 256.0 : f64, mean = 128.0 : f64, std = 74.0 : f64}},
                   %y: tensor<1x1x257xi32> {mp.assume = {lo = 0.0 : f64, hi = 256.0 : f64, mean = 128.0 : f64, std = 74.0 : f64}}) {
  // expected-remark @below {{[0, 1] mean 0.00381}}
  %0 = mp.equal %x, %y : (tensor<1x2048x1xi32>, tensor<1x1x257xi32>) -> tensor<1x2048x257xi1>
  // expected-remark @below {{[0, 1] mean 0.99618}}
  %1 = mp.not_equal %x, %y : (tensor<1x2048x1xi32>, tensor<1x1x257xi32>) -> tensor<1x2048x257xi1>
  return
}

// -----

// One number that is looked for, such as a padding's, is more frequent than others.
func.func @padding(%x: tensor<2x64xi64> {mp.assume = {lo = 0.0 : f64, hi = 30000.0 : f64, mean = 15000.0 : f64, std = 8660.0 : f64}}) {
  %pad = mp.constant dense<0> : tensor<i64>
  // expected-remark @below {{[0, 1] mean 0.1}}
  %0 = mp.equal %x, %pad : (tensor<2x64xi64>, tensor<i64>) -> tensor<2x64xi1>
  return
}
