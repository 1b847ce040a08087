// RUN: mpopt-opt --mp-apply-precision=mode=as-is %s | FileCheck %s
// RUN: mpopt-opt --mp-apply-precision=mode=auto %s | FileCheck %s
// RUN: mpopt-opt --mp-apply-precision="mode=as-is policy=tensorflow-cuda" %s | FileCheck %s --check-prefix=TF

// Types stay, categories are there. Auto is the same: the file computes in f16.
// CHECK: module attributes {mp.policy = "pytorch-cuda-2.14", mp.precision = "as-is"}
// CHECK-LABEL: func.func @f
// CHECK-NOT: mp.cast %
// CHECK: mp.exp %arg0 {mp.category = "fp32"} : (tensor<4xf16>) -> tensor<4xf16>
// CHECK: mp.neg {{%.+}} : (tensor<4xf16>)
// TF: mp.exp %arg0 {mp.category = "deny"}
// TF: mp.neg {{%.+}} {mp.category = "clear"}
func.func @f(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = mp.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  %1 = mp.neg %0 : (tensor<4xf16>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}
