// Roundings of numbers just above a power of two are as large as they can be, which an
// estimate of errors of all sizes passes: no error is expected past its sound bound.
// RUN: mpopt --check %s --precision fp16 --input x=1:1.01 --input x~1.005,0.002 --format json -o %t.json
// RUN: %python -c "import json; e = json.load(open('%t.json'))['effects'][0]; assert 2e-4 < e['expected_error'] <= e['bound'] < 6e-4, e"

func.func @main(%x: tensor<16x4096xf32> {mp.name = "x"}) -> (tensor<16x4096xf32> {mp.name = "result"}) {
  %0 = mp.neg %x : (tensor<16x4096xf32>) -> tensor<16x4096xf32>
  return %0 : tensor<16x4096xf32>
}
