// What is assumed of every input is printed, and where it comes from.

// RUN: mpopt --check %s --precision fp16 --input named=0:3 | FileCheck %s
// RUN: mpopt --check %s --precision fp16 --input named=0:3 --format json | FileCheck %s --check-prefix=JSON

module {
  func.func @main(%x: tensor<2xf32> {mp.name = "x"},
                  %rows: tensor<2xi64> {mp.name = "rows"},
                  %hot: tensor<2xi64> {mp.name = "hot"},
                  %element: tensor<1x2xi64> {mp.name = "element"},
                  %pixels: tensor<2x3xui8> {mp.name = "pixels"},
                  %flag: tensor<2xi1> {mp.name = "flag"},
                  %named: tensor<2xi64> {mp.name = "named"},
                  %free: tensor<2xi32> {mp.name = "free"})
      -> (tensor<2x3xf32>, tensor<2x5xf32>, tensor<1x2xf32>) {
    %table = mp.constant dense<1.0> : tensor<7x3xf32> loc(#table)
    %depth = mp.constant dense<5> : tensor<i64>
    %values = mp.constant dense<[0.0, 1.0]> : tensor<2xf32>
    %matrix = mp.constant dense<2.0> : tensor<4x2xf32>
    %0 = mp.gather %table, %rows : (tensor<7x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
    %1 = mp.one_hot %hot, %depth, %values : (tensor<2xi64>, tensor<i64>, tensor<2xf32>) -> tensor<2x5xf32>
    %2 = mp.gather_elements %matrix, %element : (tensor<4x2xf32>, tensor<1x2xi64>) -> tensor<1x2xf32>
    return %0, %1, %2 : tensor<2x3xf32>, tensor<2x5xf32>, tensor<1x2xf32>
  }
}
#table = loc(fused<#mp.origin<"table", "Initializer", "", ["table"]>>["f"])

// CHECK: target: gpu-tensorcore: GPU kernels
// CHECK: assumed: x in [-10, 10], mean 0, std 1 (by default);
// CHECK-SAME: rows in [-7, 6] (picks one of 7 rows of
// CHECK: table);
// CHECK-SAME: hot in [-5, 4] (one-hot of depth 5);
// CHECK-SAME: element in [-4, 3] (picks one
// CHECK: pixels in [0, 255] (all of ui8);
// CHECK-SAME: flag in [0, 1] (all of i1);
// CHECK-SAME: named in [0, 3], mean 1.5,
// CHECK-NEXT: std 0.866;
// CHECK-SAME: free in [-2.147e+09, 2.147e+09] (all of i32)

// JSON: "target": {
// JSON-NEXT: "name": "gpu-tensorcore",
// JSON: "input": "rows",
// JSON-NEXT: "lo": -7,
// JSON-NEXT: "hi": 6,
// JSON-NEXT: "mean": 3,
// JSON-NEXT: "std": 1.73
// JSON-NEXT: "source": "model",
// JSON-NEXT: "why": "picks one of 7 rows of table"
// JSON: "input": "named",
// JSON-NEXT: "lo": 0,
// JSON-NEXT: "hi": 3,
// JSON-NEXT: "mean": 1.5,
// JSON-NEXT: "std": 0.86
// JSON-NEXT: "source": "option"
