// Moments alone widen the bound that is assumed of an input, and narrow it never.
// RUN: mpopt --check %s --input x~2000,1 --input y~0.5,0.1 --format json --fail-on never | FileCheck %s
// CHECK: "input": "x",
// CHECK-NEXT: "lo": -10,
// CHECK-NEXT: "hi": 2010,
// CHECK-NEXT: "mean": 2000,
// CHECK: "input": "y",
// CHECK-NEXT: "lo": -10,
// CHECK-NEXT: "hi": 10,
func.func @main(%x: tensor<4xf32> {mp.name = "x"}, %y: tensor<4xf32> {mp.name = "y"}) -> tensor<4xf32> {
  %0 = mp.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
