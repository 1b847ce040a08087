// Where an effect is not known, declarations of inputs are tried: the report
// names those that are needed, with what was tried.
// RUN: split-file %s %t
// RUN: mpopt --check %t/step.mlir --precision fp16 | FileCheck %s --check-prefix STEP
// RUN: mpopt --check %t/step.mlir --precision fp16 --format json | FileCheck %s --check-prefix JSON
// RUN: mpopt --check %t/both.mlir --precision fp16 | FileCheck %s --check-prefix BOTH
// RUN: mpopt --check %t/none.mlir --precision fp16 | FileCheck %s --check-prefix NONE
// RUN: not mpopt --check %t/large.mlir --precision fp16 | FileCheck %s --check-prefix LARGE
// RUN: mpopt --check %t/step.mlir --precision fp16 --input t=0:999 | FileCheck %s --check-prefix DECLARED

// The time step decides, and not the image that is assumed by default.
// STEP: the effect of fp16 on `y` is not known: `t` may be any whole number
// STEP-NEXT: next: declare the values of `t` (with --input t=0:999, tried: fp16 is expected to change `y`
// STEP-NEXT: by {{.*}} %: fine)
// DECLARED: fp16 is expected to change `y` by
// DECLARED-NOT: tried

// JSON: "tried_inputs": {
// JSON-NEXT: "inputs": [
// JSON-NEXT: {
// JSON-NEXT: "input": "t",
// JSON-NEXT: "lo": 0,
// JSON-NEXT: "hi": 999
// JSON-NEXT: }
// JSON-NEXT: ],
// JSON-NEXT: "output": "y",

// Two that help together alone are both named.
// BOTH: next: declare the values of `s`, `t` (with --input s=0:999 --input t=0:999, tried: fp16 is

// The report names no input where no declaration helps, nor values that make Inf.
// NONE: is not known
// NONE-NEXT: next: run it with probes to know
// LARGE: nothing but 0 is expected of it
// LARGE-NEXT: next: fix the

//--- step.mlir
func.func @main(%x: tensor<4x8xf32> {mp.name = "x"}, %t: tensor<4x1xi64> {mp.name = "t"}) -> (tensor<4x8xf32> {mp.name = "y"}) {
  %f = mp.cast %t : (tensor<4x1xi64>) -> tensor<4x1xf32>
  %c = mp.constant dense<1.000000e-03> : tensor<f32>
  %s = mp.mul %f, %c : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %y = mp.mul %x, %s : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

//--- both.mlir
func.func @main(%s: tensor<4xi64> {mp.name = "s"}, %t: tensor<4xi64> {mp.name = "t"}) -> (tensor<4xf32> {mp.name = "y"}) {
  %c = mp.constant dense<1.000000e-03> : tensor<f32>
  %a = mp.cast %s : (tensor<4xi64>) -> tensor<4xf32>
  %b = mp.cast %t : (tensor<4xi64>) -> tensor<4xf32>
  %p = mp.mul %a, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %q = mp.mul %b, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = mp.add %p, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

//--- none.mlir
func.func @main(%x: tensor<4x8xf32> {mp.name = "x"}) -> (tensor<4x8xf32> {mp.name = "y"}) {
  %z = mp.opaque "com.acme::Thing"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

//--- large.mlir
func.func @main(%x: tensor<4x8xf32> {mp.name = "x"}) -> (tensor<4x8xf32> {mp.name = "y"}) {
  %c = mp.constant dense<65504.0> : tensor<f32>
  %a = mp.add %x, %c : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %y = mp.sub %a, %c : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
