// Boxes in pixels beside scores: the largest error is that of the boxes, of the
// boxes' size, whatever share of all elements they are. A mean over all of them
// would be a thirtieth of it.
// RUN: split-file %s %t
// RUN: mpopt --check %t/boxes.mlir --precision fp16 --format json -o %t/boxes.json
// RUN: mpopt --check %t/joined.mlir --precision fp16 --format json -o %t/joined.json
// RUN: mpopt --check %t/turned.mlir --precision fp16 --format json -o %t/turned.json
// RUN: %python %S/Inputs/same-error.py %t/boxes.json %t/joined.json %t/turned.json

//--- boxes.mlir
func.func @main(%x: tensor<8x64xf32>) -> (tensor<8x64xf32> {mp.name = "result"}) {
  %pixels = mp.constant dense<320.0> : tensor<f32>
  %b = mp.sigmoid %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %0 = mp.mul %b, %pixels : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

//--- joined.mlir
func.func @main(%x: tensor<8x64xf32>, %y: tensor<8x4096xf32>) -> (tensor<8x4160xf32> {mp.name = "result"}) {
  %pixels = mp.constant dense<320.0> : tensor<f32>
  %b = mp.sigmoid %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %0 = mp.mul %b, %pixels : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %s = mp.sigmoid %y : (tensor<8x4096xf32>) -> tensor<8x4096xf32>
  %1 = mp.concat %0, %s {axis = 1 : i64} : (tensor<8x64xf32>, tensor<8x4096xf32>) -> tensor<8x4160xf32>
  return %1 : tensor<8x4160xf32>
}

//--- turned.mlir
func.func @main(%x: tensor<8x64xf32>, %y: tensor<8x4096xf32>) -> (tensor<4160x8xf32> {mp.name = "result"}) {
  %pixels = mp.constant dense<320.0> : tensor<f32>
  %b = mp.sigmoid %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %0 = mp.mul %b, %pixels : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %s = mp.sigmoid %y : (tensor<8x4096xf32>) -> tensor<8x4096xf32>
  %1 = mp.concat %0, %s {axis = 1 : i64} : (tensor<8x64xf32>, tensor<8x4096xf32>) -> tensor<8x4160xf32>
  %2 = mp.transpose %1 {perm = array<i64: 1, 0>} : (tensor<8x4160xf32>) -> tensor<4160x8xf32>
  return %2 : tensor<4160x8xf32>
}

// A cache whose other places are still zeros.
// RUN: mpopt --check %t/padded.mlir --precision fp16 --format json -o %t/padded.json
// RUN: %python %S/Inputs/same-error.py %t/boxes.json %t/padded.json

//--- padded.mlir
func.func @main(%x: tensor<8x64xf32>) -> (tensor<8x128xf32> {mp.name = "result"}) {
  %pixels = mp.constant dense<320.0> : tensor<f32>
  %zeros = mp.constant dense<0.0> : tensor<8x64xf32>
  %b = mp.sigmoid %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %0 = mp.mul %b, %pixels : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %1 = mp.concat %0, %zeros {axis = 1 : i64} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x128xf32>
  return %1 : tensor<8x128xf32>
}
