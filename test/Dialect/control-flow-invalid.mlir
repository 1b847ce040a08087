// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-infer-types

func.func @branch_arguments(%c: tensor<i1>) {
  // expected-error @+1 {{a branch has no arguments}}
  mp.if %c : (tensor<i1>) -> () {
  ^bb0(%x: tensor<f32>):
    mp.yield
  } else {
    mp.yield
  }
  return
}

// -----

func.func @yield_count(%c: tensor<i1>, %x: tensor<f32>) {
  // expected-error @+1 {{region branch point}}
  %0 = mp.if %c : (tensor<i1>) -> tensor<f32> {
    // expected-note @+1 {{region branch point}}
    mp.yield
  } else {
    mp.yield %x : tensor<f32>
  }
  return
}

// -----

func.func @branch_dtypes(%c: tensor<i1>, %x: tensor<f32>, %y: tensor<i64>) {
  // expected-error @+1 {{along control flow edge}}
  %0 = mp.if %c : (tensor<i1>) -> tensor<f32> {
    // expected-note @+1 {{region branch point}}
    mp.yield %y : tensor<i64>
  } else {
    mp.yield %x : tensor<f32>
  }
  return
}

// -----

func.func @loop_arguments(%n: tensor<i64>) {
  // expected-error @+1 {{body must have 2 arguments (iteration, condition, carried values), has 1}}
  mp.loop count %n iter() : (tensor<i64>) -> () {
  ^bb0(%i: tensor<i64>):
    mp.yield %i : tensor<i64>
  }
  return
}

// -----

func.func @loop_yield(%n: tensor<i64>) {
  // expected-error @+1 {{body must yield 1 values (condition, carried, scanned), yields 0}}
  mp.loop count %n iter() : (tensor<i64>) -> () {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>):
    mp.yield
  }
  return
}

// -----

func.func @scan_nothing() {
  // expected-error @+1 {{needs a tensor to scan}}
  mp.scan states() over() : () -> () {
    mp.yield
  }
  return
}

// -----

func.func @scan_axes(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{has 2 input axes for 1 tensors}}
  mp.scan states() over(%x) {input_axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> () {
  ^bb0(%s: tensor<3xf32>):
    mp.yield
  }
  return
}

// -----

func.func @scan_axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis 2 is out of range of 'tensor<2x3xf32>'}}
  mp.scan states() over(%x) {input_axes = array<i64: 2>} : (tensor<2x3xf32>) -> () {
  ^bb0(%s: tensor<3xf32>):
    mp.yield
  }
  return
}

// -----

func.func @scan_lengths(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{scans over tensors of 2 and 3 slices}}
  mp.scan states() over(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> () {
  ^bb0(%s: tensor<f32>, %t: tensor<f32>):
    mp.yield
  }
  return
}

// -----

func.func @stray_yield() {
  // expected-error @+1 {{must end the body of an mp op}}
  mp.yield
}
