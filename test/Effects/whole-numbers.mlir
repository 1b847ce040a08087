// Integers of which nothing is declared, by what the model computes with them.
// RUN: split-file %s %t
// RUN: not mpopt --check %t/positions.mlir --precision fp16 | FileCheck %s --check-prefix POSITIONS
// RUN: mpopt --check %t/positions.mlir --precision fp16 --input i=0:15 | FileCheck %s --check-prefix SHORT
// RUN: not mpopt --check %t/long.mlir --precision fp16 --format json | FileCheck %s --check-prefix LONG
// RUN: mpopt --check %t/lengths.mlir --precision fp16 | FileCheck %s --check-prefix LENGTHS
// RUN: mpopt --check %t/counts.mlir --precision fp16 | FileCheck %s --check-prefix COUNTS
// RUN: mpopt --check %t/counts.mlir --precision fp16 --format json | FileCheck %s --check-prefix JSON

// RUN: not mpopt --check %t/buckets.mlir --precision fp16 --input i=0:31 | FileCheck %s --check-prefix BUCKETS

// A factor of 1 - 1e-6 keeps positions below edges; in FP16 it is 1.
// BUCKETS: error[MP215]
// BUCKETS: --> mp.mul

// Only what is expected follows from the use: the bound is still the dtype's.
// POSITIONS: fp16 is expected to change `y` by
// POSITIONS: MP307
// POSITIONS-NEXT: --> mp.sin
// POSITIONS: i: input in [-2.14748e+09, 2.14748e+09], likely within [0, 999]
// POSITIONS: assumed: i in [-2.147e+09, 2.147e+09] (a position or time step, taken for 0 to 999: its sine or
// POSITIONS-NEXT: cosine is taken)
// SHORT: fp16 is expected to change `y` by {{.*}}: {{(probably )?}}fine

// No sequence is longer than the input. The frequency is computed.
// LONG: "input": "i",
// LONG-NEXT: "lo": -214
// LONG-NEXT: "hi": 214
// LONG-NEXT: "mean": 1023.5,
// LONG: "why": "a position or time step, taken for 0 to 2047: its sine or cosine is taken"

// LENGTHS: fp16 is expected to change `y` by {{.*}}: fine
// LENGTHS: (a length,
// LENGTHS-NEXT: taken for 1 to 4: compared with as many numbers)

// The input that decides, and no other.
// COUNTS: the effect of fp16 on `y` is not known: `n` may be any whole number
// COUNTS-NEXT: next: declare the values of `n` (with --input n=0:999, tried: fp16 is
// JSON: "unknown": "`n` may be any whole number",
// JSON-NEXT: "undeclared": "n",

//--- positions.mlir
func.func @main(%i: tensor<1x20x1xi32> {mp.name = "i"}) -> (tensor<1x20x8xf32> {mp.name = "y"}) {
  %w = mp.constant dense<[1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003]> : tensor<8xf32>
  %f = mp.cast %i : (tensor<1x20x1xi32>) -> tensor<1x20x1xf32>
  %a = mp.mul %f, %w : (tensor<1x20x1xf32>, tensor<8xf32>) -> tensor<1x20x8xf32>
  %s = mp.sin %a : (tensor<1x20x8xf32>) -> tensor<1x20x8xf32>
  return %s : tensor<1x20x8xf32>
}

//--- long.mlir
func.func @main(%i: tensor<2048x1xi32> {mp.name = "i"}) -> (tensor<2048x4xf32> {mp.name = "y"}) {
  %r = mp.constant dense<[[-1.0, -3.0]]> : tensor<1x2xf32>
  %w = mp.exp %r : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %f = mp.cast %i : (tensor<2048x1xi32>) -> tensor<2048x1xf32>
  %a = mp.matmul %f, %w : (tensor<2048x1xf32>, tensor<1x2xf32>) -> tensor<2048x2xf32>
  %b = mp.concat %a, %a {axis = 1 : i64} : (tensor<2048x2xf32>, tensor<2048x2xf32>) -> tensor<2048x4xf32>
  %s = mp.cos %b : (tensor<2048x4xf32>) -> tensor<2048x4xf32>
  return %s : tensor<2048x4xf32>
}

//--- lengths.mlir
func.func @main(%x: tensor<2x4xf32> {mp.name = "x"}, %n: tensor<2x1xi64> {mp.name = "n"})
    -> (tensor<2xf32> {mp.name = "y"}) {
  %row = mp.constant dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>
  %axes = mp.constant dense<1> : tensor<1xi64>
  %is = mp.less %row, %n : (tensor<1x4xi64>, tensor<2x1xi64>) -> tensor<2x4xi1>
  %m = mp.cast %is : (tensor<2x4xi1>) -> tensor<2x4xf32>
  %k = mp.mul %x, %m : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %f = mp.cast %n : (tensor<2x1xi64>) -> tensor<2x1xf32>
  %q = mp.div %k, %f : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %y = mp.reduce_sum %q axes %axes {keepdims = false} : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

//--- counts.mlir
func.func @main(%x: tensor<4xf32> {mp.name = "x"}, %ids: tensor<4xi64> {mp.name = "ids"}, %n: tensor<4xi64> {mp.name = "n"})
    -> (tensor<4xf32> {mp.name = "y"}, tensor<4xi1> {mp.name = "ends"}) {
  %end = mp.constant dense<2> : tensor<i64>
  %is = mp.equal %ids, %end : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
  %f = mp.cast %n : (tensor<4xi64>) -> tensor<4xf32>
  %y = mp.mul %x, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y, %is : tensor<4xf32>, tensor<4xi1>
}

//--- buckets.mlir
func.func @main(%i: tensor<48xi64> {mp.name = "i"}) -> (tensor<48x8xf32> {mp.name = "y"}) {
  %factor = mp.constant dense<0.0312499683> : tensor<f32>
  %edges = mp.constant dense<[[0.25, 0.5, 0.75]]> : tensor<1x3xf32>
  %table = mp.constant dense<[[0.1, 0.9, -0.4, 0.3, 0.8, -0.6, 0.2, 0.5], [0.7, -0.9, 0.4, -0.3, 0.8, 0.6, -0.2, 0.1], [0.1, 0.2, 0.4, 0.3, -0.8, 0.6, 0.9, -0.5], [-0.1, 0.3, -0.7, 0.3, 0.1, 0.6, 0.2, -0.5]]> : tensor<4x8xf32>
  %0 = mp.cast %i : (tensor<48xi64>) -> tensor<48xf32>
  %1 = mp.mul %0, %factor : (tensor<48xf32>, tensor<f32>) -> tensor<48xf32>
  %2 = mp.unsqueeze %1 {axes = array<i64: 1>} : (tensor<48xf32>) -> tensor<48x1xf32>
  %3 = mp.greater_equal %2, %edges : (tensor<48x1xf32>, tensor<1x3xf32>) -> tensor<48x3xi1>
  %4 = mp.cast %3 : (tensor<48x3xi1>) -> tensor<48x3xi64>
  %5 = mp.reduce_sum %4 {axes = array<i64: 1>} : (tensor<48x3xi64>) -> tensor<48xi64>
  %6 = mp.gather %table, %5 : (tensor<4x8xf32>, tensor<48xi64>) -> tensor<48x8xf32>
  return %6 : tensor<48x8xf32>
}
