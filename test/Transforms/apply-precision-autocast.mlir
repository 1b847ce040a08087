// RUN: mpopt-opt --split-input-file --mp-apply-precision=mode=autocast-fp16 %s | FileCheck %s
// RUN: mpopt-opt --split-input-file --mp-apply-precision=mode=autocast-bf16 %s | FileCheck %s --check-prefix=BF16
// RUN: mpopt-opt --split-input-file --mp-apply-precision="mode=autocast-bf16 policy=pytorch-cpu-2.14" %s | FileCheck %s --check-prefix=CPU

// CHECK: module attributes {mp.low_type = f16, mp.policy = "pytorch-cuda-2.14", mp.precision = "autocast-fp16"}
// BF16: module attributes {mp.low_type = bf16, {{.*}}mp.precision = "autocast-bf16"}

// An op of the fp32 list widens its operand and gives f32.
// CHECK-LABEL: func.func @fp32
// CHECK-SAME: -> tensor<4xf32>
// CHECK: [[X:%.+]] = mp.cast %arg0 {origin = #mp.cast_origin<policy>} : (tensor<4xf16>) -> tensor<4xf32>
// CHECK: mp.exp [[X]] {mp.category = "fp32"} : (tensor<4xf32>) -> tensor<4xf32>
// CPU does not list exp.
// CPU-LABEL: func.func @fp32
// CPU-NOT: mp.cast
// CPU: mp.exp %arg0 : (tensor<4xf16>) -> tensor<4xf16>
func.func @fp32(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = mp.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// f64 is never eligible, nor is what is f32 already changed.
// CHECK-LABEL: func.func @not_eligible
// CHECK-NOT: mp.cast %
// CHECK: mp.exp %arg0 {mp.category = "fp32"} : (tensor<4xf64>) -> tensor<4xf64>
// CHECK: mp.exp %arg1 {mp.category = "fp32"} : (tensor<4xf32>) -> tensor<4xf32>
func.func @not_eligible(%x: tensor<4xf64>, %y: tensor<4xf32>)
    -> (tensor<4xf64>, tensor<4xf32>) {
  %0 = mp.exp %x : (tensor<4xf64>) -> tensor<4xf64>
  %1 = mp.exp %y : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf64>, tensor<4xf32>
}

// -----

// Ops without a category promote, and say what they widened; bf16 with f16
// meets in f32.
// CHECK-LABEL: func.func @promotion
// CHECK: [[B:%.+]] = mp.cast %arg2 {origin = #mp.cast_origin<promotion>} : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK: [[H:%.+]] = mp.cast %arg0 {origin = #mp.cast_origin<promotion>} : (tensor<4xf16>) -> tensor<4xf32>
// CHECK: mp.add [[H]], %arg1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// The cast serves both uses.
// CHECK: mp.mul [[H]], [[B]] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NOT: mp.cast %
func.func @promotion(%h: tensor<4xf16>, %x: tensor<4xf32>, %b: tensor<4xbf16>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = mp.add %h, %x : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf32>
  %1 = mp.mul %h, %b : (tensor<4xf16>, tensor<4xbf16>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A constant of one element follows the tensor, as a Python number would; so
// does a 0-dim tensor, but one with more elements does not.
// CHECK-LABEL: func.func @numbers
// CHECK: [[ONE:%.+]] = mp.cast {{%.+}} {origin = #mp.cast_origin<promotion>} : (tensor<1xf32>) -> tensor<1xf16>
// CHECK: mp.add %arg0, [[ONE]] : (tensor<4xf16>, tensor<1xf16>) -> tensor<4xf16>
// CHECK: mp.mul %arg0, {{%.+}} : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
// CHECK: mp.mul {{%.+}}, {{%.+}} : (tensor<4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
func.func @numbers(%h: tensor<4xf16>, %s: tensor<f32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>) {
  %one = mp.constant dense<1.0> : tensor<1xf32>
  %two = mp.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %0 = mp.add %h, %one : (tensor<4xf16>, tensor<1xf32>) -> tensor<4xf32>
  %1 = mp.mul %h, %s : (tensor<4xf16>, tensor<f32>) -> tensor<4xf32>
  %2 = mp.mul %h, %two : (tensor<4xf16>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>
}

// -----

// The model's own casts stay what they are.
// CHECK-LABEL: func.func @model_cast
// CHECK: mp.cast %arg0 : (tensor<4xf32>) -> tensor<4xf16>
// CHECK-NEXT: mp.tanh {{%.+}} : (tensor<4xf16>) -> tensor<4xf16>
func.func @model_cast(%x: tensor<4xf32>) -> tensor<4xf16> {
  %0 = mp.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  %1 = mp.tanh %0 : (tensor<4xf16>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}

// -----

// Members of a composite that PyTorch does not list run in the operand's dtype,
// although pow alone is listed.
// CHECK-LABEL: func.func @gelu
// CHECK-NOT: policy
// CHECK: mp.pow {{.*}} -> tensor<4xf16>
// CHECK: mp.mul {{.*}} -> tensor<4xf16>
// Members of one that is listed are all in f32, although mul alone is not.
// CHECK-LABEL: func.func @rms_norm
// CHECK: [[X:%.+]] = mp.cast %arg0 {origin = #mp.cast_origin<policy>}
// CHECK: mp.mul [[X]], [[X]] {mp.category = "fp32"
// CHECK-SAME: -> tensor<4xf32>
func.func @gelu(%x: tensor<4xf16>) -> tensor<4xf16> {
  %three = mp.constant dense<3.0> : tensor<f16>
  %0 = mp.pow %x, %three {mp.idiom = #mp.idiom<"gelu", 0, false>}
    : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %1 = mp.mul %0, %x {mp.idiom = #mp.idiom<"gelu", 0, true>}
    : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}
func.func @rms_norm(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = mp.mul %x, %x {mp.idiom = #mp.idiom<"rms_norm", 1, true>}
    : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// So do the members of instance_norm, and its parameters follow the input.
// CHECK-LABEL: func.func @instance_norm
// CHECK: mp.mul %arg0, {{%.+}} : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
func.func @instance_norm(%x: tensor<4xf16>) -> tensor<4xf32> {
  %scale = mp.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = mp.mul %x, %scale {mp.idiom = #mp.idiom<"instance_norm", 0, true>}
    : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Nothing is known of an unknown op; what it gets is left alone.
// CHECK-LABEL: func.func @opaque
// CHECK: mp.opaque "a::Foo"(%arg0, %arg1) : (tensor<4xf16>, tensor<4xf32>) -> tensor<*x!mp.unknown>
func.func @opaque(%h: tensor<4xf16>, %x: tensor<4xf32>) -> tensor<*x!mp.unknown> {
  %0 = mp.opaque "a::Foo"(%h, %x) : (tensor<4xf16>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  return %0 : tensor<*x!mp.unknown>
}

// -----

// batch_norm keeps f32 parameters with an f16 input.
// CHECK-LABEL: func.func @batch_norm
// CHECK-SAME: -> tensor<2x4x8xf16>
// CHECK-NOT: mp.cast %
// CHECK: mp.batch_norm {{.*}} : (tensor<2x4x8xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8xf16>
func.func @batch_norm(%x: tensor<2x4x8xf16>, %p: tensor<4xf32>) -> tensor<2x4x8xf16> {
  %0 = mp.batch_norm %x scale %p bias %p mean %p variance %p
    : (tensor<2x4x8xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    -> tensor<2x4x8xf16>
  return %0 : tensor<2x4x8xf16>
}

// -----

// Listed products narrow their operands, the bias included; integers stay.
// CHECK-LABEL: func.func @linear
// CHECK: mp.linear {{.*}} {mp.category = "lower"} : (tensor<2x4xf16>, tensor<3x4xf16>, tensor<3xf16>) -> tensor<2x3xf16>
// BF16-LABEL: func.func @linear
// BF16: mp.linear {{.*}} -> tensor<2x3xbf16>
func.func @linear(%x: tensor<2x4xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = mp.linear %x, %w bias %b : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// CPU autocast lists pooling by dimension, and without indices only.
// CPU-LABEL: func.func @pooling
// CPU: mp.max_pool {{.*}} : (tensor<1x1x4x4xbf16>) -> tensor<1x1x3x3xbf16>
// CPU: mp.max_pool {{.*}} {{.*}}mp.category = "fp32"{{.*}} : (tensor<1x1x4x4x4xf32>) -> tensor<1x1x3x3x3xf32>
// CPU: mp.global_average_pool {{.*}} : (tensor<1x1x4x4xbf16>)
// CPU: mp.global_average_pool {{.*}} {mp.category = "fp32"} : (tensor<1x1x4x4x4xf32>)
func.func @pooling(%two: tensor<1x1x4x4xbf16>, %three: tensor<1x1x4x4x4xbf16>) {
  %0 = mp.max_pool %two {kernel_shape = array<i64: 2, 2>}
    : (tensor<1x1x4x4xbf16>) -> tensor<1x1x3x3xbf16>
  %1 = mp.max_pool %three {kernel_shape = array<i64: 2, 2, 2>}
    : (tensor<1x1x4x4x4xbf16>) -> tensor<1x1x3x3x3xbf16>
  %2 = mp.global_average_pool %two : (tensor<1x1x4x4xbf16>) -> tensor<1x1x1x1xbf16>
  %3 = mp.global_average_pool %three : (tensor<1x1x4x4x4xbf16>) -> tensor<1x1x1x1x1xbf16>
  return
}

// -----

// A linear layer of three dims is a product and a sum in files; the sum belongs
// to it. A parameter that is added to anything else does promote.
// CHECK-LABEL: func.func @linear_in_two_ops
// CHECK: mp.matmul {{.*}} {mp.category = "lower"} : (tensor<2x3x4xf16>
// CHECK: [[L:%.+]] = mp.add {{.*}} {mp.category = "lower"} : (tensor<5xf16>, tensor<2x3x5xf16>) -> tensor<2x3x5xf16>
// CHECK: [[T:%.+]] = mp.tanh [[L]] : (tensor<2x3x5xf16>)
// CHECK: mp.add {{%.+}}, {{%.+}} : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
func.func @linear_in_two_ops(%x: tensor<2x3x4xf32>) -> tensor<2x3x5xf32> {
  %w = mp.constant dense<0.1> : tensor<4x5xf32>
  %b = mp.constant dense<0.2> : tensor<5xf32>
  %0 = mp.matmul %x, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  %1 = mp.add %b, %0 : (tensor<5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %2 = mp.tanh %1 : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %3 = mp.add %2, %b : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  return %3 : tensor<2x3x5xf32>
}
