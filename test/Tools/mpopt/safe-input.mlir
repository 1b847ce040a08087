// How far inputs may be scaled: text, JSON, and only if asked for.

// RUN: mpopt --check %s --safe-input | FileCheck %s
// RUN: mpopt --check %s --safe-input --format json | FileCheck %s --check-prefix=JSON
// RUN: mpopt --check %s --format json | FileCheck %s --check-prefix=NONE
// RUN: mpopt --check %s | FileCheck %s --check-prefix=NONE

// x is squared, y stays as it is until f16 ends, z is not read, big is past the
// edge at any scale.
module {
  func.func @main(%x: tensor<4xf16> {mp.name = "x"}, %y: tensor<4xf16> {mp.name = "y"},
                  %z: tensor<4xf32> {mp.name = "z"}, %n: tensor<4xi64> {mp.name = "n"})
      -> (tensor<4xf16>, tensor<4xf16>) {
    %0 = mp.mul %x, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
    %1 = mp.relu %y : (tensor<4xf16>) -> tensor<4xf16>
    return %0, %1 : tensor<4xf16>, tensor<4xf16>
  }
}

// CHECK: safe input scales: the factor by which an input's assumed range may grow
// The tightest first.
// CHECK-NEXT:  --> x
// CHECK-NEXT:      estimated: no overflow up to a scale of {{[0-9.]+}}: mean 0, std {{[0-9.]+}}
// 10 s squared is 65520 at s = 25.597.
// CHECK-NEXT:      proved: no overflow up to a scale of 25.{{[3-5][0-9]*}}: in [-25{{[0-9.]+}}, 25{{[0-9.]+}}]
// CHECK-NEXT:  --> y
// CHECK-NEXT:      estimated: no overflow
// CHECK-NEXT:      proved: no overflow up to a scale of 65{{[0-9]+}}: in [-6.{{[0-9]+}}e+04, 6.{{[0-9]+}}e+04]
// CHECK-NEXT:  --> z
// CHECK-NEXT:      estimated: no overflow at any scale (searched up to 1.049e+06)
// CHECK-NEXT:      proved: no overflow at any scale
// CHECK-NOT:  --> n

// JSON: "safe_input": [
// JSON: "input": "x",
// JSON-NEXT: "proved": 25.
// JSON-NEXT: "likely":
// JSON: "input": "y",
// JSON: "input": "z",
// JSON-NEXT: "proved": 1048576,
// JSON-NEXT: "likely": 1048576
// JSON-NOT: "input":
// JSON: "findings"

// NONE-NOT: safe{{[_ ]}}input
