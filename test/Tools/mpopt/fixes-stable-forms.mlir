// A stable form that a fix names is tried by writing it.

// RUN: split-file %s %t
// RUN: not mpopt --check %t/exp.mlir --select MP207 --input x=-20:20 --input x~0,8 --format json | FileCheck %s --check-prefix=EXP
// RUN: mpopt --check %t/probability.mlir --select MP101 --input x=-1:1 | FileCheck %s --check-prefix=NOTE
// RUN: not mpopt --check %t/probability.mlir --set effect-warning=0 --select MP306 --input x=-40:40 --input x~0,10 --format json | FileCheck %s --check-prefix=PROB
// RUN: not mpopt --check %t/difference.mlir --select MP301 --input x=245:252 --input x~248,0.3 --input y~0,0.5 --format json | FileCheck %s --check-prefix=DIFF
// RUN: not mpopt --check %t/difference.mlir --select MP301 --input x=-40:60 --input x~10,0.5 --input y~0,0.5 --format json | FileCheck %s --check-prefix=CENTRE
// RUN: not mpopt --check %t/loss.mlir --precision autocast-fp16 --select MP102 --format json | FileCheck %s --check-prefix=LOSS
// RUN: not mpopt --check %t/loss.mlir --precision fp16 --select MP102 --format json | FileCheck %s --check-prefix=WHOLE

//--- exp.mlir
// A softmax, a logsumexp, and an exponential that nothing brings back.
module {
  func.func @main(%x: tensor<8x64xf16> {mp.name = "x"}) -> (tensor<8x64xf16>, tensor<8xf16>, tensor<8x64xf16>) {
    %0 = mp.exp %x : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %1 = mp.reduce_sum %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<8x64xf16>) -> tensor<8x1xf16>
    %2 = mp.div %0, %1 : (tensor<8x64xf16>, tensor<8x1xf16>) -> tensor<8x64xf16>
    %y = mp.neg %x : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %3 = mp.exp %y : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %4 = mp.reduce_sum %3 {axes = array<i64: 1>} : (tensor<8x64xf16>) -> tensor<8xf16>
    %5 = mp.log %4 : (tensor<8xf16>) -> tensor<8xf16>
    %6 = mp.exp %x : (tensor<8x64xf16>) -> tensor<8x64xf16>
    return %2, %5, %6 : tensor<8x64xf16>, tensor<8xf16>, tensor<8x64xf16>
  }
}

// EXP:      "kind": "keep-fp32",
// EXP-NEXT: "safe": true,
// EXP-NEXT: "text": "keep
// EXP:      "kind": "change-op",
// EXP-NEXT: "safe": true,
// EXP-NEXT: "text": "subtract the row's maximum first
// EXP:      "kind": "clamp",
// EXP-NEXT: "safe": true,
// EXP-NEXT: "text": "clip
// EXP:      "kind": "keep-fp32",
// EXP-NEXT: "safe": true,
// EXP-NEXT: "text": "keep
// EXP:      "kind": "change-op",
// EXP-NEXT: "safe": true,
// EXP-NEXT: "text": "subtract the row's maximum first
// EXP:      "kind": "clamp",
// EXP-NEXT: "safe": true,
// EXP-NEXT: "text": "clip
// EXP:      "kind": "clamp",
// EXP-NEXT: "safe": true,
// EXP-NEXT: "text": "clip the argument to at most 10.9
// EXP:      "kind": "keep-fp32",
// EXP-NEXT: "safe": false,
// EXP-NEXT: "text": "keep

//--- probability.mlir
// The logarithm of a softmax, that of 1 - sigmoid(x), and a quotient by
// 1 - sigmoid(x): MP206 says before and after that it is 0.
module {
  func.func @main(%x: tensor<8x64xf16> {mp.name = "x"}) -> (tensor<8x64xf16>, tensor<8x64xf16>, tensor<8x64xf16>) {
    %one = mp.constant dense<1.0> : tensor<f16>
    %0 = mp.softmax %x {axis = 1 : i64} : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %1 = mp.log %0 : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %2 = mp.sigmoid %x : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %3 = mp.sub %one, %2 : (tensor<f16>, tensor<8x64xf16>) -> tensor<8x64xf16>
    %4 = mp.log %3 : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %5 = mp.sigmoid %x : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %6 = mp.sub %one, %5 : (tensor<f16>, tensor<8x64xf16>) -> tensor<8x64xf16>
    %7 = mp.div %x, %6 : (tensor<8x64xf16>, tensor<8x64xf16>) -> tensor<8x64xf16>
    return %1, %4, %7 : tensor<8x64xf16>, tensor<8x64xf16>, tensor<8x64xf16>
  }
}

// Nothing has to be done about a note.
// NOTE: note[MP101]
// NOTE-NOT: fix:

// PROB:      "kind": "change-op",
// PROB-NEXT: "safe": true,
// PROB-NEXT: "text": "take log_softmax of the logits
// PROB:      "kind": "keep-fp32",
// PROB-NEXT: "safe": true,
// PROB-NEXT: "text": "keep
// PROB:      "kind": "change-op",
// PROB-NEXT: "safe": true,
// PROB-NEXT: "text": "take log_sigmoid of the logits
// PROB:      "kind": "keep-fp32",
// PROB-NEXT: "safe": false,
// PROB-NEXT: "text": "keep
// PROB:      "kind": "change-op",
// PROB-NEXT: "safe": true,
// PROB-NEXT: "text": "take sigmoid(-x) for 1 - sigmoid(x)
// PROB:      "kind": "clamp",
// PROB-NEXT: "safe": true,
// PROB-NEXT: "text": "clip the probability to at most
// PROB:      "kind": "keep-fp32",
// PROB-NEXT: "safe": false,
// PROB-NEXT: "text": "keep

//--- difference.mlir
// The mean of (x - mean(x))^2 cancels as well where the mean is 800 times the
// spread.
module {
  func.func @main(%x: tensor<8x64xf16> {mp.name = "x"}, %y: tensor<8x64xf16> {mp.name = "y"}) -> (tensor<8x1xf16>, tensor<8x64xf16>) {
    %c = mp.constant dense<4096.0> : tensor<f16>
    %0 = mp.square %x : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %1 = mp.reduce_mean %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<8x64xf16>) -> tensor<8x1xf16>
    %2 = mp.reduce_mean %x {axes = array<i64: 1>, keep_dims = true} : (tensor<8x64xf16>) -> tensor<8x1xf16>
    %3 = mp.square %2 : (tensor<8x1xf16>) -> tensor<8x1xf16>
    %4 = mp.sub %1, %3 : (tensor<8x1xf16>, tensor<8x1xf16>) -> tensor<8x1xf16>
    %5 = mp.add %y, %c : (tensor<8x64xf16>, tensor<f16>) -> tensor<8x64xf16>
    %6 = mp.sub %5, %c : (tensor<8x64xf16>, tensor<f16>) -> tensor<8x64xf16>
    return %4, %6 : tensor<8x1xf16>, tensor<8x64xf16>
  }
}

// DIFF:      "kind": "keep-fp32",
// DIFF-NEXT: "safe": true,
// DIFF-NEXT: "text": "keep
// DIFF:      "kind": "change-op",
// DIFF-NEXT: "safe": true,
// DIFF-NEXT: "text": "leave out the term that is added and subtracted again
// DIFF:      "kind": "keep-fp32",
// DIFF-NEXT: "safe": true,
// DIFF-NEXT: "text": "keep
// DIFF:      "kind": "change-op",
// DIFF-NEXT: "safe": false,
// DIFF-NEXT: "text": "compute the variance as the mean of (x - mean(x))^2

// CENTRE:      "text": "leave out the term that is added and subtracted again
// CENTRE:      "kind": "change-op",
// CENTRE-NEXT: "safe": true,
// CENTRE-NEXT: "text": "compute the variance as the mean of (x - mean(x))^2

//--- loss.mlir
// Under autocast the form that takes logits runs in f32.
module {
  func.func @main(%x: tensor<64x64xf32> {mp.name = "x"}, %w: tensor<64x64xf32> {mp.name = "w"}, %t: tensor<64x64xf32> {mp.name = "t"}) -> tensor<f32> {
    %0 = mp.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = mp.sigmoid %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %2 = mp.binary_cross_entropy %1, %t : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// LOSS:      "kind": "change-op",
// LOSS-NEXT: "safe": true,
// LOSS-NEXT: "text": "take the logits instead
// In f32 autocast refuses to run it, too.
// LOSS-NOT:  "kind": "keep-fp32",
// A whole-model conversion computes that form in f16, too.

// WHOLE:      "kind": "keep-fp32",
// WHOLE-NEXT: "safe": true,
// WHOLE-NEXT: "text": "compute
// WHOLE:      "kind": "change-op",
// WHOLE-NEXT: "safe": false,
// WHOLE-NEXT: "text": "take the logits instead

//--- both.mlir
// The exponential itself is read as well: there is no shift to be had.
module {
  func.func @main(%x: tensor<8x64xf16> {mp.name = "x"}) -> (tensor<8x64xf16>, tensor<8x64xf16>) {
    %0 = mp.exp %x : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %1 = mp.reduce_sum %0 {axes = array<i64: 1>, keep_dims = true} : (tensor<8x64xf16>) -> tensor<8x1xf16>
    %2 = mp.div %0, %1 : (tensor<8x64xf16>, tensor<8x1xf16>) -> tensor<8x64xf16>
    return %0, %2 : tensor<8x64xf16>, tensor<8x64xf16>
  }
}

// RUN: not mpopt --check %t/both.mlir --select MP207 --input x=-20:20 --input x~0,8 --format json | FileCheck %s --check-prefix=BOTH
// BOTH:     "rule": "MP207"
// BOTH-NOT: "change-op"
// BOTH:     "kind": "clamp"
