// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-overflow --mp-emit-findings

// The estimate reaches the edge; what follows from it points back.
// expected-note @below {{input in [-1000, 1000]}}
func.func @likely(%x: tensor<64xf16> {mp.assume = {lo = -1000.0 : f64, hi = 1000.0 : f64, mean = 0.0 : f64, std = 200.0 : f64, source = "option"}}) -> tensor<64xf16> {
  %c = mp.constant dense<300.0> : tensor<f16>
  // expected-error @below {{MP201 likely}}
  // expected-note @below {{grows from}}
  %0 = mp.mul %x, %c : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
  // expected-error @below {{past 65504, the largest f16 value [MP201 likely]}}
  %1 = mp.neg %0 : (tensor<64xf16>) -> tensor<64xf16>
  return %1 : tensor<64xf16>
}

// -----

// Every value.
// expected-note @below {{input in [1000, 2000]}}
func.func @certain(%x: tensor<4xf16> {mp.assume = {lo = 1000.0 : f64, hi = 2000.0 : f64, mean = 1500.0 : f64, std = 100.0 : f64, source = "option"}}) -> tensor<4xf16> {
  %c = mp.constant dense<100.0> : tensor<f16>
  // expected-error @below {{every value is at least 100000 in magnitude, past 65504, the largest f16 value [MP201 certain]}}
  // expected-note @below {{grows from}}
  %0 = mp.mul %x, %c : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// Only the bounds.
// expected-note @below {{input in [-1000, 1000]}}
func.func @possible(%x: tensor<4xf16> {mp.assume = {lo = -1000.0 : f64, hi = 1000.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<4xf16> {
  %c = mp.constant dense<100.0> : tensor<f16>
  // expected-error-re @below {{the bound is 100000, past 65504, the largest f16 value, while {{[0-9.]+}} is expected [MP201 possible]}}
  // expected-note @below {{grows from}}
  %0 = mp.mul %x, %c : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// 65519.9 is stored as 65504: the edge is 65520.
func.func @edge(%x: tensor<4xf16> {mp.assume = {lo = 0.0 : f64, hi = 65519.0 : f64, mean = 100.0 : f64, std = 10.0 : f64, source = "option"}}, %y: tensor<4xf16> {mp.assume = {lo = -1.0 : f64, hi = 0.9 : f64, mean = 0.0 : f64, std = 0.1 : f64, source = "option"}}) -> tensor<4xf16> {
  %0 = mp.add %x, %y : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// The same magnitudes in BF16, and larger ones in FP32 and FP64.
func.func @wide(%x: tensor<64xbf16> {mp.assume = {lo = -1000.0 : f64, hi = 1000.0 : f64, mean = 0.0 : f64, std = 200.0 : f64, source = "option"}}, %y: tensor<64xf32> {mp.assume = {lo = -1.0e18 : f64, hi = 1.0e18 : f64, mean = 0.0 : f64, std = 1.0e17 : f64, source = "option"}}, %z: tensor<64xf64> {mp.assume = {lo = -1.0e30 : f64, hi = 1.0e30 : f64, mean = 0.0 : f64, std = 1.0e29 : f64, source = "option"}}) -> (tensor<64xbf16>, tensor<64xf32>) {
  %c = mp.constant dense<300.0> : tensor<bf16>
  %0 = mp.mul %x, %c : (tensor<64xbf16>, tensor<bf16>) -> tensor<64xbf16>
  %1 = mp.mul %y, %y : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = mp.mul %z, %z : (tensor<64xf64>, tensor<64xf64>) -> tensor<64xf64>
  return %0, %1 : tensor<64xbf16>, tensor<64xf32>
}

// -----

// expected-note @below {{input in [-1e+30, 1e+30]}}
func.func @bf16(%x: tensor<64xbf16> {mp.assume = {lo = -1.0e30 : f64, hi = 1.0e30 : f64, mean = 0.0 : f64, std = 1.0e29 : f64, source = "option"}}) -> tensor<64xbf16> {
  %c = mp.constant dense<1.0e12> : tensor<bf16>
  // expected-error @below {{past 3.38953e+38, the largest bf16 value [MP201 likely]}}
  // expected-note @below {{grows from}}
  %0 = mp.mul %x, %c : (tensor<64xbf16>, tensor<bf16>) -> tensor<64xbf16>
  return %0 : tensor<64xbf16>
}

// -----

// FP32 has an edge, too. A quotient without a bound is not past it: its divisor is
// reported.
// expected-note @below {{input in}}
func.func @f32(%x: tensor<64xf32> {mp.assume = {lo = -1.0e30 : f64, hi = 1.0e30 : f64, mean = 0.0 : f64, std = 1.0e29 : f64, source = "option"}}) -> (tensor<64xf32>, tensor<64xf32>) {
  // expected-error @below {{past 3.40282e+38, the largest f32 value [MP201 likely]}}
  // expected-note @below {{grows from}}
  %0 = mp.mul %x, %x : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %one = mp.constant dense<1.0> : tensor<f32>
  %1 = mp.div %one, %x : (tensor<f32>, tensor<64xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

// -----

// Of an op without a model nothing is known, and nothing is said downstream.
func.func @unknown(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = mp.opaque "acme::Foo"(%x) : (tensor<4xf16>) -> tensor<4xf16>
  %1 = mp.add %0, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}

// -----

// Specific forms have rules of their own.
func.func @exp(%x: tensor<4xf16> {mp.assume = {lo = 20.0 : f64, hi = 30.0 : f64, mean = 25.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<4xf16> {
  %0 = mp.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// Whatever the operand is, times Inf it is no number.
func.func @infinite_factor(%x: tensor<4xf16>) -> tensor<4xf16> {
  %c = mp.constant dense<1.0e7> : tensor<f32>
  %0 = mp.cast %c : (tensor<f32>) -> tensor<f16>
  %1 = mp.opaque "acme::Foo"(%x) : (tensor<4xf16>) -> tensor<4xf16>
  // expected-error @below {{a factor or addend past the edge takes it past 65504, the largest f16 value [MP201 likely]}}
  %2 = mp.mul %1, %0 : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  return %2 : tensor<4xf16>
}

// -----

// An input is stored before it is read.
// expected-note @below {{input in [0, 300000]}}
func.func @input(%x: tensor<4xf16> {mp.assume = {lo = 0.0 : f64, hi = 3.0e+5 : f64, mean = 1.0e+5 : f64, std = 5.0e+4 : f64, source = "option"}}) -> tensor<4xf16> {
  %c = mp.constant dense<1.0e-3> : tensor<f16>
  // expected-error @below {{past 65504, the largest f16 value [MP201 likely]}}
  %0 = mp.mul %x, %c : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}
