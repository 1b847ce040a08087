// Each place says what it does by itself to the output that it moves most.
// RUN: split-file %s %t
// RUN: not mpopt --check %t/two.mlir --precision fp16 --input x=-300:300 --input x~0,100 | FileCheck %s --check-prefix TEXT
// RUN: not mpopt --check %t/two.mlir --precision fp16 --input x=-300:300 --input x~0,100 --format markdown | FileCheck %s --check-prefix MARKDOWN
// RUN: mpopt --check %t/small.mlir --precision fp16 | FileCheck %s --check-prefix SMALL

// TEXT: error[MP2{{[0-9]+}}]
// TEXT: magnitudes are expected to reach
// TEXT: {{^      }}makes Inf or NaN of `squares`
// MARKDOWN: makes Inf or NaN of `squares`
// SMALL: {{^      }}changes `result` by {{[0-9.]+}} %{{$}}

//--- two.mlir
func.func @main(%x: tensor<64x64xf32> {mp.name = "x"}) -> (tensor<64x64xf32> {mp.name = "squares"}, tensor<64x64xf32> {mp.name = "other"}) {
  %0 = mp.square %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = mp.tanh %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
}

//--- small.mlir
func.func @main(%x: tensor<64x8xf32> {mp.name = "x"}) -> (tensor<64x8xf32> {mp.name = "result"}) {
  %w = mp.constant dense<[1.0e-8, 1.0, 1.0e-8, 1.0, 1.0e-8, 1.0, 1.0, 1.0]> : tensor<8xf32>
  %0 = mp.mul %x, %w : (tensor<64x8xf32>, tensor<8xf32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
