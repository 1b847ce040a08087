// RUN: mpopt-opt %s --mp-recognize-idioms --split-input-file | FileCheck %s

// CHECK-LABEL: @gelu_erf
func.func @gelu_erf(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = mp.constant dense<1.41421354> : tensor<f32>
  %one = mp.constant dense<1.0> : tensor<f32>
  %half = mp.constant dense<0.5> : tensor<f32>
  // CHECK: mp.div {{.*}}mp.idiom = #mp.idiom<"gelu", 0, false>
  %a = mp.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: mp.erf {{.*}}"gelu", 0, false
  %b = mp.erf %a : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mp.add {{.*}}"gelu", 0, false
  %c = mp.add %b, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: mp.mul {{.*}}"gelu", 0, false
  %d = mp.mul %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mp.mul {{.*}}"gelu", 0, true
  %y = mp.mul %d, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// (0.5 x) * (1 + erf(0.7071 x)).
// CHECK-LABEL: @gelu_erf_half_first
func.func @gelu_erf_half_first(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = mp.constant dense<0.707106769> : tensor<f32>
  %one = mp.constant dense<1.0> : tensor<f32>
  %half = mp.constant dense<0.5> : tensor<f32>
  // CHECK: mp.mul {{.*}}"gelu", 0, false
  %h = mp.mul %half, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mp.mul {{.*}}"gelu", 0, false
  %a = mp.mul %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = mp.erf %a : (tensor<4xf32>) -> tensor<4xf32>
  %c = mp.add %one, %b : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mp.mul {{.*}}"gelu", 0, true
  %y = mp.mul %h, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// GPT-2: Pow 3.
// CHECK-LABEL: @gelu_tanh
func.func @gelu_tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = mp.constant dense<3.0> : tensor<f32>
  %k = mp.constant dense<0.044715> : tensor<f32>
  %front = mp.constant dense<0.797884583> : tensor<f32>
  %one = mp.constant dense<1.0> : tensor<f32>
  %half = mp.constant dense<0.5> : tensor<f32>
  %h = mp.mul %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: mp.pow {{.*}}"gelu", 0, false
  %p = mp.pow %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %q = mp.mul %p, %k : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %r = mp.add %x, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s = mp.mul %r, %front : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: mp.tanh {{.*}}"gelu", 0, false
  %t = mp.tanh %s : (tensor<4xf32>) -> tensor<4xf32>
  %u = mp.add %t, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: mp.mul {{.*}}"gelu", 0, true
  %y = mp.mul %h, %u : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// sqrt(2/pi) x (1 + 0.044715 x x).
// CHECK-LABEL: @gelu_tanh_factored
func.func @gelu_tanh_factored(%x: tensor<4xf32>) -> tensor<4xf32> {
  %k = mp.constant dense<0.044715> : tensor<f32>
  %front = mp.constant dense<0.797884583> : tensor<f32>
  %one = mp.constant dense<1.0> : tensor<f32>
  %half = mp.constant dense<0.5> : tensor<f32>
  %f = mp.mul %x, %front : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %p = mp.mul %x, %k : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %q = mp.mul %x, %p : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = mp.add %one, %q : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %s = mp.mul %f, %r : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = mp.tanh %s : (tensor<4xf32>) -> tensor<4xf32>
  %u = mp.add %t, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v = mp.mul %u, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: mp.mul {{.*}}"gelu", 0, true
  %y = mp.mul %v, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @silu_sigmoid
func.func @silu_sigmoid(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK: mp.sigmoid {{.*}}"silu", 0, false
  %s = mp.sigmoid %x : (tensor<4xbf16>) -> tensor<4xbf16>
  // CHECK: mp.mul {{.*}}"silu", 0, true
  %y = mp.mul %s, %x : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  return %y : tensor<4xbf16>
}

// -----

// CHECK-LABEL: @silu_exp
func.func @silu_exp(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = mp.constant dense<1.0> : tensor<f32>
  // CHECK: mp.neg {{.*}}"silu", 0, false
  %n = mp.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %e = mp.exp %n : (tensor<4xf32>) -> tensor<4xf32>
  %s = mp.add %one, %e : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mp.div {{.*}}"silu", 0, true
  %y = mp.div %x, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @softplus
func.func @softplus(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = mp.constant dense<1.0> : tensor<f32>
  %e = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %s = mp.add %e, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: mp.log {{.*}}"softplus", 0, true
  %y = mp.log %s : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @softplus_log1p
func.func @softplus_log1p(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: mp.exp {{.*}}"softplus", 0, false
  %e = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mp.log1p {{.*}}"softplus", 0, true
  %y = mp.log1p %e : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @softplus_stable
func.func @softplus_stable(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = mp.constant dense<0.0> : tensor<f32>
  %a = mp.abs %x : (tensor<4xf32>) -> tensor<4xf32>
  %n = mp.neg %a : (tensor<4xf32>) -> tensor<4xf32>
  %e = mp.exp %n : (tensor<4xf32>) -> tensor<4xf32>
  %l = mp.log1p %e : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mp.max {{.*}}"softplus", 0, false
  %p = mp.max %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: mp.add {{.*}}"softplus", 0, true
  %y = mp.add %p, %l : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Near misses.

// CHECK-LABEL: @gelu_of_two
func.func @gelu_of_two(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: mp.idiom
  %root = mp.constant dense<1.41421354> : tensor<f32>
  %one = mp.constant dense<1.0> : tensor<f32>
  %half = mp.constant dense<0.5> : tensor<f32>
  %a = mp.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = mp.erf %a : (tensor<4xf32>) -> tensor<4xf32>
  %c = mp.add %b, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %d = mp.mul %z, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = mp.mul %d, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: @gelu_wrong_number
func.func @gelu_wrong_number(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: mp.idiom
  %root = mp.constant dense<1.5> : tensor<f32>
  %one = mp.constant dense<1.0> : tensor<f32>
  %half = mp.constant dense<0.5> : tensor<f32>
  %a = mp.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = mp.erf %a : (tensor<4xf32>) -> tensor<4xf32>
  %c = mp.add %b, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %d = mp.mul %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = mp.mul %d, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// A gate, not a SiLU.
// CHECK-LABEL: @gate
func.func @gate(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: mp.idiom
  %s = mp.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = mp.mul %s, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// log(2 + exp(x)), and a sigmoid by hand.
// CHECK-LABEL: @other_sums
func.func @other_sums(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NOT: mp.idiom
  %two = mp.constant dense<2.0> : tensor<f32>
  %one = mp.constant dense<1.0> : tensor<f32>
  %e = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %s = mp.add %e, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = mp.log %s : (tensor<4xf32>) -> tensor<4xf32>
  %n = mp.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %f = mp.exp %n : (tensor<4xf32>) -> tensor<4xf32>
  %t = mp.add %f, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %z = mp.div %one, %t : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

// Before opset 14: relu6 of x + 3, times x, by 6.
// CHECK-LABEL: @hard_swish_clip
func.func @hard_swish_clip(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = mp.constant dense<0.0> : tensor<f32>
  %three = mp.constant dense<3.0> : tensor<f32>
  %six = mp.constant dense<6.0> : tensor<f32>
  // CHECK: mp.add {{.*}}mp.idiom = #mp.idiom<"hard_swish", 0, false>
  %a = mp.add %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: mp.clip {{.*}}"hard_swish", 0, false
  %b = mp.clip %a min %zero max %six : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: mp.mul {{.*}}"hard_swish", 0, false
  %c = mp.mul %x, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mp.div {{.*}}"hard_swish", 0, true
  %y = mp.div %c, %six : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @hard_swish_gate_first
func.func @hard_swish_gate_first(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = mp.constant dense<3.0> : tensor<f32>
  %sixth = mp.constant dense<0.166666672> : tensor<f32>
  %a = mp.add %three, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mp.relu6 {{.*}}"hard_swish", 0, false
  %b = mp.relu6 %a : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mp.mul {{.*}}"hard_swish", 0, false
  %c = mp.mul %b, %sixth : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: mp.mul {{.*}}"hard_swish", 0, true
  %y = mp.mul %c, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @hard_swish_by_hard_sigmoid
func.func @hard_swish_by_hard_sigmoid(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: mp.hard_sigmoid {{.*}}"hard_swish", 0, false
  %a = mp.hard_sigmoid %x {alpha = 0.16666667 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mp.mul {{.*}}"hard_swish", 0, true
  %y = mp.mul %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Another slope, and a gate of another value.
// CHECK-LABEL: @no_hard_swish
func.func @no_hard_swish(%x: tensor<4xf32>, %other: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: mp.idiom
  %three = mp.constant dense<3.0> : tensor<f32>
  %a = mp.hard_sigmoid %x {alpha = 0.2 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %b = mp.mul %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = mp.add %b, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %d = mp.relu6 %c : (tensor<4xf32>) -> tensor<4xf32>
  %y = mp.mul %d, %other : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @mish
func.func @mish(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: mp.softplus {{.*}}"mish", 0, false
  %a = mp.softplus %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mp.tanh {{.*}}"mish", 0, false
  %b = mp.tanh %a : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mp.mul {{.*}}"mish", 0, true
  %y = mp.mul %x, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
