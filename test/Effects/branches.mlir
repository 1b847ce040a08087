// The ops of a branch count as those outside do: of the body that runs, or of both,
// each for the share of runs that it has.
// RUN: split-file %s %t
// RUN: mpopt --check %t/open.mlir --precision fp16 --format json | FileCheck %s --check-prefix OPEN
// RUN: mpopt --check %t/known.mlir --precision fp16 --format json | FileCheck %s --check-prefix KNOWN
// RUN: not mpopt --check %t/overflow.mlir --precision fp16 | FileCheck %s --check-prefix OVERFLOW
// RUN: mpopt --check %t/dead.mlir --precision fp16 | FileCheck %s --check-prefix DEAD

// OPEN: "expected_error": {{[0-9.e-]+}}
// KNOWN: "expected_error": {{[0-9.e-]+}}
// OVERFLOW: error[MP201]
// What never runs does no harm.
// DEAD: is expected to change
// DEAD-NOT: error

//--- open.mlir
func.func @main(%c: tensor<i1>, %x: tensor<64xf32>) -> (tensor<64xf32> {mp.name = "result"}) {
  %0 = mp.if %c : (tensor<i1>) -> tensor<64xf32> {
    %1 = mp.tanh %x : (tensor<64xf32>) -> tensor<64xf32>
    %2 = mp.mul %1, %x : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    mp.yield %2 : tensor<64xf32>
  } else {
    %3 = mp.sigmoid %x : (tensor<64xf32>) -> tensor<64xf32>
    mp.yield %3 : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}

//--- known.mlir
// The other side yields another shape, and never runs.
func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32> {mp.name = "result"}) {
  %one = mp.constant dense<1> : tensor<i64>
  %two = mp.constant dense<2> : tensor<i64>
  %c = mp.less %one, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %0 = mp.if %c : (tensor<i1>) -> tensor<64xf32> {
    %1 = mp.tanh %x : (tensor<64xf32>) -> tensor<64xf32>
    mp.yield %1 : tensor<64xf32>
  } else {
    %2 = mp.exp %x : (tensor<64xf32>) -> tensor<64xf32>
    mp.yield %2 : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}

//--- overflow.mlir
func.func @main(%c: tensor<i1>, %x: tensor<64xf32>) -> (tensor<64xf32> {mp.name = "result"}) {
  %0 = mp.if %c : (tensor<i1>) -> tensor<64xf32> {
    %k = mp.constant dense<50000.0> : tensor<f32>
    %1 = mp.mul %x, %k : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
    mp.yield %1 : tensor<64xf32>
  } else {
    mp.yield %x : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}

//--- dead.mlir
func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32> {mp.name = "result"}) {
  %one = mp.constant dense<1> : tensor<i64>
  %two = mp.constant dense<2> : tensor<i64>
  %c = mp.less %two, %one : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %0 = mp.if %c : (tensor<i1>) -> tensor<64xf32> {
    %k = mp.constant dense<50000.0> : tensor<f32>
    %1 = mp.mul %x, %k : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
    mp.yield %1 : tensor<64xf32>
  } else {
    mp.yield %x : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}
