// The roundings of queries and keys that are inputs, with a batch in front: what arrives at
// the probabilities differs from key to key, though no axis holds positions. Emulated, the
// largest error of eight runs is 0.014 to 0.026 of the largest value, the root mean square
// 0.008 to 0.009.
// RUN: mpopt --check %s --precision bf16 --format json --fail-on never | FileCheck %s
// CHECK: "expected_error": 0.0{{1|2}}
// CHECK: "expected_rms": 0.00{{5|6}}
func.func @main(%q: tensor<8x64x32xf32> {mp.name = "q", mp.assume = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %k: tensor<8x32x32xf32> {mp.name = "k", mp.assume = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %v: tensor<8x32x16xf32> {mp.name = "v", mp.assume = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) -> (tensor<8x64x16xf32> {mp.name = "y"}) {
  %0 = mp.matmul %q, %k : (tensor<8x64x32xf32>, tensor<8x32x32xf32>) -> tensor<8x64x32xf32>
  %1 = mp.softmax %0 {axis = 2 : i64} : (tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
  %2 = mp.matmul %1, %v : (tensor<8x64x32xf32>, tensor<8x32x16xf32>) -> tensor<8x64x16xf32>
  return %2 : tensor<8x64x16xf32>
}
