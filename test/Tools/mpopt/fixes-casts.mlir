// Fixes that move casts are tried, with the types that follow from them.

// RUN: split-file %s %t
// RUN: not mpopt --check %t/mixed.mlir --set effect-warning=0 --select MP103 --format json | FileCheck %s --check-prefix=MIXED
// RUN: not mpopt --check %t/chain.mlir --set effect-warning=0 --select MP103 --format json | FileCheck %s --check-prefix=CHAIN
// RUN: not mpopt --check %t/chain.mlir --set effect-warning=0 --set speed-share=0 --select MP103 --precision autocast-fp16 --format json | FileCheck %s --check-prefix=AUTO
// RUN: not mpopt --check %t/large.mlir --set effect-warning=0 --select MP103 --format json | FileCheck %s --check-prefix=LARGE
// RUN: not mpopt --check %t/late.mlir --set effect-warning=0 --select MP104 --format json | FileCheck %s --check-prefix=LATE
// RUN: not mpopt --check %t/half.mlir --set effect-warning=0 --precision autocast-fp16 --select MP105 --format json | FileCheck %s --check-prefix=HALF
// RUN: not mpopt --check %t/island.mlir --set effect-warning=0 --set speed-share=0 --precision autocast-fp16 --select MP105 --format json | FileCheck %s --check-prefix=ISLAND

//--- mixed.mlir
// Nothing narrow comes behind.
module {
  func.func @main(%x: tensor<64x64xf16> {mp.name = "x"}, %w: tensor<64x64xf32> {mp.name = "w"}) -> tensor<64x64xf32> {
    %s = mp.constant dense<2.0> : tensor<64xf32>
    %0 = mp.mul %x, %s : (tensor<64x64xf16>, tensor<64xf32>) -> tensor<64x64xf32>
    %1 = mp.neg %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
    return %1 : tensor<64x64xf32>
  }
}

// MIXED:      "kind": "explicit-cast",
// MIXED-NEXT: "safe": true,
// MIXED-NEXT: "text": "if f32 is meant
// MIXED:      "kind": "change-dtype",
// MIXED-NEXT: "safe": true,
// MIXED-NEXT: "text": "cast the f32 operand to f16

//--- chain.mlir
// Cast here, f32 would go on to spread from the next op.
module {
  func.func @main(%x: tensor<64x64xf16> {mp.name = "x"}, %y: tensor<64x64xf16> {mp.name = "y"}) -> tensor<64x64xf32> {
    %s = mp.constant dense<2.0> : tensor<64xf32>
    %0 = mp.mul %x, %s : (tensor<64x64xf16>, tensor<64xf32>) -> tensor<64x64xf32>
    %1 = mp.add %0, %y : (tensor<64x64xf32>, tensor<64x64xf16>) -> tensor<64x64xf32>
    %2 = mp.matmul %1, %y : (tensor<64x64xf32>, tensor<64x64xf16>) -> tensor<64x64xf32>
    return %2 : tensor<64x64xf32>
  }
}

// CHAIN:      "kind": "change-dtype",
// CHAIN-NEXT: "safe": true,
// CHAIN-NEXT: "text": "cast the f32 operand to f16
// CHAIN:      "kind": "explicit-cast",
// CHAIN-NEXT: "safe": false,
// CHAIN-NEXT: "text": "if f32 is meant
// Where autocast lets a stream of activations be, that is a note.

// AUTO:      "kind": "explicit-cast",
// AUTO-NEXT: "safe": true,
// AUTO-NEXT: "text": "if f32 is meant
// AUTO:      "kind": "change-dtype",
// AUTO-NEXT: "safe": true,
// AUTO-NEXT: "text": "cast the f32 operand to f16

//--- large.mlir
// The constant does not fit f16.
module {
  func.func @main(%x: tensor<64x64xf16> {mp.name = "x"}) -> tensor<64x64xf32> {
    %s = mp.constant dense<1.0e5> : tensor<64xf32>
    %0 = mp.mul %x, %s : (tensor<64x64xf16>, tensor<64xf32>) -> tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
}

// LARGE:      "kind": "explicit-cast",
// LARGE-NEXT: "safe": true,
// LARGE-NEXT: "text": "if f32 is meant
// LARGE:      "kind": "change-dtype",
// LARGE-NEXT: "safe": false,
// LARGE-NEXT: "text": "cast the f32 operand to f16

//--- late.mlir
// Through a view; another reader keeps f16.
module {
  func.func @main(%x: tensor<64x64xf16> {mp.name = "x"}) -> (tensor<4096xf32>, tensor<64x64xf16>) {
    %n = mp.constant dense<-1> : tensor<1xi64>
    %0 = mp.softmax %x {axis = 1 : i64} : (tensor<64x64xf16>) -> tensor<64x64xf16>
    %1 = mp.reshape %0, %n : (tensor<64x64xf16>, tensor<1xi64>) -> tensor<4096xf16>
    %2 = mp.cast %1 : (tensor<4096xf16>) -> tensor<4096xf32>
    return %2, %0 : tensor<4096xf32>, tensor<64x64xf16>
  }
}

// LATE:      "kind": "change-op",
// LATE-NEXT: "safe": true,
// LATE-NEXT: "text": "cast to f32 in front of the op instead of behind it

//--- half.mlir
module {
  func.func @main(%x: tensor<64x64xf32> {mp.name = "x"}) -> tensor<64x64xf32> {
    %0 = mp.cast %x : (tensor<64x64xf32>) -> tensor<64x64xf16>
    %1 = mp.exp %0 : (tensor<64x64xf16>) -> tensor<64x64xf16>
    %2 = mp.neg %1 : (tensor<64x64xf16>) -> tensor<64x64xf16>
    %3 = mp.cast %2 : (tensor<64x64xf16>) -> tensor<64x64xf32>
    return %3 : tensor<64x64xf32>
  }
}

// HALF:      "kind": "remove-cast",
// HALF-NEXT: "safe": true,
// HALF-NEXT: "text": "leave the cast to autocast

//--- island.mlir
// Without the cast f32 spreads from the sum.
module {
  func.func @main(%x: tensor<64x64xf32> {mp.name = "x"}, %w: tensor<64x64xf32> {mp.name = "w"}) -> tensor<64x64xf32> {
    %0 = mp.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = mp.cast %x : (tensor<64x64xf32>) -> tensor<64x64xf16>
    %2 = mp.add %0, %1 : (tensor<64x64xf32>, tensor<64x64xf16>) -> tensor<64x64xf32>
    return %2 : tensor<64x64xf32>
  }
}

// ISLAND:      "kind": "remove-cast",
// ISLAND-NEXT: "safe": false,
// ISLAND-NEXT: "text": "leave the cast to autocast
