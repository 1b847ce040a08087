// RUN: mpopt-opt --mp-apply-precision="mode=fp16 policy=onnxconverter-common-float16" %s | FileCheck %s
// RUN: mpopt-opt --mp-apply-precision="mode=autocast-fp16 policy=onnxruntime-float16" %s | FileCheck %s

// Blocked ops compute in f32 between casts; two of them in a row hand over f32;
// a constant that only they read is not stored. f64 stays.
// CHECK-LABEL: func.func @f(%arg0: tensor<4xf16>, %arg1: tensor<4xf64>) -> (tensor<4xf16>, tensor<4xf64>)
// CHECK: [[X:%.+]] = mp.cast %arg0 {origin = #mp.cast_origin<policy>} : (tensor<4xf16>) -> tensor<4xf32>
// CHECK: [[C:%.+]] = mp.constant dense<1.000000e+05> : tensor<4xf32>
// CHECK-NOT: mp.cast [[C]]
// CHECK: [[MAX:%.+]] = mp.max [[X]], [[C]] {mp.category = "block"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NOT: mp.cast %
// CHECK: [[MIN:%.+]] = mp.min [[MAX]], [[C]] {mp.category = "block"}
// CHECK-NEXT: [[S:%.+]] = mp.cast [[MIN]] {origin = #mp.cast_origin<policy>} : (tensor<4xf32>) -> tensor<4xf16>
// CHECK-NEXT: mp.exp [[S]] : (tensor<4xf16>) -> tensor<4xf16>
// CHECK: mp.exp %arg1 : (tensor<4xf64>) -> tensor<4xf64>
func.func @f(%x: tensor<4xf32>, %d: tensor<4xf64>) -> (tensor<4xf32>, tensor<4xf64>) {
  %c = mp.constant dense<1.0e+5> : tensor<4xf32>
  %0 = mp.max %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = mp.min %0, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = mp.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = mp.exp %d : (tensor<4xf64>) -> tensor<4xf64>
  return %2, %3 : tensor<4xf32>, tensor<4xf64>
}

// Constants are written within the converter's limits, which ops of its list
// read as they are.
// CHECK-LABEL: func.func @limits
// CHECK: [[C:%.+]] = mp.constant dense<1.000000e+05> : tensor<4xf32>
// CHECK: mp.cast [[C]] {mp.limits = array<f64: {{[^,]+, (1.000000e.04|6.550400e.04)}}>, origin = #mp.cast_origin<storage>}
// CHECK: mp.max {{.*}}, [[C]]
func.func @limits(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = mp.constant dense<1.0e+5> : tensor<4xf32>
  %0 = mp.add %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = mp.max %0, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
