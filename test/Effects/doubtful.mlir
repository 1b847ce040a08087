// Typical scores are near -15, where a rounding changes a probability by a share of
// itself. What a detector is used for are the few that are not, which are hardly
// rounded. Where scores of both signs are expected it is as it was.
// RUN: split-file %s %t
// RUN: mpopt --check %t/rare.mlir --precision fp16 --format json -o %t/rare.json
// RUN: mpopt --check %t/even.mlir --precision fp16 --format json -o %t/even.json
// RUN: %python %S/Inputs/expected-rms.py %t/rare.json 1e-5 5e-4
// RUN: %python %S/Inputs/expected-rms.py %t/even.json 1.9e-4 5e-4

//--- rare.mlir
func.func @main(%x: tensor<16x64xf32> {mp.name = "x"}) -> (tensor<16x32xf32> {mp.name = "result"}) {
  %w = mp.constant dense<0.1> : tensor<64x32xf32>
  %b = mp.constant dense<-15.25> : tensor<32xf32>
  %0 = mp.gemm %x, %w bias %b : (tensor<16x64xf32>, tensor<64x32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
  %1 = mp.sigmoid %0 : (tensor<16x32xf32>) -> tensor<16x32xf32>
  return %1 : tensor<16x32xf32>
}

//--- even.mlir
func.func @main(%x: tensor<16x64xf32> {mp.name = "x"}) -> (tensor<16x32xf32> {mp.name = "result"}) {
  %w = mp.constant dense<0.1> : tensor<64x32xf32>
  %b = mp.constant dense<-0.3> : tensor<32xf32>
  %0 = mp.gemm %x, %w bias %b : (tensor<16x64xf32>, tensor<64x32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
  %1 = mp.sigmoid %0 : (tensor<16x32xf32>) -> tensor<16x32xf32>
  return %1 : tensor<16x32xf32>
}
