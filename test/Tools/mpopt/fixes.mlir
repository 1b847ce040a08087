// A fix that is shown was tried.

// RUN: split-file %s %t
// RUN: not mpopt --check %t/kept.mlir --set effect-warning=0 --precision fp16 --select MP201 --input x=0:10 --input x~5,1 --keep-fp32 %t/keep.json | FileCheck %s --check-prefix=KEPT
// RUN: FileCheck %s --check-prefix=KEEP --input-file %t/keep.json
// RUN: not mpopt --check %t/returned.mlir --set effect-warning=0 --select MP201 --input x=0:10 --input x~5,1 --format json --keep-fp32 %t/none.json | FileCheck %s --check-prefix=RETURNED
// RUN: FileCheck %s --check-prefix=NOKEEP --input-file %t/none.json
// RUN: not mpopt --check %t/epsilon.mlir --set effect-warning=0 --precision fp16 --select MP203 --format json | FileCheck %s --check-prefix=EPSILON
// RUN: not mpopt --check %t/clamp.mlir --set effect-warning=0 --select MP205 --format json --input x=0:1 --input x~0,0.0001 | FileCheck %s --check-prefix=CLAMP
// RUN: not mpopt --check %t/attention.mlir --set effect-warning=0 --select MP210 --format json --input q=-100:100 --input q~0,60 --input k=-100:100 --input k~0,60 | FileCheck %s --check-prefix=ATTENTION
// RUN: not mpopt --check %t/cast.mlir --set effect-warning=0 --select MP104 --format json | FileCheck %s --check-prefix=CAST

//--- kept.mlir
// A product overflows; the quotient is small again. The three ops in between
// have to be kept together.
module {
  func.func @main(%x: tensor<64xf32> {mp.name = "x"}) -> tensor<64xf32> {
    %c = mp.constant dense<30000.0> : tensor<f32>
    %0 = mp.mul %x, %c : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32> loc(#mul)
    %1 = mp.neg %0 : (tensor<64xf32>) -> tensor<64xf32> loc(#neg)
    %2 = mp.div %1, %c : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32> loc(#div)
    %3 = mp.abs %2 : (tensor<64xf32>) -> tensor<64xf32> loc(#abs)
    return %3 : tensor<64xf32>
  }
}
#mul = loc(fused<#mp.origin<"/Mul", "Mul", "", ["a"]>>["f"])
#neg = loc(fused<#mp.origin<"/Neg", "Neg", "", ["b"]>>["f"])
#div = loc(fused<#mp.origin<"/Div", "Div", "", ["c"]>>["f"])
#abs = loc(fused<#mp.origin<"/Abs", "Abs", "", ["d"]>>["f"])

// KEPT: error[MP201]: overflow
// KEPT: --> /Mul
// KEPT: 1 other finding follows from it
// KEPT: = safe fix: keep the op and its result in f32

// KEEP:      "schema": "mpopt-keep/1",
// KEEP-NEXT: "ops": [
// KEEP-NEXT:   {
// KEEP-NEXT:     "name": "/Mul",
// KEEP-NEXT:     "type": "Mul",
// KEEP-NEXT:     "why": [
// KEEP-NEXT:       "{{[0-9a-f]+}}"
// KEEP:          "name": "/Neg",
// KEEP:          "name": "/Div",
// KEEP-NOT:      "name": "/Abs"

//--- returned.mlir
// What the model returns is f16 whatever happens inside.
module {
  func.func @main(%x: tensor<64xf16> {mp.name = "x"}) -> tensor<64xf16> {
    %c = mp.constant dense<30000.0> : tensor<f16>
    %0 = mp.mul %x, %c : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
    return %0 : tensor<64xf16>
  }
}

// RETURNED:      "kind": "keep-fp32",
// RETURNED-NEXT: "safe": false,
// RETURNED:      "kind": "scale",
// RETURNED-NEXT: "safe": false,
// NOKEEP: "ops": []

//--- epsilon.mlir
module {
  func.func @main(%x: tensor<4xf32> {mp.name = "x"}) -> tensor<4xf32> {
    %eps = mp.constant dense<1.0e-12> : tensor<f32>
    %0 = mp.square %x : (tensor<4xf32>) -> tensor<4xf32>
    %1 = mp.add %0, %eps : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = mp.div %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}

// EPSILON: "rule": "MP203"
// EPSILON: "kind": "keep-fp32",
// EPSILON-NEXT: "safe": true,
// EPSILON: "kind": "change-constant",
// EPSILON-NEXT: "safe": true,

//--- clamp.mlir
module {
  func.func @main(%x: tensor<4xf16> {mp.name = "x"}) -> tensor<4xf16> {
    %0 = mp.relu %x : (tensor<4xf16>) -> tensor<4xf16>
    %1 = mp.log %0 : (tensor<4xf16>) -> tensor<4xf16>
    return %1 : tensor<4xf16>
  }
}

// CLAMP: "rule": "MP205"
// CLAMP: "kind": "clamp",
// CLAMP-NEXT: "safe": true,

//--- attention.mlir
module {
  func.func @main(%q: tensor<8x64xf16> {mp.name = "q"}, %k: tensor<64x8xf16> {mp.name = "k"}) -> tensor<8x8xf16> {
    %s = mp.constant dense<0.125> : tensor<f16>
    %0 = mp.matmul %q, %k : (tensor<8x64xf16>, tensor<64x8xf16>) -> tensor<8x8xf16>
    %1 = mp.mul %0, %s : (tensor<8x8xf16>, tensor<f16>) -> tensor<8x8xf16>
    %2 = mp.softmax %1 {axis = 1 : i64} : (tensor<8x8xf16>) -> tensor<8x8xf16>
    return %2 : tensor<8x8xf16>
  }
}

// ATTENTION: "rule": "MP210"
// ATTENTION: "kind": "reorder",
// ATTENTION-NEXT: "safe": true,

//--- cast.mlir
module {
  func.func @main(%x: tensor<4xf32> {mp.name = "x"}, %h: tensor<4xf16> {mp.name = "h"}) -> (tensor<4xf32>, tensor<4xf16>) {
    %0 = mp.cast %x : (tensor<4xf32>) -> tensor<4xf16>
    %1 = mp.cast %0 : (tensor<4xf16>) -> tensor<4xf32>
    %2 = mp.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
    %3 = mp.relu %h : (tensor<4xf16>) -> tensor<4xf16>
    return %2, %3 : tensor<4xf32>, tensor<4xf16>
  }
}

// CAST: "rule": "MP104"
// CAST: "kind": "remove-cast",
// CAST-NEXT: "safe": true,
