// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-absorption --mp-emit-findings

// expected-note @below {{typical magnitude}}
// expected-note @below {{magnitudes up to}}
func.func @fires_f16(%x: tensor<8xf16> {mp.assume = {lo = 1000.0 : f64, hi = 40000.0 : f64, mean = 20000.0 : f64, std = 1000.0 : f64, source = "option"}}, %y: tensor<8xf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.3 : f64, source = "option"}}) -> tensor<8xf16> {
  // expected-remark-re @below {{an addend of magnitudes up to {{.*}} in f16 are {{.*}} apart [MP302 likely]}}
  %0 = mp.add %x, %y : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %0 : tensor<8xf16>
}

// -----

// Of a size; an epsilon, which guards a division.
func.func @clean_f16(%x: tensor<8xf16> {mp.assume = {lo = 1000.0 : f64, hi = 40000.0 : f64, mean = 20000.0 : f64, std = 1000.0 : f64, source = "option"}}, %y: tensor<8xf16> {mp.assume = {lo = -900.0 : f64, hi = 900.0 : f64, mean = 0.0 : f64, std = 300.0 : f64, source = "option"}}) -> tensor<8xf16> {
  %e = mp.constant dense<1.0e-3> : tensor<f16>
  %0 = mp.add %x, %y : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %1 = mp.add %x, %e : (tensor<8xf16>, tensor<f16>) -> tensor<8xf16>
  %2 = mp.div %0, %1 : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %2 : tensor<8xf16>
}

// -----

// expected-note @below {{typical magnitude}}
// expected-note @below {{magnitudes up to}}
func.func @fires_bf16(%x: tensor<8xbf16> {mp.assume = {lo = 1000.0 : f64, hi = 40000.0 : f64, mean = 20000.0 : f64, std = 1000.0 : f64, source = "option"}}, %y: tensor<8xbf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.3 : f64, source = "option"}}) -> tensor<8xbf16> {
  // expected-remark-re @below {{an addend of magnitudes up to {{.*}} in bf16 are {{.*}} apart [MP302 likely]}}
  %0 = mp.add %x, %y : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}

// -----

// Of a size; an epsilon, which guards a division.
func.func @clean_bf16(%x: tensor<8xbf16> {mp.assume = {lo = 1000.0 : f64, hi = 40000.0 : f64, mean = 20000.0 : f64, std = 1000.0 : f64, source = "option"}}, %y: tensor<8xbf16> {mp.assume = {lo = -900.0 : f64, hi = 900.0 : f64, mean = 0.0 : f64, std = 300.0 : f64, source = "option"}}) -> tensor<8xbf16> {
  %e = mp.constant dense<1.0e-3> : tensor<bf16>
  %0 = mp.add %x, %y : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  %1 = mp.add %x, %e : (tensor<8xbf16>, tensor<bf16>) -> tensor<8xbf16>
  %2 = mp.div %0, %1 : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  return %2 : tensor<8xbf16>
}

// -----

func.func @clean_f32(%x: tensor<8xf32> {mp.assume = {lo = 1000.0 : f64, hi = 40000.0 : f64, mean = 20000.0 : f64, std = 1000.0 : f64, source = "option"}}, %y: tensor<8xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.3 : f64, source = "option"}}) -> tensor<8xf32> {
  %0 = mp.add %x, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// x + c - c is not x.
// expected-note @below {{typical magnitude}}
// expected-note @below {{magnitudes up to}}
func.func @missed(%x: tensor<8xf16> {mp.assume = {lo = 1000.0 : f64, hi = 40000.0 : f64, mean = 20000.0 : f64, std = 1000.0 : f64, source = "option"}}, %y: tensor<8xf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.3 : f64, source = "option"}}) -> tensor<8xf16> {
  // expected-warning @below {{[MP302 likely]}}
  %0 = mp.add %x, %y : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %1 = mp.sub %0, %x : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %1 : tensor<8xf16>
}

// -----

// A constant that guards nothing.
// expected-note @below {{typical magnitude}}
func.func @constant(%x: tensor<8xf16> {mp.assume = {lo = 9000.0 : f64, hi = 11000.0 : f64, mean = 10000.0 : f64, std = 300.0 : f64, source = "option"}}) -> tensor<8xf16> {
  // expected-note @below {{magnitudes up to 0.0999756}}
  %c = mp.constant dense<1.0e-1> : tensor<f16>
  // expected-remark-re @below {{an addend of magnitudes up to 0.0999756 changes nothing beside values of {{.*}}, whose neighbours in f16 are 8 apart [MP302 likely]}}
  %0 = mp.add %x, %c : (tensor<8xf16>, tensor<f16>) -> tensor<8xf16>
  return %0 : tensor<8xf16>
}

// -----

// Clean: the same beside values of order 1, and a number that is not absorbed.
func.func @constant_clean(%x: tensor<8xf16> {mp.assume = {lo = -3.0 : f64, hi = 3.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<8xf16> {
  %c = mp.constant dense<1.0e-1> : tensor<f16>
  %0 = mp.add %x, %c : (tensor<8xf16>, tensor<f16>) -> tensor<8xf16>
  return %0 : tensor<8xf16>
}

// -----

// One of two terms of a sum is in [-1000, 1000], one in [-1, 1].
func.func @terms_f16(%x: tensor<64x2xf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.577 : f64, source = "option"}}) -> tensor<64xf16> {
  %units = mp.constant dense<[1.0e3, 1.0]> : tensor<2xf16>
  // expected-note @below {{has terms of different sizes}}
  %0 = mp.mul %x, %units : (tensor<64x2xf16>, tensor<2xf16>) -> tensor<64x2xf16>
  // expected-remark-re @below {{a quarter of the terms add 0.57{{.*}} to sums of 57{{.*}}, which f16 rounds by {{.*}} % of these terms [MP302 likely]}}
  %1 = mp.reduce_sum %0 {axes = array<i64: 1>} : (tensor<64x2xf16>) -> tensor<64xf16>
  return %1 : tensor<64xf16>
}

// -----

func.func @terms_bf16(%x: tensor<64x2xbf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.577 : f64, source = "option"}}) -> tensor<64xbf16> {
  %units = mp.constant dense<[1.0e2, 1.0]> : tensor<2xbf16>
  // expected-note @below {{has terms of different sizes}}
  %0 = mp.mul %x, %units : (tensor<64x2xbf16>, tensor<2xbf16>) -> tensor<64x2xbf16>
  // expected-remark @below {{[MP302 likely]}}
  %1 = mp.reduce_mean %0 {axes = array<i64: 1>} : (tensor<64x2xbf16>) -> tensor<64xbf16>
  return %1 : tensor<64xbf16>
}

// -----

// Clean: terms of a size; a sum that is stored in FP32.
func.func @terms_clean(%x: tensor<64x2xf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.577 : f64, source = "option"}}) -> tensor<64xf16> {
  %units = mp.constant dense<[10.0, 1.0]> : tensor<2xf16>
  %0 = mp.mul %x, %units : (tensor<64x2xf16>, tensor<2xf16>) -> tensor<64x2xf16>
  %1 = mp.reduce_sum %0 {axes = array<i64: 1>} : (tensor<64x2xf16>) -> tensor<64xf16>
  %thousands = mp.constant dense<[1.0e3, 1.0]> : tensor<2xf16>
  %2 = mp.mul %x, %thousands : (tensor<64x2xf16>, tensor<2xf16>) -> tensor<64x2xf16>
  // Many terms of one size, of which each is small beside the sum.
  %many = mp.constant dense<4.0> : tensor<4x4096xf16>
  %s = mp.reduce_mean %many {axes = array<i64: 1>} : (tensor<4x4096xf16>) -> tensor<4xf16>
  %3 = mp.cast %2 : (tensor<64x2xf16>) -> tensor<64x2xf32>
  %4 = mp.reduce_sum %3 {axes = array<i64: 1>} : (tensor<64x2xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf16>
}

// -----

// Both tensors vary: of numbers to 1 beside numbers to 1000 FP16 keeps two bits.
// expected-note @below {{typical magnitude 577}}
// expected-note @below {{typical magnitude 0.577}}
func.func @tensors(%x: tensor<64xf16> {mp.name = "x", mp.assume = {lo = -1.0e3 : f64, hi = 1.0e3 : f64, mean = 0.0 : f64, std = 577.0 : f64, source = "option"}}, %y: tensor<64xf16> {mp.name = "y", mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.577 : f64, source = "option"}}) -> tensor<64xf16> {
  // expected-remark-re @below {{an addend of typical magnitude 0.577 meets values of 577, and f16 rounds the sum by {{.*}} % of the addend [MP302 likely]}}
  %0 = mp.add %x, %y : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
  return %0 : tensor<64xf16>
}

// -----

// expected-note @below {{typical magnitude 57.7}}
// expected-note @below {{typical magnitude 0.577}}
func.func @tensors_bf16(%x: tensor<64xbf16> {mp.name = "x", mp.assume = {lo = -1.0e2 : f64, hi = 1.0e2 : f64, mean = 0.0 : f64, std = 57.7 : f64, source = "option"}}, %y: tensor<64xbf16> {mp.name = "y", mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.577 : f64, source = "option"}}) -> tensor<64xbf16> {
  // expected-remark-re @below {{bf16 rounds the sum by {{.*}} % of the addend [MP302 likely]}}
  %0 = mp.sub %x, %y : (tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
  return %0 : tensor<64xbf16>
}

// -----

// Clean: a tenth of the ratio.
func.func @tensors_clean(%x: tensor<64xf16> {mp.name = "x", mp.assume = {lo = -1.0e2 : f64, hi = 1.0e2 : f64, mean = 0.0 : f64, std = 57.7 : f64, source = "option"}}, %y: tensor<64xf16> {mp.name = "y", mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.577 : f64, source = "option"}}) -> tensor<64xf16> {
  %0 = mp.add %x, %y : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
  return %0 : tensor<64xf16>
}
