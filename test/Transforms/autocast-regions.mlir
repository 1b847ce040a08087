// Ops in an autocast region of the model's own get what autocast gives them
// there, whatever is asked for the rest.

// RUN: mpopt-opt %s --mp-apply-precision=mode=as-is | FileCheck %s --check-prefixes=CHECK,ASIS
// RUN: mpopt-opt %s --mp-apply-precision=mode=auto | FileCheck %s --check-prefixes=CHECK,ASIS
// RUN: mpopt-opt %s --mp-apply-precision=mode=autocast-fp16 | FileCheck %s --check-prefixes=CHECK,AUTO

// CHECK-LABEL: func.func @regions
func.func @regions(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  // Outside: as the mode says.
  // ASIS: mp.matmul %{{.*}} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // AUTO: mp.matmul %{{.*}} : (tensor<4x8xf16>, tensor<8x8xf16>) -> tensor<4x8xf16>
  %0 = mp.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // CHECK: mp.matmul %{{.*}} {{.*}}mp.autocast = bf16{{.*}} : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xbf16>
  %1 = mp.matmul %x, %w {mp.autocast = bf16} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // An op that autocast keeps in FP32.
  // CHECK: mp.cast {{.*}}(tensor<4x8xbf16>) -> tensor<4x8xf32>
  // CHECK: mp.exp {{.*}} -> tensor<4x8xf32>
  %2 = mp.exp %1 {mp.autocast = bf16} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // Switched off.
  // CHECK: mp.matmul %{{.*}} {{.*}}mp.autocast = false{{.*}} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = mp.matmul %2, %w {mp.autocast = false} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}
