// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// Differing dims are dynamic, outer values are read from the bodies.
// CHECK-LABEL: @branches
func.func @branches(%c: tensor<i1>, %a: tensor<4x2xf32>, %b: tensor<5x2xf32>) -> tensor<*x!mp.unknown> {
  // CHECK: mp.if %{{.*}} : (tensor<i1>) -> tensor<?x2xf32> {
  // CHECK: } else {
  %r = mp.if %c : (tensor<i1>) -> tensor<*x!mp.unknown> {
    %0 = mp.exp %a : (tensor<4x2xf32>) -> tensor<*x!mp.unknown>
    mp.yield %0 : tensor<*x!mp.unknown>
  } else {
    mp.yield %b : tensor<5x2xf32>
  }
  return %r : tensor<*x!mp.unknown>
}

// CHECK-LABEL: @ranks
func.func @ranks(%c: tensor<i1>, %a: tensor<4x2xf32>, %b: tensor<5xf32>) -> tensor<*x!mp.unknown> {
  // CHECK: mp.if {{.*}} -> tensor<*xf32>
  %r = mp.if %c : (tensor<i1>) -> tensor<*x!mp.unknown> {
    mp.yield %a : tensor<4x2xf32>
  } else {
    mp.yield %b : tensor<5xf32>
  }
  return %r : tensor<*x!mp.unknown>
}

// A known condition takes one body's types.
// CHECK-LABEL: @known
func.func @known(%a: tensor<4x2xf32>, %b: tensor<5xf32>) -> tensor<*x!mp.unknown> {
  %c = mp.constant dense<false> : tensor<i1>
  // CHECK: mp.if {{.*}} -> tensor<5xf32>
  %r = mp.if %c : (tensor<i1>) -> tensor<*x!mp.unknown> {
    mp.yield %a : tensor<4x2xf32>
  } else {
    mp.yield %b : tensor<5xf32>
  }
  return %r : tensor<*x!mp.unknown>
}

// A known trip count is the scan output's dim.
// CHECK-LABEL: @counted
func.func @counted(%x: tensor<4xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %n = mp.constant dense<7> : tensor<i64>
  // CHECK: mp.loop count %{{.*}} iter(%{{.*}}) : (tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<7x4xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<i1>, %{{.*}}: tensor<4xf32>):
  %r:2 = mp.loop count %n iter(%x) : (tensor<i64>, tensor<4xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<*xf32>):
    %y = mp.exp %v : (tensor<*xf32>) -> tensor<*xf32>
    mp.yield %go, %y, %y : tensor<i1>, tensor<*xf32>, tensor<*xf32>
  }
  return %r#0, %r#1 : tensor<*xf32>, tensor<*xf32>
}

// A condition that the body changes leaves the number of slices unknown; one
// that is passed on does not.
// CHECK-LABEL: @conditions
func.func @conditions(%x: tensor<4xf32>, %other: tensor<i1>) -> (tensor<*xf32>, tensor<*xf32>) {
  %n = mp.constant dense<7> : tensor<i64>
  %true = mp.constant dense<true> : tensor<i1>
  // CHECK: mp.loop count %{{.*}} while %{{.*}} iter() : {{.*}} -> tensor<?x4xf32>
  %0 = mp.loop count %n while %true iter() : (tensor<i64>, tensor<i1>) -> tensor<*xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>):
    mp.yield %other, %x : tensor<i1>, tensor<4xf32>
  }
  // CHECK: mp.loop count %{{.*}} while %{{.*}} iter() : {{.*}} -> tensor<7x4xf32>
  %1 = mp.loop count %n while %true iter() : (tensor<i64>, tensor<i1>) -> tensor<*xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>):
    %same = mp.identity %go : (tensor<i1>) -> tensor<i1>
    mp.yield %same, %x : tensor<i1>, tensor<4xf32>
  }
  return %0, %1 : tensor<*xf32>, tensor<*xf32>
}

// The carried tensor's dim changes: it is dynamic everywhere, also where the
// body's ops had taken it for 1.
// CHECK-LABEL: @grows
func.func @grows(%n: tensor<i64>, %x: tensor<1x3xf32>, %y: tensor<5x3xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  // CHECK: mp.loop {{.*}} -> (tensor<?x3xf32>, tensor<?x?x3xf32>) {
  // CHECK-NEXT: ^bb0({{.*}}: tensor<?x3xf32>):
  // CHECK-NEXT: mp.neg {{.*}} -> tensor<?x3xf32>
  // CHECK-NEXT: mp.add {{.*}} -> tensor<5x3xf32>
  %r:2 = mp.loop count %n iter(%x) : (tensor<i64>, tensor<1x3xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<*xf32>):
    %0 = mp.neg %v : (tensor<*xf32>) -> tensor<*xf32>
    %1 = mp.add %0, %y : (tensor<*xf32>, tensor<5x3xf32>) -> tensor<*xf32>
    mp.yield %go, %1, %0 : tensor<i1>, tensor<*xf32>, tensor<*xf32>
  }
  return %r#0, %r#1 : tensor<*xf32>, tensor<*xf32>
}

// CHECK-LABEL: @rank_grows
func.func @rank_grows(%n: tensor<i64>, %x: tensor<f32>, %y: tensor<3xf32>) -> tensor<*xf32> {
  // CHECK: mp.loop {{.*}} -> tensor<*xf32>
  %r = mp.loop count %n iter(%x) : (tensor<i64>, tensor<f32>) -> tensor<*xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<*xf32>):
    %0 = mp.add %v, %y : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
    mp.yield %go, %0 : tensor<i1>, tensor<*xf32>
  }
  return %r : tensor<*xf32>
}

// CHECK-LABEL: @scans
func.func @scans(%s: tensor<4xf32>, %x: tensor<4x9xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  // CHECK: mp.scan states(%{{.*}}) over(%{{.*}}) {{.*}} : (tensor<4xf32>, tensor<4x9xf32>) -> (tensor<4xf32>, tensor<4x9xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>):
  %r:2 = mp.scan states(%s) over(%x) {input_axes = array<i64: 1>, output_axes = array<i64: -1>}
      : (tensor<4xf32>, tensor<4x9xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  ^bb0(%state: tensor<*xf32>, %slice: tensor<*xf32>):
    %0 = mp.add %state, %slice : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    mp.yield %0, %0 : tensor<*xf32>, tensor<*xf32>
  }
  return %r#0, %r#1 : tensor<*xf32>, tensor<*xf32>
}

// Opset 8: the batch axis stays outside.
// CHECK-LABEL: @batched
func.func @batched(%s: tensor<2x4xf32>, %x: tensor<2x9x4xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  // CHECK: mp.scan {{.*}} -> (tensor<2x4xf32>, tensor<2x9x4xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>):
  %r:2 = mp.scan states(%s) over(%x) {batched} : (tensor<2x4xf32>, tensor<2x9x4xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  ^bb0(%state: tensor<*xf32>, %slice: tensor<*xf32>):
    %0 = mp.add %state, %slice : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    mp.yield %0, %0 : tensor<*xf32>, tensor<*xf32>
  }
  return %r#0, %r#1 : tensor<*xf32>, tensor<*xf32>
}

// Loops in loops in loops in loops: the innermost starts without shapes.
// CHECK-LABEL: @nested
func.func @nested(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<*xf32> {
  // CHECK: mp.loop {{.*}} -> tensor<*xf32>
  %0 = mp.loop count %n iter(%x) : (tensor<i64>, tensor<4xf32>) -> tensor<*xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4xf32>):
    %1 = mp.loop count %n iter(%a) : (tensor<i64>, tensor<4xf32>) -> tensor<*xf32> {
    ^bb0(%j: tensor<i64>, %go1: tensor<i1>, %b: tensor<4xf32>):
      %2 = mp.loop count %n iter(%b) : (tensor<i64>, tensor<4xf32>) -> tensor<*xf32> {
      ^bb0(%k: tensor<i64>, %go2: tensor<i1>, %c: tensor<4xf32>):
        %3 = mp.loop count %n iter(%c) : (tensor<i64>, tensor<4xf32>) -> tensor<*xf32> {
        ^bb0(%l: tensor<i64>, %go3: tensor<i1>, %d: tensor<4xf32>):
          %4 = mp.exp %d : (tensor<4xf32>) -> tensor<*xf32>
          mp.yield %go3, %4 : tensor<i1>, tensor<*xf32>
        }
        mp.yield %go2, %3 : tensor<i1>, tensor<*xf32>
      }
      mp.yield %go1, %2 : tensor<i1>, tensor<*xf32>
    }
    mp.yield %go, %1 : tensor<i1>, tensor<*xf32>
  }
  return %0 : tensor<*xf32>
}
