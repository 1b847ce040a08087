// A constant loses one of its elements, and all others are rounded. The finding on the lost
// one has its effect alone; the roundings have a finding of their own.
// RUN: not mpopt --check %s --precision fp16 --input x=99:101 | FileCheck %s

// CHECK:      is expected to change `y` by {{[1-9][0-9.]*}} %: {{(probably )?}}too much
// CHECK-NOT:  {{warning|error}}[MP203]
// CHECK:      MP215
// CHECK:      note[MP203]
// CHECK:      few values of the weight are 0 in f16
// CHECK:      changes `y` by 0.000{{[0-9]+}} %
func.func @main(%x: tensor<64x16xf32> {mp.name = "x"}) -> (tensor<64x16xf32> {mp.name = "y"}) {
  %w = mp.constant dense<[1.0003, 1.0007, 1.0e-9, 1.0001, 1.0013, 0.9994, 1.0002, 1.0011, 1.0003, 0.9997, 1.0006, 1.0001, 1.0013, 0.9994, 1.0002, 1.0011]> : tensor<16xf32>
  %middle = mp.constant dense<[100.0, 100.0, 0.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0]> : tensor<16xf32>
  %0 = mp.mul %x, %w : (tensor<64x16xf32>, tensor<16xf32>) -> tensor<64x16xf32>
  %1 = mp.sub %0, %middle : (tensor<64x16xf32>, tensor<16xf32>) -> tensor<64x16xf32>
  return %1 : tensor<64x16xf32>
}
