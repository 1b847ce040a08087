// On a target that adds in 16 bits the sums inside of an op count.
// RUN: split-file %s %t
// RUN: not mpopt --check %t/mean.mlir --precision fp16 --input x=0:10 --target strict16 | FileCheck %s --check-prefix MEAN
// RUN: mpopt --check %t/mean.mlir --precision fp16 --input x=0:10 | FileCheck %s --check-prefix WIDE
// RUN: not mpopt --check %t/norm.mlir --precision fp16 --input x=-600:600 --input x~0,100 --target strict16 | FileCheck %s --check-prefix NORM
// RUN: mpopt --check %t/norm.mlir --precision fp16 --input x=-600:600 --input x~0,100 | FileCheck %s --check-prefix WIDE
// RUN: not mpopt --check %t/average.mlir --precision fp16 --input x=50:150 --target strict16 | FileCheck %s --check-prefix AVERAGE
// RUN: mpopt --check %t/short.mlir --precision fp16 --target strict16 | FileCheck %s --check-prefix WIDE

// Terms of 5 are absorbed once half a unit of the partial sum is larger.
// MEAN: error[MP304]
// MEAN: adding 16384 terms in f16 one after another
// WIDE: fine
// NORM: error[MP304]
// NORM: the kernel adds 192 squares in f16
// NORM: it{{.*}}
// NORM: becomes Inf, and its quotients 0
// NORM: 0 of 1 float tensor proved
// AVERAGE: is expected to make Inf or NaN of `result`
// AVERAGE: error[MP304]
// AVERAGE: the kernel adds 1024 terms in f16
// AVERAGE: it{{$}}
// AVERAGE: becomes Inf

//--- mean.mlir
func.func @main(%x: tensor<1x16384x4xf32> {mp.name = "x"}) -> (tensor<1x4xf32> {mp.name = "result"}) {
  %0 = mp.reduce_mean %x {axes = array<i64: 1>} : (tensor<1x16384x4xf32>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

//--- norm.mlir
func.func @main(%x: tensor<4x192xf32> {mp.name = "x"}) -> (tensor<4x192xf32> {mp.name = "result"}) {
  %0 = mp.rms_norm %x : (tensor<4x192xf32>) -> tensor<4x192xf32>
  return %0 : tensor<4x192xf32>
}

//--- average.mlir
func.func @main(%x: tensor<1x4x32x32xf32> {mp.name = "x"}) -> (tensor<1x4x1x1xf32> {mp.name = "result"}) {
  %0 = mp.global_average_pool %x : (tensor<1x4x32x32xf32>) -> tensor<1x4x1x1xf32>
  return %0 : tensor<1x4x1x1xf32>
}

//--- short.mlir
func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x32xf32>) -> (tensor<4x32xf32> {mp.name = "result"}) {
  %0 = mp.layer_norm %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = mp.matmul %0, %w : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  %2 = mp.softmax %1 : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %2 : tensor<4x32xf32>
}
