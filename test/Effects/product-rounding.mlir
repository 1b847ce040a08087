// A product that moves the output by less than a rounding of its own type is not sensitive:
// no run tells its error from that rounding.
// RUN: mpopt --check %s --precision int8 --input x~0,1 --fail-on never --format json | FileCheck %s
// CHECK-LABEL: "sensitivity": [
// CHECK: "op": "mp.matmul"
// CHECK-NEXT: "expected_error": 0.0
// CHECK: "op": "mp.matmul"
// CHECK-NEXT: "expected_error": 0{{$}}
func.func @main(%x: tensor<4x16xf32> {mp.name = "x"}) -> (tensor<4x16xf32> {mp.name = "y"}) {
  %weight = mp.constant dense<0.25> : tensor<16x16xf32>
  %tiny = mp.constant dense<1.0e-9> : tensor<f32>
  %large = mp.matmul %x, %weight : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %small = mp.matmul %x, %weight : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %scaled = mp.mul %small, %tiny : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  %y = mp.add %large, %scaled : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
