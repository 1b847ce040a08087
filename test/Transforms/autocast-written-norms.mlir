// RUN: mpopt-opt %s --mp-recognize-idioms --mp-apply-precision=mode=autocast-fp16 | FileCheck %s

// A norm that a framework runs as one kernel is in FP32 whole, and so are its parts where an
// exporter writes them: the square is a power there.
// CHECK-LABEL: func.func @kernel
func.func @kernel(%a: tensor<8x64xf32>, %b: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %eps = mp.constant dense<1.0e-6> : tensor<f32>
  %two = mp.constant dense<2.0> : tensor<f32>
  %y = mp.matmul %a, %b : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  // CHECK: mp.pow {{.*}} -> tensor<8x64xf32>
  %square = mp.pow %y, %two : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %mean = mp.reduce_mean %square {axes = array<i64: -1>, keep_dims = true} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  %sum = mp.add %mean, %eps : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x1xf32>
  %root = mp.rsqrt %sum : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %0 = mp.mul %y, %root : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// A product of a number by itself is the user's own: autocast multiplies what it finds, and the
// square overflows past 255.
// CHECK-LABEL: func.func @product
func.func @product(%a: tensor<8x64xf32>, %b: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %eps = mp.constant dense<1.0e-6> : tensor<f32>
  %y = mp.matmul %a, %b : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  // CHECK: mp.mul {{.*}} -> tensor<8x64xf16>
  %square = mp.mul %y, %y : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  // CHECK: mp.reduce_mean {{.*}} -> tensor<8x1xf16>
  %mean = mp.reduce_mean %square {axes = array<i64: -1>, keep_dims = true} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  %sum = mp.add %mean, %eps : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x1xf32>
  // CHECK: mp.rsqrt {{.*}} -> tensor<8x1xf32>
  %root = mp.rsqrt %sum : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %0 = mp.mul %y, %root : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
