// Both sums have an offset of 1,000 for each element, which the difference takes off again: what
// is left is small, and the sums are rounded to units of 8.
// RUN: not mpopt --check %s --precision fp16 --input a~0,1 --input b~0,1 --input z=0:3 | FileCheck %s
// CHECK: error[MP301]
// CHECK: values of {{1[0-9.]+}} cancel: what is left, 5.{{[0-9]+}}, has an error of 195 %
func.func @main(%a: tensor<8x16xf32> {mp.name = "a"}, %b: tensor<8x16xf32> {mp.name = "b"}, %z: tensor<8x16xi64> {mp.name = "z"}) -> (tensor<8xf32> {mp.name = "y"}) {
  %table = mp.constant dense<[900.3, 1001.7, 1102.1, 980.9]> : tensor<4xf32>
  %o = mp.gather %table, %z : (tensor<4xf32>, tensor<8x16xi64>) -> tensor<8x16xf32>
  %0 = mp.add %a, %o : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = mp.add %b, %o : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = mp.reduce_sum %0 {axes = array<i64: 1>} : (tensor<8x16xf32>) -> tensor<8xf32>
  %3 = mp.reduce_sum %1 {axes = array<i64: 1>} : (tensor<8x16xf32>) -> tensor<8xf32>
  %4 = mp.sub %2, %3 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}
