// Roundings of numbers just above a power of two are as large as they can be, which an
// estimate of errors of all sizes passes: what is expected is the sound bound then.
// RUN: mpopt --check %s --precision fp16 --input x=1:1.01 --input x~1.005,0.002 --format json | FileCheck %s
// CHECK: "expected_error": [[ERROR:0\.0004[0-9]+]],
// CHECK: "bound": [[ERROR]],

func.func @main(%x: tensor<16x4096xf32> {mp.name = "x"}) -> (tensor<16x4096xf32> {mp.name = "result"}) {
  %0 = mp.neg %x : (tensor<16x4096xf32>) -> tensor<16x4096xf32>
  return %0 : tensor<16x4096xf32>
}
