// RUN: mpopt-opt --split-input-file --mp-apply-precision=mode=autocast-fp16 %s | FileCheck %s
// RUN: mpopt-opt --split-input-file --mp-apply-precision=mode=fp16 %s | FileCheck %s --check-prefix=FP16

// Branches that end in different floats meet in the wider.
// CHECK-LABEL: func.func @branches
// CHECK-SAME: -> tensor<4xf32>
// CHECK: mp.if %arg0 : (tensor<i1>) -> tensor<4xf32>
// CHECK: [[T:%.+]] = mp.tanh
// CHECK-NEXT: [[W:%.+]] = mp.cast [[T]] {origin = #mp.cast_origin<promotion>} : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT: mp.yield [[W]] : tensor<4xf32>
// CHECK: [[E:%.+]] = mp.exp
// CHECK-NEXT: mp.yield [[E]] : tensor<4xf32>
// FP16-LABEL: func.func @branches
// FP16: mp.if %arg0 : (tensor<i1>) -> tensor<4xf16>
func.func @branches(%c: tensor<i1>, %h: tensor<4xf16>) -> tensor<4xf16> {
  %r = mp.if %c : (tensor<i1>) -> tensor<4xf16> {
    %0 = mp.tanh %h : (tensor<4xf16>) -> tensor<4xf16>
    mp.yield %0 : tensor<4xf16>
  } else {
    %1 = mp.exp %h : (tensor<4xf16>) -> tensor<4xf16>
    mp.yield %1 : tensor<4xf16>
  }
  return %r : tensor<4xf16>
}

// -----

// What a loop carries is the wider of what it starts with and what it yields;
// the body is rewritten for it, and no cast of the first try is left.
// CHECK-LABEL: func.func @widening_loop
// CHECK: [[X:%.+]] = mp.cast %arg1 {origin = #mp.cast_origin<promotion>} : (tensor<4xf16>) -> tensor<4xf32>
// CHECK: mp.loop count %arg0 iter([[X]]) : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: ^bb0({{.*}}, [[V:%.+]]: tensor<4xf32>):
// CHECK-NEXT: [[E:%.+]] = mp.exp [[V]] {mp.category = "fp32"} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: mp.yield {{%.+}}, [[E]] : tensor<i1>, tensor<4xf32>
// FP16-LABEL: func.func @widening_loop
// FP16: ^bb0({{.*}}, {{%.+}}: tensor<4xf16>):
func.func @widening_loop(%n: tensor<i64>, %x: tensor<4xf16>) -> tensor<4xf16> {
  %r = mp.loop count %n iter(%x) : (tensor<i64>, tensor<4xf16>) -> tensor<4xf16> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf16>):
    %y = mp.exp %v : (tensor<4xf16>) -> tensor<4xf16>
    mp.yield %go, %y : tensor<i1>, tensor<4xf16>
  }
  return %r : tensor<4xf16>
}

// -----

// A narrower value is widened at the end of the body.
// CHECK-LABEL: func.func @narrowing_loop
// CHECK: mp.loop count %arg0 iter(%arg1) : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: [[P:%.+]] = mp.prelu {{.*}} : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
// CHECK-NEXT: [[W:%.+]] = mp.cast [[P]] {origin = #mp.cast_origin<promotion>}
// CHECK-NEXT: mp.yield {{%.+}}, [[W]] : tensor<i1>, tensor<4xf32>
// FP16-LABEL: func.func @narrowing_loop
func.func @narrowing_loop(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = mp.loop count %n iter(%x) : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %y = mp.prelu %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mp.yield %go, %y : tensor<i1>, tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// States and slices of a scan have the dtypes of the tensors they come from.
// FP16-LABEL: func.func @scan
// FP16: ^bb0({{%.+}}: tensor<4xf16>, {{%.+}}: tensor<4xf16>):
// CHECK-LABEL: func.func @scan
// CHECK: ^bb0({{%.+}}: tensor<4xf16>, {{%.+}}: tensor<4xf16>):
func.func @scan(%s: tensor<4xf32>, %x: tensor<9x4xf32>) -> (tensor<4xf32>, tensor<9x4xf32>) {
  %s16 = mp.prelu %s, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %x16 = mp.prelu %x, %x : (tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<9x4xf32>
  %r:2 = mp.scan states(%s16) over(%x16)
      : (tensor<4xf32>, tensor<9x4xf32>) -> (tensor<4xf32>, tensor<9x4xf32>) {
  ^bb0(%state: tensor<4xf32>, %slice: tensor<4xf32>):
    %y = mp.add %state, %slice : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mp.yield %y, %y : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<9x4xf32>
}
