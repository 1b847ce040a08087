// Rows over their sum, as linear attention weights them, or over their length: what all elements
// have in common goes, and the sum is that of the row, seldom next to the epsilon. 0.0004 are
// measured of the shares and 0.0003 of the lengths.
// RUN: split-file %s %t
// RUN: mpopt --check %t/sum.mlir --precision fp16 --format json | FileCheck %s
// RUN: mpopt --check %t/length.mlir --precision fp16 --format json | FileCheck %s
//
// CHECK: "expected_rms": 0.000{{[2-8]}}

//--- sum.mlir
func.func @main(%x: tensor<64x4xf32> {mp.name = "x"}) -> (tensor<64x4xf32> {mp.name = "result"}) {
  %axis = mp.constant dense<1> : tensor<1xi64>
  %eps = mp.constant dense<1.0e-6> : tensor<f32>
  %two = mp.constant dense<2.0> : tensor<f32>
  %0 = mp.relu %x : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %1 = mp.pow %0, %two : (tensor<64x4xf32>, tensor<f32>) -> tensor<64x4xf32>
  %2 = mp.reduce_sum %1 axes %axis {keep_dims = true} : (tensor<64x4xf32>, tensor<1xi64>) -> tensor<64x1xf32>
  %3 = mp.add %2, %eps : (tensor<64x1xf32>, tensor<f32>) -> tensor<64x1xf32>
  %4 = mp.div %1, %3 : (tensor<64x4xf32>, tensor<64x1xf32>) -> tensor<64x4xf32>
  return %4 : tensor<64x4xf32>
}

//--- length.mlir
func.func @main(%x: tensor<64x4xf32> {mp.name = "x"}) -> (tensor<64x4xf32> {mp.name = "result"}) {
  %axis = mp.constant dense<1> : tensor<1xi64>
  %eps = mp.constant dense<1.0e-6> : tensor<f32>
  %0 = mp.reduce_l2 %x axes %axis {keep_dims = true} : (tensor<64x4xf32>, tensor<1xi64>) -> tensor<64x1xf32>
  %1 = mp.clip %0 min %eps : (tensor<64x1xf32>, tensor<f32>) -> tensor<64x1xf32>
  %2 = mp.div %x, %1 : (tensor<64x4xf32>, tensor<64x1xf32>) -> tensor<64x4xf32>
  return %2 : tensor<64x4xf32>
}
