// Attention that picks one key: its probability, 1, is the largest of its scale
// and has no error, so that the product has the noise of v alone, 3 dB less.
// RUN: mpopt --check %s --precision fp8-e4m3:dynamic --input x=-6000:6000 --input x~0,1000 --format json --fail-on never | FileCheck %s
// CHECK: "snr_db": 31.{{[3-7]}}
func.func @main(%x: tensor<64x16xf32> {mp.name = "x"}, %v: tensor<16x32xf32> {mp.name = "v"}) -> (tensor<64x32xf32> {mp.name = "picked"}) {
  %0 = mp.softmax %x : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %1 = mp.matmul %0, %v : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}
