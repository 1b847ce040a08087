// a / e^x moves with x as a e^-x does, however small e^x may be: far less than
// 1 % of its largest value by the rounding of x. As a division by numbers next
// to 0 it was expected to move by more than all of it.
// RUN: mpopt --check %s --precision autocast-fp16 --format json --input x=-20:20 --input x~0,4 --fail-on never | FileCheck %s
// CHECK: "output": "quotient"
// CHECK-NEXT: "expected_error": {{0.000|[0-9.]*e-0}}
// CHECK: "output": "product"
// CHECK-NEXT: "expected_error": {{0.000|[0-9.]*e-0}}
func.func @main(%x: tensor<64x32xf32> {mp.name = "x"}, %a: tensor<64x32xf32> {mp.name = "a"}) -> (tensor<64x32xf32> {mp.name = "quotient"}, tensor<64x32xf32> {mp.name = "product"}) {
  %w = mp.constant dense<0.2> : tensor<32x32xf32>
  %0 = mp.matmul %x, %w : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %1 = mp.exp %0 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = mp.div %a, %1 : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %3 = mp.neg %0 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %4 = mp.exp %3 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %5 = mp.mul %a, %4 : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  return %2, %5 : tensor<64x32xf32>, tensor<64x32xf32>
}
