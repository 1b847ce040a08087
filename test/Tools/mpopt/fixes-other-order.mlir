// The same arithmetic in an order, or by a function, whose results between fit:
// tried by writing it. Beside each a form that none of these mends.

// RUN: split-file %s %t
// RUN: not mpopt --check %t/mean.mlir --select MP201 --input x=0:1000 --input x~500,100 --format json | FileCheck %s --check-prefix=MEAN
// RUN: not mpopt --check %t/lengths.mlir --select MP201 --input a~0,1 --input b~0,1 --format json | FileCheck %s --check-prefix=LENGTHS
// RUN: not mpopt --check %t/cast.mlir --select MP213 --input x=0:4e5 --input x~2e5,3e4 --input y=0:4e5 --input y~2e5,3e4 --format json | FileCheck %s --check-prefix=CAST
// RUN: not mpopt --check %t/softplus.mlir --select MP207 --input x=-40:40 --input x~0,8 --format json | FileCheck %s --check-prefix=SOFTPLUS
// RUN: not mpopt --check %t/log1p.mlir --select MP302 --input x~0.00005,0.00001 --format json | FileCheck %s --check-prefix=LOG1P

//--- mean.mlir
// A sum that is divided by the number of its terms, and one that is not.
module {
  func.func @main(%x: tensor<8x4096xf16> {mp.name = "x"}) -> (tensor<8xf16>, tensor<8xf16>) {
    %n = mp.constant dense<0.00024414> : tensor<f16>
    %0 = mp.reduce_sum %x {axes = array<i64: 1>} : (tensor<8x4096xf16>) -> tensor<8xf16>
    %1 = mp.mul %0, %n : (tensor<8xf16>, tensor<f16>) -> tensor<8xf16>
    %2 = mp.reduce_sum %x {axes = array<i64: 1>} : (tensor<8x4096xf16>) -> tensor<8xf16>
    return %1, %2 : tensor<8xf16>, tensor<8xf16>
  }
}

// MEAN:      "kind": "change-op",
// MEAN-NEXT: "safe": true,
// MEAN-NEXT: "text": "take a mean
// MEAN-NOT:  "text": "take a mean

//--- lengths.mlir
// x y / sqrt(x^2 y^2) and x y / (|x| |y|); a product that nothing divides by.
module {
  func.func @main(%a: tensor<8x512xf16> {mp.name = "a"}, %b: tensor<8x512xf16> {mp.name = "b"}) -> (tensor<8xf16>, tensor<8xf16>, tensor<8xf16>) {
    %e = mp.constant dense<1.0e-7> : tensor<f16>
    %0 = mp.mul %a, %b : (tensor<8x512xf16>, tensor<8x512xf16>) -> tensor<8x512xf16>
    %xy = mp.reduce_sum %0 {axes = array<i64: 1>} : (tensor<8x512xf16>) -> tensor<8xf16>
    %aa = mp.reduce_sum_square %a {axes = array<i64: 1>} : (tensor<8x512xf16>) -> tensor<8xf16>
    %bb = mp.reduce_sum_square %b {axes = array<i64: 1>} : (tensor<8x512xf16>) -> tensor<8xf16>
    %p = mp.mul %aa, %bb : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
    %g = mp.clip %p min %e : (tensor<8xf16>, tensor<f16>) -> tensor<8xf16>
    %r = mp.sqrt %g : (tensor<8xf16>) -> tensor<8xf16>
    %1 = mp.div %xy, %r : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
    %q = mp.mul %aa, %bb : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
    %2 = mp.div %xy, %q : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
    %3 = mp.mul %aa, %bb : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
    return %1, %2, %3 : tensor<8xf16>, tensor<8xf16>, tensor<8xf16>
  }
}

// LENGTHS:      "kind": "reorder",
// LENGTHS-NEXT: "safe": true,
// LENGTHS-NEXT: "text": "divide by one factor after the other
// LENGTHS:      "kind": "reorder",
// LENGTHS-NEXT: "safe": true,
// LENGTHS-NEXT: "text": "take the root of each factor
// LENGTHS-NOT:  "kind": "reorder"

//--- cast.mlir
// A factor behind a cast, and a cast whose result is read as it is.
module {
  func.func @main(%x: tensor<8x64xf32> {mp.name = "x"}, %y: tensor<8x64xf32> {mp.name = "y"}) -> (tensor<8x64xf16>, tensor<8x64xf16>) {
    %c = mp.constant dense<0.001> : tensor<f16>
    %0 = mp.cast %x : (tensor<8x64xf32>) -> tensor<8x64xf16>
    %1 = mp.mul %0, %c : (tensor<8x64xf16>, tensor<f16>) -> tensor<8x64xf16>
    %2 = mp.cast %y : (tensor<8x64xf32>) -> tensor<8x64xf16>
    %3 = mp.abs %2 : (tensor<8x64xf16>) -> tensor<8x64xf16>
    return %1, %3 : tensor<8x64xf16>, tensor<8x64xf16>
  }
}

// CAST:      "kind": "reorder",
// CAST-NEXT: "safe": true,
// CAST-NEXT: "text": "scale in front of the cast
// CAST-NOT:  "kind": "reorder"

//--- softplus.mlir
// log(1 + exp(x)), log1p(exp(x)), and an exponential that is read twice.
module {
  func.func @main(%x: tensor<8x64xf16> {mp.name = "x"}) -> (tensor<8x64xf16>, tensor<8x64xf16>, tensor<8x64xf16>, tensor<8x64xf16>) {
    %one = mp.constant dense<1.0> : tensor<f16>
    %0 = mp.exp %x : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %1 = mp.add %0, %one : (tensor<8x64xf16>, tensor<f16>) -> tensor<8x64xf16>
    %2 = mp.log %1 : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %3 = mp.exp %x : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %4 = mp.log1p %3 : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %5 = mp.exp %x : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %6 = mp.log1p %5 : (tensor<8x64xf16>) -> tensor<8x64xf16>
    return %2, %4, %5, %6 : tensor<8x64xf16>, tensor<8x64xf16>, tensor<8x64xf16>, tensor<8x64xf16>
  }
}

// SOFTPLUS:      "kind": "change-op",
// SOFTPLUS-NEXT: "safe": true,
// SOFTPLUS-NEXT: "text": "take softplus
// SOFTPLUS:      "kind": "change-op",
// SOFTPLUS-NEXT: "safe": true,
// SOFTPLUS-NEXT: "text": "take softplus
// SOFTPLUS-NOT:  "text": "take softplus

//--- log1p.mlir
// The logarithm of 1 + x for x below a rounding of 1; that of 1 + x where the
// sum is read as it is, too.
module {
  func.func @main(%x: tensor<8x64xf16> {mp.name = "x"}) -> (tensor<8x64xf16>, tensor<8x64xf16>, tensor<8x64xf16>) {
    %one = mp.constant dense<1.0> : tensor<f16>
    %0 = mp.add %x, %one : (tensor<8x64xf16>, tensor<f16>) -> tensor<8x64xf16>
    %1 = mp.log %0 : (tensor<8x64xf16>) -> tensor<8x64xf16>
    %2 = mp.add %x, %one : (tensor<8x64xf16>, tensor<f16>) -> tensor<8x64xf16>
    %3 = mp.log %2 : (tensor<8x64xf16>) -> tensor<8x64xf16>
    return %1, %2, %3 : tensor<8x64xf16>, tensor<8x64xf16>, tensor<8x64xf16>
  }
}

// LOG1P:      "kind": "change-op",
// LOG1P-NEXT: "safe": true,
// LOG1P-NEXT: "text": "take log1p
// LOG1P-NOT:  "text": "take log1p
