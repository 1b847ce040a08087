// A sampling rate chooses a branch, which make results of different ranks. Where
// it is declared the shapes behind it are known, and so is the effect.
// RUN: mpopt --check %s --precision fp16 --input rate=16000:16000 --fail-on never | FileCheck %s --check-prefix=KNOWN
// RUN: mpopt --check %s --precision fp16 --input rate=8000:8000 --fail-on never | FileCheck %s --check-prefix=KNOWN
// RUN: mpopt --check %s --precision fp16 --fail-on never | FileCheck %s --check-prefix=OPEN
// KNOWN: fp16 is expected to change `y` by 0.0
// OPEN: the effect of fp16 on `y` is not known
func.func @main(%x: tensor<4x16xf32> {mp.name = "x"}, %rate: tensor<i64> {mp.name = "rate"}) -> (tensor<*xf32> {mp.name = "y"}) {
  %high = mp.constant dense<16000> : tensor<i64>
  %is = mp.equal %rate, %high : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %0 = mp.if %is : (tensor<i1>) -> tensor<*xf32> {
    %1 = mp.tanh %x : (tensor<4x16xf32>) -> tensor<4x16xf32>
    mp.yield %1 : tensor<4x16xf32>
  } else {
    %2 = mp.unsqueeze %x {axes = array<i64: 0>} : (tensor<4x16xf32>) -> tensor<1x4x16xf32>
    %3 = mp.tanh %2 : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
    mp.yield %3 : tensor<1x4x16xf32>
  }
  %4 = mp.concat %0, %0 {axis = 0 : i64} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %4 : tensor<*xf32>
}
