// The largest element of a row has the last code and no error. In heads of 12
// numbers that is a third of the row's square: draws give 30.3 dB, where long
// rows, and scales that are powers of two, have 28.5.
// RUN: mpopt --check %s --precision fp8-e4m3:row --format json --fail-on never --input x~0,1 --input y~0,1 | FileCheck %s
// RUN: mpopt --check %s --precision fp8-e4m3:mx --format json --fail-on never --input x~0,1 --input y~0,1 | FileCheck %s --check-prefix=POWERS

// CHECK: "snr_db": 30.{{[0-5]}}
// POWERS: "snr_db": 28.{{[3-7]}}
func.func @main(%x: tensor<64x12xf32> {mp.name = "x"}, %y: tensor<64x12xf32> {mp.name = "y"}) -> (tensor<64x64xf32> {mp.name = "scores"}) {
  %0 = mp.matmul %x, %y {trans_b = true} : (tensor<64x12xf32>, tensor<64x12xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
