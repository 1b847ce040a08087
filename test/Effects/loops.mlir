// A loop without carried values, which gives slices alone.
// RUN: mpopt --check %s --precision fp16 | FileCheck %s
// CHECK: fp16 is expected to change `result`

func.func @main(%n: tensor<i64> {mp.name = "n"}, %go: tensor<i1> {mp.name = "go"}, %x: tensor<4xf32> {mp.name = "x"}) -> (tensor<?x4xf32> {mp.name = "result"}) {
  %0 = mp.loop count %n while %go iter() : (tensor<i64>, tensor<i1>) -> tensor<?x4xf32> {
  ^bb0(%i: tensor<i64>, %running: tensor<i1>):
    %1 = mp.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
    mp.yield %running, %1 : tensor<i1>, tensor<4xf32>
  }
  return %0 : tensor<?x4xf32>
}
