// Running sums of correlated positions range from the first term, 1 to 2, to the longest
// sum, and are half of that on average (200 terms of 1.5, times 1 to 9).
// RUN: mpopt --check %s --precision fp16 --fail-on never --input x=1:2 --input x~1.5,0.3 --dump-ranges - -o /dev/null --quiet | FileCheck %s
// CHECK: "y": {
// CHECK: "likely": {
// CHECK-NEXT: "lo": {{[01](\.[0-9]+)?}},
// CHECK-NEXT: "hi": {{[23][0-9]{3}(\.[0-9]+)?}},
// CHECK-NEXT: "mean": 7{{[0-9]{2}(\.[0-9]+)?}},
func.func @main(%x: tensor<1x1x200xf32> {mp.name = "x"}) -> (tensor<1x9x200xf32> {mp.name = "y"}) {
  %h = mp.constant dense<[[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0], [9.0]]]> : tensor<1x9x1xf32>
  %0 = mp.mul %x, %h : (tensor<1x1x200xf32>, tensor<1x9x1xf32>) -> tensor<1x9x200xf32>
  %1 = mp.cum_sum %0 {axis = 2 : i64} : (tensor<1x9x200xf32>) -> tensor<1x9x200xf32>
  return %1 : tensor<1x9x200xf32>
}
