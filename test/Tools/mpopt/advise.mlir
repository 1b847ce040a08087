// RUN: mpopt --advise %s --input x~0,30 --device a100 2>&1 | FileCheck %s
// RUN: mpopt --advise %s --input x~0,30 --device v100 2>&1 | FileCheck %s --check-prefix=VOLTA
// RUN: mpopt --advise %s --input x~0,30 --device cpu 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: mpopt advise %s --input x~0,30 --device a100 --format json | FileCheck %s --check-prefix=JSON
// RUN: mpopt --advise %s --input x~0,30 --device a100 --train --loss mse:y,t --optimizer adamw,lr=1e-6 2>&1 | FileCheck %s --check-prefix=TRAIN

// A product whose sums pass 65504: FP16 needs it in FP32, BF16 does not.
// CHECK: advise.mlir: a run on a100, A100
// CHECK: precision {{.*}} verdict
// CHECK-NEXT: FP32 {{.*}} 100 % {{.*}} 0 %  fine
// CHECK-NEXT: TF32 {{.*}} fine{{$}}
// CHECK-NEXT: BF16 {{.*}} fine{{$}}
// CHECK-NEXT: FP16 {{.*}} Inf or NaN  fine with 1 op in FP32
// CHECK-NEXT: pure BF16 {{.*}} fine{{$}}
// CHECK-NEXT: pure FP16 {{.*}} Inf or NaN  fine with 1 op in FP32
// CHECK: recommended: pure BF16 (--precision bf16), {{.*}} times as fast as FP32
// CHECK: Errors are those without any op in FP32, even where the verdict needs some.

// Tensor cores of the V100 multiply FP16 only.
// VOLTA: BF16 {{.*}} no arithmetic of bf16
// VOLTA: pure BF16 {{.*}} no arithmetic of bf16

// CPU: FP16 {{.*}} no arithmetic of f16
// CPU: recommended: FP32, no gain: {{.*}} of its time is arithmetic

// JSON: "schema": "mpopt-advice/1",
// JSON: "device": {
// JSON-NEXT: "name": "a100",
// JSON: "train": false,
// JSON-NEXT: "products": 1,
// 2 * 2048^3
// JSON-NEXT: "operations": 17179869184,
// JSON: "label": "FP32",
// JSON-NEXT: "precision": "as-is",
// JSON-NEXT: "verdict": "fine",
// JSON-NEXT: "fine": true,
// JSON-NEXT: "expected_error": 0,
// JSON: "bound_by": {
// Weight, input and result of 16 MiB.
// JSON: "bytes": 50331648,
// JSON-NEXT: "fits": true,
// JSON: "recommended": "pure BF16",

// A step of 1e-6 is below half a unit of weights in BF16.
// TRAIN: precision {{.*}} loss scale  lost updates  verdict
// TRAIN: FP32 {{.*}} not needed  0 of 1
// TRAIN: pure BF16 {{.*}} not needed  1 of 1  {{.*}}MP408
// TRAIN: recommended: BF16 (--precision autocast-bf16)

module {
  func.func @main(%x: tensor<2048x2048xf32> {mp.name = "x"})
      -> (tensor<2048x2048xf32> {mp.name = "y"}) {
    %w = mp.constant dense<40.0> : tensor<2048x2048xf32> loc(#w)
    %0 = mp.matmul %x, %w : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32> loc(#y)
    return %0 : tensor<2048x2048xf32>
  }
}
#w = loc(fused<#mp.origin<"", "Initializer", "", ["w"]>>[unknown])
#y = loc(fused<#mp.origin<"product", "MatMul", "", ["y"]>>[unknown])
