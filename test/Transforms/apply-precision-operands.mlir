// Operands of products are stored with scales, all else keeps its dtype: a cast
// to the operand's own type stands for that, one for each operand of a product.
// RUN: mpopt-opt --mp-apply-precision=mode=fp8-e4m3:row %s | FileCheck %s
// RUN: mpopt-opt --mp-apply-precision=mode=int8 %s | FileCheck %s --check-prefix=INT8

// CHECK: module attributes {{.*}}mp.precision = "fp8-e4m3:row"
// INT8: mp.precision = "int8:u8s8"
// CHECK-LABEL: func.func @main
// CHECK: [[W:%.+]] = mp.constant
// CHECK: [[X0:%.+]] = mp.cast %arg0 {mp.scaled, origin = #mp.cast_origin<policy>} : (tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK: [[W0:%.+]] = mp.cast [[W]] {mp.scaled
// CHECK: [[P:%.+]] = mp.matmul [[X0]], [[W0]]
// CHECK: mp.cast %arg0 {mp.scaled
// CHECK: [[Q:%.+]] = mp.matmul
// CHECK: mp.mul [[P]], [[Q]]
// Integers, and sums of three operands, are left alone.
// CHECK-NOT: mp.scaled
func.func @main(%x: tensor<4x2xf32>, %i: tensor<4x2xi32>) -> (tensor<4x2xf32>, tensor<4x4xf32>) {
  %w = mp.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = mp.matmul %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = mp.matmul %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %2 = mp.mul %0, %1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = mp.einsum %x, %x, %x {equation = "ik,jk,jk->ij"} : (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  return %2, %3 : tensor<4x2xf32>, tensor<4x4xf32>
}
