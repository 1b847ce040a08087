// A logarithm of energies plus an epsilon that FP16 has as 0: silence is a sample that
// an estimate of typical ones does not expect. With a bias in front nothing is 0.
// RUN: split-file %s %t
// RUN: not mpopt --check %t/silence.mlir --precision fp16 | FileCheck %s --check-prefix SILENCE
// RUN: mpopt --check %t/bias.mlir --precision fp16 | FileCheck %s --check-prefix BIAS

// SILENCE: error[MP203]
// SILENCE: guards nothing: log of 0 is -Inf
// BIAS-NOT: error
// RUN: not mpopt --check %t/spectrum.mlir --precision fp16 | FileCheck %s --check-prefix SPECTRUM
// SPECTRUM: error[MP203]
// SPECTRUM: guards nothing: log of 0 is -Inf
// SPECTRUM: compute the guarded log and the limit in front of it in f32

// Pixels of a black image are such a sample; a mask of zeros leaves nothing to average.
// RUN: not mpopt --check %t/pixels.mlir --precision fp16 | FileCheck %s --check-prefix PIXELS
// PIXELS: error[MP203]
// RUN: mpopt --check %t/pooling.mlir --precision fp16 | FileCheck %s --check-prefix POOLING
// POOLING-NOT: error
// POOLING: nothing to do

// The distance of a point from itself is 0, and its root: nothing divides by it, and
// only the gradient is infinite.
// RUN: mpopt --check %t/distance.mlir --precision fp16 | FileCheck %s --check-prefix DISTANCE
// RUN: not mpopt --check %t/distance.mlir --precision fp16 --train --loss sum:result | FileCheck %s --check-prefix GRADIENT
// DISTANCE-NOT: error
// GRADIENT: error[MP203]
// GRADIENT: guards nothing: sqrt has an infinite derivative at 0

// The degree of a node in a kernel of distances is a sum of exponentials.
// RUN: mpopt --check %t/degree.mlir --precision fp16 | FileCheck %s --check-prefix DEGREE
// DEGREE-NOT: error
// Half of a softplus of wide numbers is next to 0, however large the others are.
// RUN: not mpopt --check %t/rates.mlir --precision fp16 --input x=-600:600 --input x~0,150 | FileCheck %s --check-prefix RATES
// RATES: error[MP203]
// RATES: guards nothing: log of 0 is -Inf

//--- rates.mlir
func.func @main(%x: tensor<4x64xf32> {mp.name = "x"}) -> (tensor<4x64xf32> {mp.name = "result"}) {
  %b = mp.constant dense<0.25> : tensor<64xf32>
  %eps = mp.constant dense<1.0e-8> : tensor<f32>
  %0 = mp.add %x, %b : (tensor<4x64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
  %1 = mp.softplus %0 : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %2 = mp.add %1, %eps : (tensor<4x64xf32>, tensor<f32>) -> tensor<4x64xf32>
  %3 = mp.log %2 : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %far = mp.constant dense<1000.0> : tensor<f32>
  %4 = mp.add %3, %far : (tensor<4x64xf32>, tensor<f32>) -> tensor<4x64xf32>
  return %4 : tensor<4x64xf32>
}

// Of eight rectified numbers all are 0 once in 256 rows; of 64 none ever are.
// RUN: not mpopt --check %t/few.mlir --precision fp16 | FileCheck %s --check-prefix FEW
// RUN: mpopt --check %t/many.mlir --precision fp16 | FileCheck %s --check-prefix MANY
// FEW: error[MP203]
// FEW: guards nothing: div by 0 gives Inf or NaN
// MANY-NOT: error

// The length that is one op has the same zeros; a scale of 1 more keeps filters off them.
// RUN: not mpopt --check %t/length.mlir --precision fp16 | FileCheck %s --check-prefix LENGTH
// RUN: mpopt --check %t/demodulated.mlir --precision fp16 | FileCheck %s --check-prefix DEMODULATED
// LENGTH: error[MP203]
// LENGTH: guards nothing: div by 0 gives Inf or NaN
// DEMODULATED-NOT: error

//--- length.mlir
func.func @main(%x: tensor<4x3x64xf32> {mp.name = "x"}) -> (tensor<4x3x64xf32> {mp.name = "result"}) {
  %eps = mp.constant dense<1.0e-12> : tensor<f32>
  %0 = mp.reduce_l2 %x {axes = array<i64: 1>, keep_dims = true} : (tensor<4x3x64xf32>) -> tensor<4x1x64xf32>
  %1 = mp.clip %0 min %eps : (tensor<4x1x64xf32>, tensor<f32>) -> tensor<4x1x64xf32>
  %2 = mp.div %x, %1 : (tensor<4x3x64xf32>, tensor<4x1x64xf32>) -> tensor<4x3x64xf32>
  return %2 : tensor<4x3x64xf32>
}

//--- demodulated.mlir
func.func @main(%style: tensor<8xf32> {mp.name = "style"}) -> (tensor<2x8xf32> {mp.name = "result"}) {
  %eps = mp.constant dense<1.0e-8> : tensor<f32>
  %one = mp.constant dense<1.0> : tensor<f32>
  %w = mp.constant dense<[[0.3, -0.1, 0.2, 0.4, -0.5, 0.1, 0.2, 0.3], [0.1, 0.2, -0.3, 0.2, 0.5, 0.6, -0.1, 0.2]]> : tensor<2x8xf32>
  %0 = mp.add %style, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = mp.mul %w, %0 : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %2 = mp.mul %1, %1 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = mp.reduce_sum %2 {axes = array<i64: 1>, keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %4 = mp.add %3, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %5 = mp.sqrt %4 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %6 = mp.div %1, %5 : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %6 : tensor<2x8xf32>
}

//--- silence.mlir
func.func @main(%x: tensor<4x64xf32>) -> (tensor<4x16xf32> {mp.name = "result"}) {
  %w = mp.constant dense<0.5> : tensor<64x16xf32>
  %eps = mp.constant dense<1.0e-9> : tensor<f32>
  %0 = mp.abs %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = mp.matmul %0, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  %2 = mp.add %1, %eps : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  %3 = mp.log %2 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

//--- bias.mlir
func.func @main(%x: tensor<4x64xf32>) -> (tensor<4x16xf32> {mp.name = "result"}) {
  %w = mp.constant dense<0.5> : tensor<64x16xf32>
  %b = mp.constant dense<0.25> : tensor<16xf32>
  %eps = mp.constant dense<1.0e-9> : tensor<f32>
  %0 = mp.abs %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = mp.matmul %0, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  %2 = mp.add %1, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %3 = mp.add %2, %eps : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  %4 = mp.log %3 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %4 : tensor<4x16xf32>
}

//--- spectrum.mlir
func.func @main(%x: tensor<4x64xf32>) -> (tensor<4x16xf32> {mp.name = "result"}) {
  %w = mp.constant dense<0.5> : tensor<64x16xf32>
  %two = mp.constant dense<2.0> : tensor<f32>
  %eps = mp.constant dense<1.0e-12> : tensor<f32>
  %0 = mp.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  %1 = mp.mul %0, %0 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = mp.sqrt %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %3 = mp.pow %2, %two : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  %4 = mp.max %eps, %3 : (tensor<f32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %5 = mp.log %4 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %5 : tensor<4x16xf32>
}

//--- pixels.mlir
func.func @main(%x: tensor<4x64xui8>) -> (tensor<4x16xf32> {mp.name = "result"}) {
  %w = mp.constant dense<0.5> : tensor<64x16xf32>
  %eps = mp.constant dense<1.0e-9> : tensor<f32>
  %0 = mp.cast %x : (tensor<4x64xui8>) -> tensor<4x64xf32>
  %1 = mp.matmul %0, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  %2 = mp.add %1, %eps : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  %3 = mp.log %2 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

//--- pooling.mlir
func.func @main(%x: tensor<4x24x16xf32>, %mask: tensor<4x24xi64>) -> (tensor<4x16xf32> {mp.name = "result"}) {
  %eps = mp.constant dense<1.0e-9> : tensor<f32>
  %last = mp.constant dense<-1> : tensor<1xi64>
  %one = mp.constant dense<1> : tensor<1xi64>
  %0 = mp.unsqueeze %mask axes %last : (tensor<4x24xi64>, tensor<1xi64>) -> tensor<4x24x1xi64>
  %1 = mp.cast %0 : (tensor<4x24x1xi64>) -> tensor<4x24x1xf32>
  %2 = mp.mul %x, %1 : (tensor<4x24x16xf32>, tensor<4x24x1xf32>) -> tensor<4x24x16xf32>
  %3 = mp.reduce_sum %2 axes %one {keep_dims = false} : (tensor<4x24x16xf32>, tensor<1xi64>) -> tensor<4x16xf32>
  %4 = mp.reduce_sum %1 axes %one {keep_dims = false} : (tensor<4x24x1xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  %5 = mp.max %4, %eps : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %6 = mp.div %3, %5 : (tensor<4x16xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
  return %6 : tensor<4x16xf32>
}

//--- distance.mlir
module {
  func.func @main(%x: tensor<4x64x3xf32>) -> (tensor<4x64x64xf32> {mp.name = "result"}) {
    %eps = mp.constant dense<1.0e-12> : tensor<f32>
    %w = mp.constant dense<0.5> : tensor<3x3xf32> loc(#w)
    %0 = mp.matmul %x, %w : (tensor<4x64x3xf32>, tensor<3x3xf32>) -> tensor<4x64x3xf32>
    %1 = mp.constant dense<1> : tensor<1xi64>
    %2 = mp.constant dense<2> : tensor<1xi64>
    %3 = mp.constant dense<-1> : tensor<1xi64>
    %4 = mp.unsqueeze %0 axes %1 : (tensor<4x64x3xf32>, tensor<1xi64>) -> tensor<4x1x64x3xf32>
    %5 = mp.unsqueeze %0 axes %2 : (tensor<4x64x3xf32>, tensor<1xi64>) -> tensor<4x64x1x3xf32>
    %6 = mp.sub %4, %5 : (tensor<4x1x64x3xf32>, tensor<4x64x1x3xf32>) -> tensor<4x64x64x3xf32>
    %7 = mp.mul %6, %6 : (tensor<4x64x64x3xf32>, tensor<4x64x64x3xf32>) -> tensor<4x64x64x3xf32>
    %8 = mp.reduce_sum %7 axes %3 {keep_dims = false} : (tensor<4x64x64x3xf32>, tensor<1xi64>) -> tensor<4x64x64xf32>
    %9 = mp.add %8, %eps : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64x64xf32>
    %10 = mp.sqrt %9 : (tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    return %10 : tensor<4x64x64xf32>
  }
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["f"])

//--- degree.mlir
func.func @main(%x: tensor<4x16x16xf32>, %y: tensor<4x16x8xf32>) -> (tensor<4x16x8xf32> {mp.name = "result"}) {
  %eps = mp.constant dense<1.0e-8> : tensor<f32>
  %last = mp.constant dense<-1> : tensor<1xi64>
  %0 = mp.abs %x : (tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %1 = mp.neg %0 : (tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %2 = mp.exp %1 : (tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %3 = mp.reduce_sum %2 axes %last {keep_dims = true} : (tensor<4x16x16xf32>, tensor<1xi64>) -> tensor<4x16x1xf32>
  %4 = mp.add %3, %eps : (tensor<4x16x1xf32>, tensor<f32>) -> tensor<4x16x1xf32>
  %5 = mp.rsqrt %4 : (tensor<4x16x1xf32>) -> tensor<4x16x1xf32>
  %6 = mp.mul %y, %5 : (tensor<4x16x8xf32>, tensor<4x16x1xf32>) -> tensor<4x16x8xf32>
  return %6 : tensor<4x16x8xf32>
}

//--- few.mlir
func.func @main(%x: tensor<4x8x8xf32>) -> (tensor<4x8x8xf32> {mp.name = "result"}) {
  %w = mp.constant dense<0.01> : tensor<1xf32>
  %eps = mp.constant dense<1.0e-8> : tensor<f32>
  %last = mp.constant dense<-1> : tensor<1xi64>
  %0 = mp.sub %x, %w : (tensor<4x8x8xf32>, tensor<1xf32>) -> tensor<4x8x8xf32>
  %1 = mp.relu %0 : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %2 = mp.reduce_sum %1 axes %last {keep_dims = true} : (tensor<4x8x8xf32>, tensor<1xi64>) -> tensor<4x8x1xf32>
  %3 = mp.add %2, %eps : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8x1xf32>
  %4 = mp.div %1, %3 : (tensor<4x8x8xf32>, tensor<4x8x1xf32>) -> tensor<4x8x8xf32>
  return %4 : tensor<4x8x8xf32>
}

//--- many.mlir
func.func @main(%x: tensor<4x8x64xf32>) -> (tensor<4x8x64xf32> {mp.name = "result"}) {
  %w = mp.constant dense<0.01> : tensor<1xf32>
  %eps = mp.constant dense<1.0e-8> : tensor<f32>
  %last = mp.constant dense<-1> : tensor<1xi64>
  %0 = mp.sub %x, %w : (tensor<4x8x64xf32>, tensor<1xf32>) -> tensor<4x8x64xf32>
  %1 = mp.relu %0 : (tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
  %2 = mp.reduce_sum %1 axes %last {keep_dims = true} : (tensor<4x8x64xf32>, tensor<1xi64>) -> tensor<4x8x1xf32>
  %3 = mp.add %2, %eps : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8x1xf32>
  %4 = mp.div %1, %3 : (tensor<4x8x64xf32>, tensor<4x8x1xf32>) -> tensor<4x8x64xf32>
  return %4 : tensor<4x8x64xf32>
}
