// RUN: mpopt-opt %s --mp-print-ranges="likely" -split-input-file -verify-diagnostics=only-expected

// Decays between two positions, of which a mask keeps those that lie behind: differences of
// a running sum of numbers below 0, which are below 0 themselves, so that no exponential is
// above 1. The pair of positions may lie in front of channels.
#n = {lo = -1.0 : f64, hi = 0.0 : f64, mean = -0.3 : f64, std = 0.1 : f64}
func.func @in_front_of_channels(%x: tensor<2x4x3xf32> {mp.assume = #n}) -> tensor<2x4x4x3xf32> {
  %low = mp.constant dense<-6.0e+04> : tensor<f32>
  %tri = mp.constant dense<[[[[true], [false], [false], [false]], [[true], [true], [false], [false]], [[true], [true], [true], [false]], [[true], [true], [true], [true]]]]> : tensor<1x4x4x1xi1>
  %c = mp.cum_sum %x {axis = 1 : i64} : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %i = mp.unsqueeze %c {axes = array<i64: 2>} : (tensor<2x4x3xf32>) -> tensor<2x4x1x3xf32>
  %j = mp.unsqueeze %c {axes = array<i64: 1>} : (tensor<2x4x3xf32>) -> tensor<2x1x4x3xf32>
  %d = mp.sub %i, %j : (tensor<2x4x1x3xf32>, tensor<2x1x4x3xf32>) -> tensor<2x4x4x3xf32>
  %m = mp.where %tri, %d, %low : (tensor<1x4x4x1xi1>, tensor<2x4x4x3xf32>, tensor<f32>) -> tensor<2x4x4x3xf32>
  // expected-remark @below {{[0.367879, 1] [0, 0] [0, 0] [0, 0] [0.135335, 1] [0.135335, 1]}}
  %y = mp.exp %m : (tensor<2x4x4x3xf32>) -> tensor<2x4x4x3xf32>
  return %y : tensor<2x4x4x3xf32>
}

// -----

#n = {lo = -1.0 : f64, hi = 0.0 : f64, mean = -0.3 : f64, std = 0.1 : f64}
func.func @last(%x: tensor<2x3x4xf32> {mp.assume = #n}) -> (tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>) {
  %low = mp.constant dense<-6.0e+04> : tensor<f32>
  %tri = mp.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %c = mp.cum_sum %x {axis = 2 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %i = mp.unsqueeze %c {axes = array<i64: 3>} : (tensor<2x3x4xf32>) -> tensor<2x3x4x1xf32>
  %j = mp.unsqueeze %c {axes = array<i64: 2>} : (tensor<2x3x4xf32>) -> tensor<2x3x1x4xf32>
  %d = mp.sub %i, %j : (tensor<2x3x4x1xf32>, tensor<2x3x1x4xf32>) -> tensor<2x3x4x4xf32>
  %m = mp.where %tri, %d, %low : (tensor<4x4xi1>, tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  // expected-remark @below {{[0.367879, 1] [0, 0] [0, 0] [0, 0] [0.135335, 1] [0.135335, 1]}}
  %y = mp.exp %m : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  // The other triangle has numbers above 0.
  %other = mp.where %tri, %low, %d : (tensor<4x4xi1>, tensor<f32>, tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  // expected-remark @below {{[0, 0] [0.367879, 7.38906] [0.367879, 20.}}
  %z = mp.exp %other : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  return %y, %z : tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>
}
