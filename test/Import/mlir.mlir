// RUN: mpopt --emit-mlir %s | FileCheck %s
// RUN: mpopt --emit-mlir %s -o %t.mlirbc
// RUN: mpopt --emit-mlir %t.mlirbc | FileCheck %s
// RUN: mpopt --emit-mlir - < %t.mlirbc | FileCheck %s
// RUN: echo 'module { func.func @f() { mp.nothing' > %t.bad.mlir
// RUN: not mpopt --emit-mlir %t.bad.mlir 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: echo 'func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) { %0 = mp.add %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<*xf32> return }' > %t.conflict.mlir
// RUN: not mpopt --emit-mlir %t.conflict.mlir 2>&1 | FileCheck %s --check-prefix=CONFLICT

// mp IR is read as text and as bytecode, and open types are inferred.
// CHECK-LABEL: func.func @main
// CHECK: mp.relu {{.*}} -> tensor<2xf32>
// BAD: error: {{.*}}MPI103: line 1: {{.*}}mp.nothing
// CONFLICT: error: {{.*}}do not broadcast
func.func @main(%x: tensor<2xf32>) -> tensor<*xf32> {
  %0 = mp.relu %x : (tensor<2xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
