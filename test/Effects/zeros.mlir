// An output that is 0 by its weights, as heads are before a training, is not moved;
// one that is 0 since everything in front of it was lost is.
// RUN: split-file %s %t
// RUN: mpopt --check %t/head.mlir | FileCheck %s --check-prefix HEAD
// RUN: mpopt --check %t/lost.mlir --fail-on never | FileCheck %s --check-prefix LOST
// RUN: mpopt --check %t/layers.mlir --precision fp16 --fail-on never | FileCheck %s --check-prefix LAYERS

// HEAD: storage in its own dtypes is expected to change `result` by 0 %: fine
// LOST: is expected to change `result` by more than its largest value
// LOST: error[MP213]
// Of two layers that are lost neither is seen behind the other.
// LAYERS-NOT: by 0 %
// LAYERS: the effect of fp16 on `result` is not known
// Zeros that are repeated a number of times that only a run knows have no error, whatever
// their gradient is.
// RUN: mpopt --check %t/repeated.mlir --precision fp16 | FileCheck %s --check-prefix REPEATED
// REPEATED: fp16 is expected to change `result` by 0.{{.*}}: fine

//--- head.mlir
func.func @main(%x: tensor<4x8xf16>) -> (tensor<4x3xf16> {mp.name = "result"}) {
  %weight = mp.constant dense<0.0> : tensor<8x3xf16>
  %tanh = mp.tanh %x : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %0 = mp.matmul %tanh, %weight : (tensor<4x8xf16>, tensor<8x3xf16>) -> tensor<4x3xf16>
  return %0 : tensor<4x3xf16>
}

//--- lost.mlir
func.func @main(%x: tensor<64xf16>) -> (tensor<64xf16> {mp.name = "result"}) {
  %c = mp.constant dense<1.0e-10> : tensor<f32>
  %wide = mp.cast %x : (tensor<64xf16>) -> tensor<64xf32>
  %small = mp.mul %wide, %c : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %0 = mp.cast %small : (tensor<64xf32>) -> tensor<64xf16>
  %1 = mp.neg %0 : (tensor<64xf16>) -> tensor<64xf16>
  return %1 : tensor<64xf16>
}

//--- layers.mlir
func.func @main(%x: tensor<4x8xf32>) -> (tensor<4x3xf32> {mp.name = "result"}) {
  %first = mp.constant dense<1.0e-10> : tensor<8x8xf32>
  %second = mp.constant dense<1.0e-10> : tensor<8x3xf32>
  %hidden = mp.matmul %x, %first : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %0 = mp.matmul %hidden, %second : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

//--- repeated.mlir
func.func @main(%x: tensor<4x8xf32>, %count: tensor<2xi64> {mp.name = "count"}) -> (tensor<4x8xf32> {mp.name = "result"}) {
  %zeros = mp.constant dense<0.0> : tensor<1x8xf32>
  %tiled = mp.tile %zeros, %count : (tensor<1x8xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %shape = mp.constant dense<[4, 8]> : tensor<2xi64>
  %state = mp.reshape %tiled, %shape : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<4x8xf32>
  %sum = mp.add %x, %state : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = mp.tanh %sum : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
