// RUN: mpopt-opt --split-input-file --mp-apply-precision=mode=fp16 %s | FileCheck %s --check-prefixes=CHECK,FP16
// RUN: mpopt-opt --split-input-file --mp-apply-precision=mode=bf16 %s | FileCheck %s --check-prefixes=CHECK,BF16

// Inputs change their type, constants keep their bytes, casts to a wider float
// and f64 included; integers stay.
// FP16: mp.low_type = f16, mp.policy = "pytorch-cuda-2.14", mp.precision = "fp16"
// BF16: mp.low_type = bf16, mp.policy = "pytorch-cuda-2.14", mp.precision = "bf16"
// FP16-LABEL: func.func @all(%arg0: tensor<4xf16>, %arg1: tensor<4xf16>, %arg2: tensor<4xi64>) -> (tensor<4xf16>, tensor<4xf16>, tensor<4xf16>)
// BF16-LABEL: func.func @all(%arg0: tensor<4xbf16>, %arg1: tensor<4xbf16>, %arg2: tensor<4xi64>) -> (tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>)
// CHECK: [[W:%.+]] = mp.constant dense<1.000000e-10> : tensor<4xf32>
// FP16-NEXT: [[S:%.+]] = mp.cast [[W]] {origin = #mp.cast_origin<storage>} : (tensor<4xf32>) -> tensor<4xf16>
// FP16: mp.add %arg0, [[S]] : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
// FP16: mp.exp %arg1 {mp.category = "fp32"} : (tensor<4xf16>) -> tensor<4xf16>
// FP16: mp.cast %arg2 : (tensor<4xi64>) -> tensor<4xf16>
// BF16: mp.cast %arg2 : (tensor<4xi64>) -> tensor<4xbf16>
func.func @all(%x: tensor<4xf32>, %y: tensor<4xf64>, %i: tensor<4xi64>)
    -> (tensor<4xf32>, tensor<4xf64>, tensor<4xf32>) {
  %w = mp.constant dense<1.0e-10> : tensor<4xf32>
  %0 = mp.add %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = mp.exp %y : (tensor<4xf64>) -> tensor<4xf64>
  %2 = mp.cast %i : (tensor<4xi64>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf64>, tensor<4xf32>
}

// -----

// A constant that leaves the function is stored too; one that nobody reads as a
// float gets no cast.
// CHECK-LABEL: func.func @constants
// CHECK: mp.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: [[S:%.+]] = mp.cast
// CHECK-NOT: mp.cast %
// CHECK: return [[S]], {{%.+}} : tensor<{{b?}}f16>, tensor<2xi64>
func.func @constants() -> (tensor<f32>, tensor<2xi64>) {
  %f = mp.constant dense<2.0> : tensor<f32>
  %i = mp.constant dense<3> : tensor<2xi64>
  return %f, %i : tensor<f32>, tensor<2xi64>
}

// -----

// An unknown op's results are stored as well.
// FP16-LABEL: func.func @opaque
// FP16: mp.opaque "a::Foo"(%arg0) : (tensor<4xf16>) -> tensor<4xf16>
func.func @opaque(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mp.opaque "a::Foo"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Parameters that autocast would leave alone are stored too.
// FP16-LABEL: func.func @batch_norm
// FP16: mp.batch_norm {{.*}} : (tensor<2x4x8xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<2x4x8xf16>
func.func @batch_norm(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %p = mp.constant dense<1.0> : tensor<4xf32>
  %0 = mp.batch_norm %x scale %p bias %p mean %p variance %p
    : (tensor<2x4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    -> tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}

// -----

// A Resize's scales have a dtype of their own and stay.
// FP16-LABEL: func.func @resize
// FP16-NOT: mp.cast %
// FP16: mp.resize %arg0 scales {{%.+}} : (tensor<1x1x4x4xf16>, tensor<4xf32>) -> tensor<1x1x8x8xf16>
func.func @resize(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x8x8xf32> {
  %s = mp.constant dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32>
  %0 = mp.resize %x scales %s : (tensor<1x1x4x4xf32>, tensor<4xf32>) -> tensor<1x1x8x8xf32>
  return %0 : tensor<1x1x8x8xf32>
}

// -----

// Reading a shape needs no cast back.
// FP16-LABEL: func.func @shape
// FP16-NOT: mp.cast %
// FP16: mp.shape {{%.+}} : (tensor<?x4xf16>) -> tensor<2xi64>
func.func @shape(%x: tensor<?x4xf32>) -> tensor<2xi64> {
  %0 = mp.tanh %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = mp.shape %0 : (tensor<?x4xf32>) -> tensor<2xi64>
  return %1 : tensor<2xi64>
}
