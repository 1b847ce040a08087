// A fix by a power of two is tried: with the factor taken along, and back.

// RUN: split-file %s %t
// RUN: not mpopt --check %t/norm.mlir --set effect-warning=0 --select MP201 --input x~0,3 --format json | FileCheck %s --check-prefix=NORM
// RUN: not mpopt --check %t/layer.mlir --set effect-warning=0 --select MP201 --format json | FileCheck %s --check-prefix=LAYER
// RUN: not mpopt --check %t/saturates.mlir --set effect-warning=0 --select MP201 --format json | FileCheck %s --check-prefix=SATURATES
// RUN: not mpopt --check %t/rms.mlir --set effect-warning=0 --select MP209 --input x=-1000:1000 --input x~0,200 --format json | FileCheck %s --check-prefix=RMS
// RUN: not mpopt --check %t/small.mlir --set effect-warning=0 --select MP204 --input x=-0.01:0.01 --input x~0,0.002 --format json | FileCheck %s --check-prefix=SMALL
// RUN: not mpopt --check %t/returned.mlir --set effect-warning=0 --select MP204 --input x=-0.01:0.01 --input x~0,0.002 --format json | FileCheck %s --check-prefix=BACK
// RUN: not mpopt --check %t/constants.mlir --set effect-warning=0 --precision fp16 --select MP202 --format json | FileCheck %s --check-prefix=CONST
// RUN: not mpopt --check %t/constants.mlir --set effect-warning=0 --precision fp16 --select MP203 --format json | FileCheck %s --check-prefix=SMALLCONST
// RUN: not mpopt --check %t/added.mlir --set effect-warning=0 --precision fp16 --select MP202 --format json | FileCheck %s --check-prefix=ADDED

//--- norm.mlir
// The projection overflows; the normalisation does away with the factor.
module {
  func.func @main(%x: tensor<8x64xf16> {mp.name = "x"}, %r: tensor<8x64xf16> {mp.name = "r"}) -> tensor<8x64xf16> {
    %c = mp.constant dense<30000.0> : tensor<f16>
    %g = mp.constant dense<1.0> : tensor<64xf16>
    %0 = mp.mul %x, %c : (tensor<8x64xf16>, tensor<f16>) -> tensor<8x64xf16>
    %1 = mp.add %0, %r : (tensor<8x64xf16>, tensor<8x64xf16>) -> tensor<8x64xf16>
    %2 = mp.layer_norm %1 scale %g : (tensor<8x64xf16>, tensor<64xf16>) -> tensor<8x64xf16>
    return %2 : tensor<8x64xf16>
  }
}

// NORM:      "kind": "keep-fp32",
// NORM-NEXT: "safe": true,
// NORM-NEXT: "text": "keep
// NORM:      "kind": "scale",
// NORM-NEXT: "safe": true,
// NORM-NEXT: "text": "scale its operand by 2^-4

//--- layer.mlir
// Through a bias, a list of parts and a view to the next product.
module {
  func.func @main(%x: tensor<8x64xf16> {mp.name = "x"}, %r: tensor<8x64xf16> {mp.name = "r"}) -> tensor<8x32xf16> {
    %w = mp.constant dense<3000.0> : tensor<64x64xf16>
    %v = mp.constant dense<0.0001> : tensor<64x32xf16>
    %b = mp.constant dense<1.0> : tensor<64xf16>
    %0 = mp.gemm %x, %w bias %b : (tensor<8x64xf16>, tensor<64x64xf16>, tensor<64xf16>) -> tensor<8x64xf16>
    %1 = mp.relu %0 : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %2 = mp.concat %1, %r {axis = 0 : i64} : (tensor<8x64xf16>, tensor<8x64xf16>) -> tensor<16x64xf16>
    %s = mp.constant dense<0> : tensor<1xi64>
    %e = mp.constant dense<8> : tensor<1xi64>
    %3 = mp.slice %2 starts %s ends %e axes %s : (tensor<16x64xf16>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<8x64xf16>
    %4 = mp.matmul %3, %v : (tensor<8x64xf16>, tensor<64x32xf16>) -> tensor<8x32xf16>
    return %4 : tensor<8x32xf16>
  }
}

// LAYER:      "kind": "scale",
// LAYER-NEXT: "safe": true,
// LAYER-NEXT: "text": "scale its operand by 2^-

//--- saturates.mlir
// What reads it is not to be had at another size.
module {
  func.func @main(%x: tensor<8x64xf16> {mp.name = "x"}) -> tensor<8x64xf16> {
    %c = mp.constant dense<30000.0> : tensor<f16>
    %0 = mp.mul %x, %c : (tensor<8x64xf16>, tensor<f16>) -> tensor<8x64xf16>
    %1 = mp.tanh %0 : (tensor<8x64xf16>) -> tensor<8x64xf16>
    return %1 : tensor<8x64xf16>
  }
}

// SATURATES:      "kind": "keep-fp32",
// SATURATES-NEXT: "safe": true,
// SATURATES-NEXT: "text": "keep
// SATURATES:      "kind": "scale",
// SATURATES-NEXT: "safe": false,
// SATURATES-NEXT: "text": "scale its operand by 2^-

//--- rms.mlir
// A square takes the factor twice, the root half of it.
module {
  func.func @main(%x: tensor<8x64xf16> {mp.name = "x"}) -> tensor<8x64xf16> {
    %eps = mp.constant dense<1.0e-3> : tensor<f16>
    %0 = mp.mul %x, %x : (tensor<8x64xf16>, tensor<8x64xf16>) -> tensor<8x64xf16>
    %1 = mp.reduce_mean %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<8x64xf16>) -> tensor<8x1xf16>
    %2 = mp.add %1, %eps : (tensor<8x1xf16>, tensor<f16>) -> tensor<8x1xf16>
    %3 = mp.rsqrt %2 : (tensor<8x1xf16>) -> tensor<8x1xf16>
    %4 = mp.mul %x, %3 : (tensor<8x64xf16>, tensor<8x1xf16>) -> tensor<8x64xf16>
    return %4 : tensor<8x64xf16>
  }
}

// RMS:      "kind": "keep-fp32",
// RMS-NEXT: "safe": true,
// RMS-NEXT: "text": "keep
// RMS:      "kind": "scale",
// RMS-NEXT: "safe": true,
// RMS-NEXT: "text": "scale its operand by 2^-4

//--- small.mlir
// The quotient is of order one again.
module {
  func.func @main(%x: tensor<8x64xf16> {mp.name = "x"}) -> tensor<8x64xf16> {
    %c = mp.constant dense<1.0e-6> : tensor<f16>
    %d = mp.constant dense<1.0e-6> : tensor<f16>
    %0 = mp.mul %x, %c : (tensor<8x64xf16>, tensor<f16>) -> tensor<8x64xf16>
    %1 = mp.neg %0 : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %2 = mp.div %1, %d : (tensor<8x64xf16>, tensor<f16>) -> tensor<8x64xf16>
    return %2 : tensor<8x64xf16>
  }
}

// SMALL:      "kind": "keep-fp32",
// SMALL-NEXT: "safe": true,
// SMALL-NEXT: "text": "keep
// SMALL:      "kind": "scale",
// SMALL-NEXT: "safe": true,
// SMALL-NEXT: "text": "scale its operand by 2^15

//--- returned.mlir
// What is returned flushes whatever is done inside.
module {
  func.func @main(%x: tensor<8x64xf16> {mp.name = "x"}) -> tensor<8x64xf16> {
    %c = mp.constant dense<1.0e-6> : tensor<f16>
    %0 = mp.mul %x, %c : (tensor<8x64xf16>, tensor<f16>) -> tensor<8x64xf16>
    return %0 : tensor<8x64xf16>
  }
}

// BACK:      "kind": "keep-fp32",
// BACK-NEXT: "safe": false,
// BACK-NEXT: "text": "keep
// BACK:      "kind": "scale",
// BACK-NEXT: "safe": false,
// BACK-NEXT: "text": "scale its operand by 2^15

//--- constants.mlir
module {
  func.func @main(%x: tensor<64x64xf32> {mp.name = "x"}, %t: tensor<64x64xf32> {mp.name = "t"}) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %c = mp.constant dense<1.0e6> : tensor<f32>
    %d = mp.constant dense<1.0e-6> : tensor<f32>
    %e = mp.constant dense<1.0e-9> : tensor<64xf32>
    %0 = mp.mul %x, %c : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %1 = mp.mul %0, %d : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %2 = mp.mul %t, %e : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
    %3 = mp.div %2, %d : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    return %1, %3 : tensor<64x64xf32>, tensor<64x64xf32>
  }
}

// CONST:      "kind": "keep-fp32",
// CONST-NEXT: "safe": true,
// CONST-NEXT: "text": "keep
// CONST:      "kind": "change-constant",
// CONST-NEXT: "safe": true,
// CONST-NEXT: "text": "scale it by 2^-7

// SMALLCONST:      "kind": "keep-fp32",
// SMALLCONST-NEXT: "safe": true,
// SMALLCONST-NEXT: "text": "keep
// SMALLCONST:      "kind": "change-constant",
// SMALLCONST-NEXT: "safe": true,
// SMALLCONST-NEXT: "text": "scale it by 2^17
// SMALLCONST:      "kind": "change-constant",
// SMALLCONST-NEXT: "safe": true,
// SMALLCONST-NEXT: "text": "raise it to

//--- added.mlir
// A sum cannot be had at another size for a function that is not linear.
module {
  func.func @main(%x: tensor<64x64xf32> {mp.name = "x"}) -> tensor<64x64xf32> {
    %c = mp.constant dense<1.0e6> : tensor<f32>
    %0 = mp.add %x, %c : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %1 = mp.tanh %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
    return %1 : tensor<64x64xf32>
  }
}

// ADDED:      "kind": "keep-fp32",
// ADDED-NEXT: "safe": true,
// ADDED-NEXT: "text": "keep
// ADDED:      "kind": "change-constant",
// ADDED-NEXT: "safe": false,
// ADDED-NEXT: "text": "scale it by 2^-
