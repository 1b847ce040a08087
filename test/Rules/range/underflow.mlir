// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-underflow --mp-emit-findings

func.func @square(%x: tensor<64xf16> {mp.assume = {lo = -1.0e-3 : f64, hi = 1.0e-3 : f64, mean = 0.0 : f64, std = 1.0e-4 : f64, source = "option"}}) -> tensor<64xf16> {
  // expected-warning-re @below {{{{.*}} of the non-zero values are below 2.98023e-08 and become 0 in f16 [MP204 likely]}}
  %0 = mp.square %x : (tensor<64xf16>) -> tensor<64xf16>
  return %0 : tensor<64xf16>
}

// -----

func.func @exp(%x: tensor<64xf16> {mp.assume = {lo = -100.0 : f64, hi = 0.0 : f64, mean = -40.0 : f64, std = 10.0 : f64, source = "option"}}, %y: tensor<64xbf16> {mp.assume = {lo = -1000.0 : f64, hi = 0.0 : f64, mean = -400.0 : f64, std = 10.0 : f64, source = "option"}}) -> (tensor<64xf16>, tensor<64xbf16>) {
  // expected-warning @below {{MP204 likely}}
  %0 = mp.exp %x : (tensor<64xf16>) -> tensor<64xf16>
  // expected-warning @below {{become 0 in bf16 [MP204 likely]}}
  %1 = mp.exp %y : (tensor<64xbf16>) -> tensor<64xbf16>
  return %0, %1 : tensor<64xf16>, tensor<64xbf16>
}

// -----

// Few values; another dtype; zeros that are no rounding.
func.func @clean(%x: tensor<64xf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.1 : f64, source = "option"}}, %y: tensor<64xbf16> {mp.assume = {lo = -1.0e-3 : f64, hi = 1.0e-3 : f64, mean = 0.0 : f64, std = 1.0e-4 : f64, source = "option"}}, %z: tensor<64xf32> {mp.assume = {lo = -100.0 : f64, hi = 0.0 : f64, mean = -40.0 : f64, std = 10.0 : f64, source = "option"}}, %n: tensor<64xf16> {mp.assume = {lo = -9.0 : f64, hi = -1.0 : f64, mean = -5.0 : f64, std = 1.0 : f64, source = "option"}}) {
  %0 = mp.square %x : (tensor<64xf16>) -> tensor<64xf16>
  %1 = mp.square %y : (tensor<64xbf16>) -> tensor<64xbf16>
  %2 = mp.exp %z : (tensor<64xf32>) -> tensor<64xf32>
  %3 = mp.relu %n : (tensor<64xf16>) -> tensor<64xf16>
  return
}

// -----

// A factor that FP16 rounds to 0, and BF16 does not.
func.func @factor(%x: tensor<8xf16>, %y: tensor<8xbf16>) -> (tensor<8xf16>, tensor<8xbf16>) {
  %c = mp.constant dense<1.0e-8> : tensor<f32>
  %0 = mp.cast %c : (tensor<f32>) -> tensor<f16>
  // expected-warning @below {{all values are 0, since a factor was rounded to 0 in f16 [MP204 certain]}}
  %1 = mp.mul %x, %0 : (tensor<8xf16>, tensor<f16>) -> tensor<8xf16>
  %2 = mp.cast %c : (tensor<f32>) -> tensor<bf16>
  %3 = mp.mul %y, %2 : (tensor<8xbf16>, tensor<bf16>) -> tensor<8xbf16>
  return %1, %3 : tensor<8xf16>, tensor<8xbf16>
}

// -----

// A mask of 0 and -100 drops elements on purpose. Scores that are that far apart
// are lost.
func.func @masked(%mask: tensor<64x16xf16> {mp.assume = {lo = -100.0 : f64, hi = 0.0 : f64, mean = -23.5 : f64, std = 42.0 : f64, source = "option"}}, %x: tensor<64x16xf16> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 0.3 : f64, source = "option"}}, %y: tensor<64x16xf16> {mp.assume = {lo = -200.0 : f64, hi = 200.0 : f64, mean = 0.0 : f64, std = 40.0 : f64, source = "option"}}) -> (tensor<64x16xf16>, tensor<64x16xf16>) {
  %0 = mp.add %x, %mask : (tensor<64x16xf16>, tensor<64x16xf16>) -> tensor<64x16xf16>
  %1 = mp.softmax %0 : (tensor<64x16xf16>) -> tensor<64x16xf16>
  %2 = mp.add %y, %mask : (tensor<64x16xf16>, tensor<64x16xf16>) -> tensor<64x16xf16>
  // expected-remark @below {{MP204 likely}}
  %3 = mp.softmax %2 : (tensor<64x16xf16>) -> tensor<64x16xf16>
  return %1, %3 : tensor<64x16xf16>, tensor<64x16xf16>
}

// -----

// Confident logits: most of a softmax is far below what its mean suggests. What
// is moved is still that, and what is added to it is lost, too.
func.func @softmax(%x: tensor<64x16xf16> {mp.assume = {lo = -200.0 : f64, hi = 200.0 : f64, mean = 0.0 : f64, std = 40.0 : f64, source = "option"}}, %y: tensor<64x16xf16> {mp.assume = {lo = -20.0 : f64, hi = 20.0 : f64, mean = 0.0 : f64, std = 4.0 : f64, source = "option"}}) -> tensor<16x64xf16> {
  // expected-remark @below {{beside values up to 1 [MP204 likely]}}
  %0 = mp.softmax %x : (tensor<64x16xf16>) -> tensor<64x16xf16>
  // expected-remark @below {{MP204 likely}}
  %1 = mp.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<64x16xf16>) -> tensor<16x64xf16>
  %e = mp.constant dense<1.0e-10> : tensor<f32>
  %2 = mp.cast %e : (tensor<f32>) -> tensor<f16>
  // expected-remark @below {{MP204 likely}}
  %3 = mp.add %1, %2 : (tensor<16x64xf16>, tensor<f16>) -> tensor<16x64xf16>
  %4 = mp.softmax %y : (tensor<64x16xf16>) -> tensor<64x16xf16>
  return %3 : tensor<16x64xf16>
}

// -----

// The sum of what flushed would have been small itself; a rectifier's zeros and
// what is zero in FP32, too, are none that were lost.
func.func @sums(%x: tensor<8x64xf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 1.0e-5 : f64, source = "option"}}, %n: tensor<8x64xf16> {mp.assume = {lo = -9.0 : f64, hi = 1.0 : f64, mean = -2.0 : f64, std = 1.0 : f64, source = "option"}}, %m: tensor<8x64xf16> {mp.assume = {lo = -3000.0 : f64, hi = 0.0 : f64, mean = -1000.0 : f64, std = 300.0 : f64, source = "option"}}) -> tensor<8xf16> {
  // expected-warning @below {{MP204 likely}}
  %0 = mp.square %x : (tensor<8x64xf16>) -> tensor<8x64xf16>
  // expected-warning @below {{nearly all of the non-zero values}}
  %1 = mp.reduce_sum %0 {axes = array<i64: 1>} : (tensor<8x64xf16>) -> tensor<8xf16>
  %2 = mp.relu %n : (tensor<8x64xf16>) -> tensor<8x64xf16>
  %3 = mp.mul %2, %2 : (tensor<8x64xf16>, tensor<8x64xf16>) -> tensor<8x64xf16>
  return %1 : tensor<8xf16>
}
