// Filters add up what neighbours have in common: running statistics are of 16 times
// the variance that independence gives. Errors of earlier layers are as much alike,
// so that what three norms store is off by about sqrt(3) of one of them, and not
// by a share that falls by 4 with each.
// RUN: mpopt --check %s --precision fp16 --format json -o %t.json
// RUN: %python %S/Inputs/expected-rms.py %t.json 4.0e-4 9.0e-4
func.func @main(%x: tensor<4x4x16x16xf32> {mp.name = "x", mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) -> (tensor<4x4x8x8xf32> {mp.name = "result"}) {
  %w = mp.constant dense<[1.0, 1.1, 0.9, 1.0]> : tensor<4xf32>
  %b = mp.constant dense<[0.0, 0.1, 0.0, -0.1]> : tensor<4xf32>
  %m = mp.constant dense<[0.0, 0.2, 0.1, 0.0]> : tensor<4xf32>
  %v = mp.constant dense<[1.2, 1.1, 0.9, 1.0]> : tensor<4xf32>
  %v1 = mp.constant dense<[16.0, 17.0, 15.0, 18.0]> : tensor<4xf32>
  %f = mp.constant dense<0.16666667> : tensor<4x4x3x3xf32>
  %0 = mp.batch_norm %x scale %w bias %b mean %m variance %v : (tensor<4x4x16x16xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x4x16x16xf32>
  %1 = mp.conv %0, %f : (tensor<4x4x16x16xf32>, tensor<4x4x3x3xf32>) -> tensor<4x4x14x14xf32>
  %2 = mp.batch_norm %1 scale %w bias %b mean %m variance %v1 : (tensor<4x4x14x14xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x4x14x14xf32>
  %3 = mp.conv %2, %f : (tensor<4x4x14x14xf32>, tensor<4x4x3x3xf32>) -> tensor<4x4x12x12xf32>
  %4 = mp.batch_norm %3 scale %w bias %b mean %m variance %v1 : (tensor<4x4x12x12xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x4x12x12xf32>
  %5 = mp.conv %4, %f : (tensor<4x4x12x12xf32>, tensor<4x4x3x3xf32>) -> tensor<4x4x10x10xf32>
  %6 = mp.batch_norm %5 scale %w bias %b mean %m variance %v1 : (tensor<4x4x10x10xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x4x10x10xf32>
  %7 = mp.conv %6, %f : (tensor<4x4x10x10xf32>, tensor<4x4x3x3xf32>) -> tensor<4x4x8x8xf32>
  %8 = mp.batch_norm %7 scale %w bias %b mean %m variance %v1 : (tensor<4x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x4x8x8xf32>
  return %8 : tensor<4x4x8x8xf32>
}
