// RUN: echo '{"name": "tf", "kind": "graph-coloring", "framework": "tensorflow", "categories": {"allow": ["Tanh"], "infer": ["Mul", "AddV2"], "deny": ["Exp"], "clear": ["Neg"]}}' > %t.json
// RUN: mpopt-opt --split-input-file --mp-apply-precision="mode=autocast-fp16 policy=%t.json" %s | FileCheck %s
// RUN: mpopt-opt --split-input-file --mp-apply-precision="mode=fp16 policy=tensorflow-cuda" %s | FileCheck %s --check-prefix=PLAIN

// Infer and clear ops between two allow ops are converted with them.
// CHECK-LABEL: func.func @between(%arg0: tensor<4xf32>) -> tensor<4xf32>
// CHECK: [[X:%.+]] = mp.cast %arg0 {origin = #mp.cast_origin<policy>} : (tensor<4xf32>) -> tensor<4xf16>
// CHECK: mp.tanh [[X]] {mp.category = "allow"} : (tensor<4xf16>)
// CHECK-NEXT: mp.neg {{%.+}} {mp.category = "clear"} : (tensor<4xf16>)
// CHECK-NEXT: mp.mul {{.*}} {mp.category = "infer"} : (tensor<4xf16>
// CHECK-NEXT: [[T:%.+]] = mp.tanh {{.*}} : (tensor<4xf16>)
// What the model gives back keeps its dtype.
// CHECK-NEXT: [[R:%.+]] = mp.cast [[T]] {origin = #mp.cast_origin<policy>} : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT: return [[R]]
// In a plain mode the policy only annotates.
// PLAIN-LABEL: func.func @between(%arg0: tensor<4xf16>) -> tensor<4xf16>
// PLAIN: mp.tanh %arg0 {mp.category = "infer"} : (tensor<4xf16>)
func.func @between(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mp.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mp.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mp.mul %1, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = mp.tanh %2 : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// What a deny op feeds stays in f32 although allow ops are on both sides; the
// clear op that leads to an allow op goes with that one.
// CHECK-LABEL: func.func @denied
// CHECK: mp.tanh {{.*}} : (tensor<4xf16>)
// CHECK-NEXT: mp.cast {{.*}} -> tensor<4xf32>
// CHECK-NEXT: mp.exp {{.*}} {mp.category = "deny"} : (tensor<4xf32>)
// CHECK-NEXT: mp.add {{.*}} {mp.category = "infer"} : (tensor<4xf32>
// CHECK-NEXT: mp.cast {{.*}} -> tensor<4xf16>
// CHECK-NEXT: mp.neg {{.*}} : (tensor<4xf16>)
// CHECK-NEXT: mp.tanh {{.*}} : (tensor<4xf16>)
func.func @denied(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mp.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mp.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mp.add %1, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = mp.neg %2 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = mp.tanh %3 : (tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// A clear op that a deny op feeds and that leads to an infer op is denied.
// CHECK-LABEL: func.func @clear_to_infer
// CHECK: mp.exp
// CHECK-NEXT: mp.neg {{.*}} : (tensor<4xf32>)
// CHECK-NEXT: mp.mul {{.*}} : (tensor<4xf32>
// CHECK-NEXT: mp.cast {{.*}} -> tensor<4xf16>
// CHECK-NEXT: mp.tanh
func.func @clear_to_infer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mp.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mp.mul %1, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = mp.tanh %2 : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// Without an allow op nothing changes, nor does what is not listed.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: mp.cast %
// CHECK: return
func.func @nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mp.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = mp.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A cast to f32 whose users are all converted gives the low type at once.
// CHECK-LABEL: func.func @absorbed
// CHECK: mp.cast %arg0 : (tensor<4xi64>) -> tensor<4xf16>
// CHECK-NEXT: mp.tanh
func.func @absorbed(%x: tensor<4xi64>) -> tensor<4xf32> {
  %0 = mp.cast %x : (tensor<4xi64>) -> tensor<4xf32>
  %1 = mp.tanh %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
