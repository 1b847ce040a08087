// Tokens are computed of the places of the best scores. What is wrong is the order of the scores,
// of which one unit in FP16 is 0.5.
// RUN: not mpopt --check %s --precision fp16 --input x~0,1 | FileCheck %s
// CHECK:      [MP309]
// CHECK:      --> mp.arg_max
// CHECK-NEXT: % of the integers in `token` are expected to change
func.func @main(%x: tensor<256x64xf32> {mp.name = "x"}) -> (tensor<256xi64> {mp.name = "token"}) {
  %before = mp.constant dense<-800.0> : tensor<f32>
  %first = mp.constant dense<100> : tensor<i64>
  %0 = mp.add %x, %before : (tensor<256x64xf32>, tensor<f32>) -> tensor<256x64xf32>
  %1 = mp.arg_max %0 {axis = 1 : i64, keep_dims = false} : (tensor<256x64xf32>) -> tensor<256xi64>
  %2 = mp.add %1, %first : (tensor<256xi64>, tensor<i64>) -> tensor<256xi64>
  return %2 : tensor<256xi64>
}
