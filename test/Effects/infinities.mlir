// Inf and NaN follow the path until something absorbs them: what reaches an output
// is an error, what does not is judged by what it does to values.
// RUN: split-file %s %t
// RUN: not mpopt --check %t/reaches.mlir | FileCheck %s --check-prefix REACHES
// RUN: mpopt --check %t/softmax.mlir | FileCheck %s --check-prefix SOFTMAX
// RUN: mpopt --check %t/clip.mlir | FileCheck %s --check-prefix CLIP
// RUN: not mpopt --check %t/quotient.mlir --format json | FileCheck %s --check-prefix QUOTIENT
// RUN: mpopt --check %t/compared.mlir | FileCheck %s --check-prefix COMPARED
// RUN: mpopt --check %t/gathered.mlir --format json | FileCheck %s --check-prefix GATHERED
// RUN: not mpopt --check %t/digits.mlir | FileCheck %s --check-prefix DIGITS

// RUN: mpopt --check %t/absorbed.mlir --precision fp16 --input x~0,1 | FileCheck %s --check-prefix ABSORBED

// ABSORBED: is expected to change `y` by 0.{{[0-9]+}} %: fine
// REACHES: storage in its own dtypes is expected to make Inf or NaN of `result
// REACHES: error[MP201]
// SOFTMAX: is expected to change `result
// SOFTMAX: fine
// SOFTMAX-NOT: error
// CLIP: is expected to change `result
// CLIP-NOT: error
// What FP32 has there is lost.
// QUOTIENT: "expected_error": {{[0-9.]+}}
// QUOTIENT: "severity": "error"
// COMPARED-NOT: error
// A channel that overflows is not among those that are read.
// GATHERED: "expected_error": 0.000
// GATHERED-NOT: "severity": "error"
// Digits are not what an infinite value lacks: the overflow is the error, and
// comes first.
// DIGITS: to make Inf or NaN of `result
// DIGITS: error[MP201]
// DIGITS: note[MP109]
// Scores that are all past the edge of the dtype that they come from are no mask.
// RUN: not mpopt --check %t/widened.mlir | FileCheck %s --check-prefix WIDENED
// WIDENED: is expected to make Inf or NaN of `result

//--- widened.mlir
func.func @main(%x: tensor<4x10xf16>) -> (tensor<4x10xf32> {mp.name = "result"}) {
  %c = mp.constant dense<[4.7e5, 6.0e5, 7.0e5, 8.0e5, 9.0e5, 1.0e6, 1.1e6, 1.2e6, 1.3e6, 1.5e6]> : tensor<10xf32>
  %narrow = mp.cast %c : (tensor<10xf32>) -> tensor<10xf16>
  %0 = mp.add %x, %narrow : (tensor<4x10xf16>, tensor<10xf16>) -> tensor<4x10xf16>
  %1 = mp.neg %0 : (tensor<4x10xf16>) -> tensor<4x10xf16>
  %2 = mp.cast %1 : (tensor<4x10xf16>) -> tensor<4x10xf32>
  %3 = mp.softmax %2 {axis = -1 : i64} : (tensor<4x10xf32>) -> tensor<4x10xf32>
  return %3 : tensor<4x10xf32>
}

//--- reaches.mlir
func.func @main(%x: tensor<64xf16>) -> (tensor<64xf16> {mp.name = "result"}) {
  %c = mp.constant dense<50000.0> : tensor<f16>
  %0 = mp.mul %x, %c : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
  %1 = mp.neg %0 : (tensor<64xf16>) -> tensor<64xf16>
  return %1 : tensor<64xf16>
}

//--- softmax.mlir
// A mask of -Inf among other scores takes no part.
func.func @main(%x: tensor<4x4xf16>) -> (tensor<4x4xf16> {mp.name = "result"}) {
  %mask = mp.constant dense<[[0.0, -1.0e9, -1.0e9, -1.0e9], [0.0, 0.0, -1.0e9, -1.0e9],
                             [0.0, 0.0, 0.0, -1.0e9], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %m = mp.cast %mask : (tensor<4x4xf32>) -> tensor<4x4xf16>
  %0 = mp.add %x, %m : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  %1 = mp.softmax %0 {axis = -1 : i64} : (tensor<4x4xf16>) -> tensor<4x4xf16>
  return %1 : tensor<4x4xf16>
}

//--- clip.mlir
func.func @main(%x: tensor<64xf16>) -> (tensor<64xf16> {mp.name = "result"}) {
  %c = mp.constant dense<50000.0> : tensor<f16>
  %one = mp.constant dense<1.0> : tensor<f16>
  %low = mp.constant dense<-1.0> : tensor<f16>
  %0 = mp.mul %x, %c : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
  %2 = mp.clip %0 min %low max %one : (tensor<64xf16>, tensor<f16>, tensor<f16>) -> tensor<64xf16>
  return %2 : tensor<64xf16>
}

//--- quotient.mlir
func.func @main(%x: tensor<64xf16>) -> (tensor<64xf16> {mp.name = "result"}) {
  %c = mp.constant dense<50000.0> : tensor<f16>
  %one = mp.constant dense<10.0> : tensor<f16>
  %0 = mp.abs %x : (tensor<64xf16>) -> tensor<64xf16>
  %1 = mp.add %0, %one : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
  %2 = mp.mul %1, %c : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
  %3 = mp.div %c, %2 : (tensor<f16>, tensor<64xf16>) -> tensor<64xf16>
  return %3 : tensor<64xf16>
}

//--- compared.mlir
func.func @main(%x: tensor<64xf16>, %y: tensor<64xf16>) -> (tensor<64xf16> {mp.name = "result"}) {
  %c = mp.constant dense<50000.0> : tensor<f16>
  %0 = mp.mul %x, %c : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
  %1 = mp.greater %0, %c : (tensor<64xf16>, tensor<f16>) -> tensor<64xi1>
  %2 = mp.where %1, %x, %y : (tensor<64xi1>, tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
  return %2 : tensor<64xf16>
}

//--- gathered.mlir
func.func @main(%x: tensor<64x2xf16>) -> (tensor<64x1xf16> {mp.name = "result"}) {
  %c = mp.constant dense<[2.0, 50000.0]> : tensor<2xf16>
  %0 = mp.mul %x, %c : (tensor<64x2xf16>, tensor<2xf16>) -> tensor<64x2xf16>
  %1:2 = mp.split %0 {axis = 1 : i64} : (tensor<64x2xf16>) -> (tensor<64x1xf16>, tensor<64x1xf16>)
  return %1#0 : tensor<64x1xf16>
}

//--- digits.mlir
func.func @main(%x: tensor<1x2x8xf16>) -> (tensor<1x2x8xf16> {mp.name = "result"}) {
  %m = mp.constant dense<[-0.1, 0.2]> : tensor<2xf16>
  %v = mp.constant dense<[1.2, 0.9]> : tensor<2xf16>
  %scale = mp.constant dense<[50000.0, 60000.0]> : tensor<2xf16>
  %0 = mp.batch_norm %x scale %scale bias %m mean %m variance %v : (tensor<1x2x8xf16>, tensor<2xf16>, tensor<2xf16>, tensor<2xf16>, tensor<2xf16>) -> tensor<1x2x8xf16>
  return %0 : tensor<1x2x8xf16>
}

//--- absorbed.mlir
// One of 64 channels is so large that its squares overflow: its rows are 0 behind the
// norm, and beside the stream that is what is lost.
func.func @main(%x: tensor<4x16x64xf32> {mp.name = "x"}) -> (tensor<4x16x64xf32> {mp.name = "y"}) {
  %last = mp.constant dense<-1> : tensor<1xi64>
  %eps = mp.constant dense<1.0e-4> : tensor<f32>
  %gain = mp.constant dense<[1000.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]> : tensor<64xf32>
  %s = mp.mul %x, %gain : (tensor<4x16x64xf32>, tensor<64xf32>) -> tensor<4x16x64xf32>
  %0 = mp.mul %s, %s : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %1 = mp.reduce_mean %0 axes %last {keep_dims = true} : (tensor<4x16x64xf32>, tensor<1xi64>) -> tensor<4x16x1xf32>
  %2 = mp.add %1, %eps : (tensor<4x16x1xf32>, tensor<f32>) -> tensor<4x16x1xf32>
  %3 = mp.sqrt %2 : (tensor<4x16x1xf32>) -> tensor<4x16x1xf32>
  %4 = mp.div %s, %3 : (tensor<4x16x64xf32>, tensor<4x16x1xf32>) -> tensor<4x16x64xf32>
  %5 = mp.add %s, %4 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  return %5 : tensor<4x16x64xf32>
}
