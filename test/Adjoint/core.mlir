// RUN: mpopt-opt %s --mp-differentiate | FileCheck %s

// The backward of a cast is a cast, of the same origin; a gradient has the dtype of
// its value. What a policy leaves alone is no parameter, and the running statistics
// of a batch norm are none.
// CHECK-LABEL: func.func @casts
// CHECK: %[[V0:.*]] = mp.matmul %arg0, %arg1 {trans_a = true} : (tensor<8x4xf16>, tensor<8x2xf16>) -> tensor<4x2xf16>
// CHECK: %[[V1:.*]] = mp.cast %[[V0]] {origin = #mp.cast_origin<policy>} : (tensor<4x2xf16>) -> tensor<4x2xf32>
// CHECK: return %[[V2:.*]], %[[V1]] : tensor<8x2xf16>, tensor<4x2xf32>
func.func @casts(%x: tensor<8x4xf16> {mp.name = "x"}) -> (tensor<8x2xf16> {mp.name = "y"}) {
  %w = mp.constant dense<0.5> : tensor<4x2xf32> loc(fused<#mp.origin<"w", "w", "", ["w"]>>["m":1:1])
  %0 = mp.cast %w {origin = #mp.cast_origin<policy>} : (tensor<4x2xf32>) -> tensor<4x2xf16> loc(fused<#mp.origin<"c", "Cast", "", ["half"]>>["m":2:1])
  %1 = mp.matmul %x, %0 : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16> loc(fused<#mp.origin<"p", "MatMul", "block", ["y"]>>["m":3:1])
  return %1 : tensor<8x2xf16>
}

// CHECK-LABEL: func.func @statistics
// CHECK-NOT: mp.detached
// CHECK: %[[V0:.*]] = mp.constant dense<9.99999974E-6> : tensor<f32>
// CHECK: %[[V2:.*]] = mp.add %[[V1:.*]], %[[V0]] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V3:.*]] = mp.rsqrt %[[V2]] : (tensor<3xf32>) -> tensor<3xf32>
// CHECK: %[[V6:.*]], %[[V7:.*]], %[[V8:.*]] = mp.batch_norm_grad %arg1, %arg0, %[[V4:.*]], %[[V5:.*]], %[[V3]] {epsilon = 1.000000e-05 : f64, frozen} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
// CHECK: return %[[V9:.*]], %[[V7]] : tensor<2x3x4xf32>, tensor<3xf32>
func.func @statistics(%x: tensor<2x3x4xf32> {mp.name = "x"}) -> (tensor<2x3x4xf32> {mp.name = "y"}) {
  %s = mp.constant dense<1.0> : tensor<3xf32> loc(fused<#mp.origin<"s", "s", "", ["scale"]>>["m":1:1])
  %m = mp.constant dense<0.0> : tensor<3xf32> loc(fused<#mp.origin<"m", "m", "", ["mean"]>>["m":1:1])
  %v = mp.constant dense<1.0> : tensor<3xf32> loc(fused<#mp.origin<"v", "v", "", ["variance"]>>["m":1:1])
  %0 = mp.batch_norm %x scale %s mean %m variance %v : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// Without kept statistics the last operands are parameters.
// CHECK-LABEL: func.func @trained
// CHECK-SAME: "grad(scale)"
// CHECK-SAME: "grad(bias)"
func.func @trained(%x: tensor<2x3x4xf32> {mp.name = "x"}) -> (tensor<2x3x4xf32> {mp.name = "y"}) {
  %s = mp.constant dense<1.0> : tensor<3xf32> loc(fused<#mp.origin<"s", "s", "", ["scale"]>>["m":1:1])
  %b = mp.constant dense<0.0> : tensor<3xf32> loc(fused<#mp.origin<"b", "b", "", ["bias"]>>["m":1:1])
  %0 = mp.batch_norm %x scale %s bias %b {training = true} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// The backward op has all facts that a project states about an op.
// CHECK-LABEL: func.func @custom
// CHECK: mp.custom_grad %arg1, %{{.*}} {accumulator = f32, deviation = 1.000000e+00 : f64, dtypes = [f32], hi = 1.000000e+00 : f64, like = 0 : i64, lo = 0.000000e+00 : f64, mean = 0.000000e+00 : f64, name = "a::b", slopes = array<f64: 2.000000e+00>, wanted = array<i64: 1>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
func.func @custom(%x: tensor<2xf32> {mp.name = "x"}) -> (tensor<2xf32> {mp.name = "y"}) {
  %w = mp.constant dense<0.5> : tensor<2xf32> loc(fused<#mp.origin<"w", "w", "", ["w"]>>["m":1:1])
  %0 = mp.custom %w {name = "a::b", like = 0 : i64, lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, deviation = 1.0 : f64, slopes = array<f64: 2.0>, dtypes = [f32], accumulator = f32} : (tensor<2xf32>) -> tensor<2xf32> loc(fused<#mp.origin<"c", "Foo", "", ["y"]>>["m":2:1])
  return %0 : tensor<2xf32>
}
