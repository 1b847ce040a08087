// A rounding is as large as its number. The largest number of x / exp(s) is off by the
// share that all are (0.05 %), and not by a largest error of as many normal numbers.
// RUN: split-file %s %t
// RUN: mpopt --check %t/quotient.mlir --precision fp16 --format json | FileCheck %s --check-prefix=QUOTIENT
// QUOTIENT: "expected_error": 0.000{{[4-9]}}
// RUN: mpopt --check %t/power.mlir --precision fp16 --format json | FileCheck %s --check-prefix=POWER
// POWER: "expected_error": 0.000{{[5-9]}}
// So is it behind a sum with numbers that are near 0.
// RUN: mpopt --check %t/sum.mlir --precision fp16 --format json | FileCheck %s --check-prefix=SUM
// SUM: "expected_error": 0.000{{[4-9]}}
// An error of an exponent is a share of each number, too: half a step of 0.1 is 5 % of the largest.
// RUN: mpopt --check %t/exponent.mlir --input x=-12:12~0,2.5 --format json --fail-on never | FileCheck %s --check-prefix=EXPONENT
// EXPONENT: "expected_error": 0.0{{[2-5]}}

//--- quotient.mlir
func.func @main(%x: tensor<64x256xf32> {mp.name = "x", mp.assume = {lo = -5.0 : f64, hi = 5.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %s: tensor<64x256xf32> {mp.name = "s", mp.assume = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.5 : f64}}) -> (tensor<64x256xf32> {mp.name = "result"}) {
  %0 = mp.exp %s : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %1 = mp.div %x, %0 : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  return %1 : tensor<64x256xf32>
}

//--- power.mlir
func.func @main(%x: tensor<64x256xf32> {mp.name = "x", mp.assume = {lo = -5.0 : f64, hi = 5.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) -> (tensor<64x256xf32> {mp.name = "result"}) {
  %0 = mp.mul %x, %x : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  %1 = mp.mul %0, %0 : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  return %1 : tensor<64x256xf32>
}

//--- sum.mlir
func.func @main(%x: tensor<64x256xf32> {mp.name = "x", mp.assume = {lo = -5.0 : f64, hi = 5.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %s: tensor<64x256xf32> {mp.name = "s", mp.assume = {lo = -6.0 : f64, hi = 6.0 : f64, mean = 0.0 : f64, std = 1.5 : f64}}, %b: tensor<64x256xf32> {mp.name = "b", mp.assume = {lo = -5.0 : f64, hi = 5.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) -> (tensor<64x256xf32> {mp.name = "result"}) {
  %0 = mp.exp %s : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %1 = mp.div %x, %0 : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  %2 = mp.add %1, %b : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  return %2 : tensor<64x256xf32>
}

//--- exponent.mlir
func.func @main(%x: tensor<64x64xf32> {mp.name = "x"}) -> (tensor<64x64xf32> {mp.name = "result"}) {
  %scale = mp.constant dense<0.1> : tensor<f32>
  %zero = mp.constant dense<128> : tensor<ui8>
  %anchor = mp.constant dense<32.0> : tensor<f32>
  %q = mp.quantize %x, %scale zero_point %zero : (tensor<64x64xf32>, tensor<f32>, tensor<ui8>) -> tensor<64x64xui8>
  %d = mp.dequantize %q, %scale zero_point %zero : (tensor<64x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<64x64xf32>
  %0 = mp.exp %d : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = mp.mul %0, %anchor : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
