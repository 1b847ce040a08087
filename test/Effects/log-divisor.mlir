// RUN: mpopt --check %s --precision as-is --format json --input x=-6:6 --input s=-9:9 --input s~0,2 | FileCheck %s

// x / exp(s) with s in 16 bits: the error of s is a share of the quotient. Where
// the quotient is large the divisor is small: as independent numbers they give
// an error of 11 times the largest sum. Drawn, its mean square is that of the
// sums times 0.0009^2.
// CHECK: "expected_rms": 0.000{{[89]}}
func.func @main(%x: tensor<64x64xf32> {mp.name = "x"},
                %s: tensor<64x64xf32> {mp.name = "s"})
    -> (tensor<64xf32> {mp.name = "l"}) {
  %low = mp.cast %s : (tensor<64x64xf32>) -> tensor<64x64xf16>
  %wide = mp.cast %low : (tensor<64x64xf16>) -> tensor<64x64xf32>
  %e = mp.exp %wide : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %x2 = mp.square %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %q = mp.div %x2, %e : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %l = mp.reduce_sum %q {axes = array<i64: 1>, keepdims = false} : (tensor<64x64xf32>) -> tensor<64xf32>
  return %l : tensor<64xf32>
}
