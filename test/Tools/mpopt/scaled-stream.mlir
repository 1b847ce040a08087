// A residual stream that norms alone read may have any size: the fix scales all
// that is added to it, by what the largest sum, and the squares of a norm that is
// written out, ask for. An op that reads a shape asks for nothing.
// RUN: not mpopt --check %s --select MP201,MP209 --input x=-6:6 --input x~0,1 --format json | FileCheck %s

// CHECK: "kind": "scale",
// CHECK-NEXT: "safe": true,
// CHECK-NEXT: "text": "scale its operand by 2^-{{9|1[0-2]}}
module {
  func.func @main(%x: tensor<4x256xf16> {mp.name = "x"}) -> (tensor<4x256xf16> {mp.name = "y"}, tensor<2xi64> {mp.name = "s"}) {
    %g = mp.constant dense<3.0e4> : tensor<f16>
    %w = mp.constant dense<700.0> : tensor<256x256xf16>
    %one = mp.constant dense<1.0> : tensor<256xf16>
    %two = mp.constant dense<2.0> : tensor<f16>
    %h = mp.mul %x, %g : (tensor<4x256xf16>, tensor<f16>) -> tensor<4x256xf16>
    %s = mp.shape %h : (tensor<4x256xf16>) -> tensor<2xi64>
    %n = mp.layer_norm %h scale %one : (tensor<4x256xf16>, tensor<256xf16>) -> tensor<4x256xf16>
    %r = mp.relu %n : (tensor<4x256xf16>) -> tensor<4x256xf16>
    %d = mp.matmul %r, %w : (tensor<4x256xf16>, tensor<256x256xf16>) -> tensor<4x256xf16>
    %h1 = mp.add %h, %d : (tensor<4x256xf16>, tensor<4x256xf16>) -> tensor<4x256xf16>
    %q = mp.pow %h1, %two : (tensor<4x256xf16>, tensor<f16>) -> tensor<4x256xf16>
    %m = mp.reduce_mean %q {axes = array<i64: 1>, keep_dims = true} : (tensor<4x256xf16>) -> tensor<4x1xf16>
    %l = mp.sqrt %m : (tensor<4x1xf16>) -> tensor<4x1xf16>
    %y = mp.div %h1, %l : (tensor<4x256xf16>, tensor<4x1xf16>) -> tensor<4x256xf16>
    return %y, %s : tensor<4x256xf16>, tensor<2xi64>
  }
}
