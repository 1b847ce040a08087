// Of a file with several samples, bounds and moments of channels count where
// they are those of the other samples, too: bands that hardly vary, beside others,
// make a variance of the difference of two squares. Channels that only differ by
// chance are one.

// RUN: %python -c "import numpy as n; r = n.random.default_rng(0).normal(0, 1, (4, 8, 120)); d = n.array([3.0] * 6 + [0.02] * 2)[:, None]; n.savez('%t.npz', x=n.float32(r * d - 9)); n.savez('%t.alike.npz', x=n.float32(r * 3 - 9))"
// RUN: not mpopt --check %s --precision fp16 --input x=@%t.npz --format json | FileCheck %s
// RUN: mpopt --check %s --precision fp16 --input x=@%t.alike.npz --format json | FileCheck %s --check-prefix ALIKE

// CHECK: "by_element": true
// CHECK: "rule": "MP205"
// CHECK: "severity": "error"
// ALIKE: "std": 2.9
// ALIKE-NOT: "by_element": true

func.func @main(%x: tensor<1x8x120xf32> {mp.name = "x"}) -> (tensor<1x8x120xf32> {mp.name = "y"}) {
  %floor = mp.constant dense<1.0e-3> : tensor<f32>
  %mean = mp.reduce_mean %x {axes = array<i64: 2>, keep_dims = true} : (tensor<1x8x120xf32>) -> tensor<1x8x1xf32>
  %centred = mp.sub %x, %mean : (tensor<1x8x120xf32>, tensor<1x8x1xf32>) -> tensor<1x8x120xf32>
  %squares = mp.mul %x, %x : (tensor<1x8x120xf32>, tensor<1x8x120xf32>) -> tensor<1x8x120xf32>
  %moment = mp.reduce_mean %squares {axes = array<i64: 2>, keep_dims = true} : (tensor<1x8x120xf32>) -> tensor<1x8x1xf32>
  %square = mp.mul %mean, %mean : (tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> tensor<1x8x1xf32>
  %variance = mp.sub %moment, %square : (tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> tensor<1x8x1xf32>
  %root = mp.sqrt %variance : (tensor<1x8x1xf32>) -> tensor<1x8x1xf32>
  %deviation = mp.add %root, %floor : (tensor<1x8x1xf32>, tensor<f32>) -> tensor<1x8x1xf32>
  %y = mp.div %centred, %deviation : (tensor<1x8x120xf32>, tensor<1x8x1xf32>) -> tensor<1x8x120xf32>
  return %y : tensor<1x8x120xf32>
}
