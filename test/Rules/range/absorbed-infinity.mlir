// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-absorbed-infinity --mp-emit-findings

func.func @fires(%x: tensor<4xf16> {mp.assume = {lo = 1000.0 : f64, hi = 2000.0 : f64, mean = 1500.0 : f64, std = 100.0 : f64, source = "option"}}, %y: tensor<4xf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.1 : f64, source = "option"}}) -> (tensor<4xf16>, tensor<4xf16>) {
  // expected-note @below {{overflows f16}}
  %0 = mp.square %x : (tensor<4xf16>) -> tensor<4xf16>
  // expected-warning @below {{an operand overflows to Inf and leaves no trace: every finite value divided by it is 0 [MP212 certain]}}
  %1 = mp.div %y, %0 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  // expected-warning @below {{its reciprocal is 0 [MP212 certain]}}
  %2 = mp.rsqrt %0 : (tensor<4xf16>) -> tensor<4xf16>
  return %1, %2 : tensor<4xf16>, tensor<4xf16>
}

// -----

// No overflow; none that is expected.
func.func @clean(%x: tensor<4xbf16> {mp.assume = {lo = 1000.0 : f64, hi = 2000.0 : f64, mean = 1500.0 : f64, std = 100.0 : f64, source = "option"}}, %y: tensor<4xf16> {mp.assume = {lo = 1.0 : f64, hi = 1000.0 : f64, mean = 10.0 : f64, std = 1.0 : f64, source = "option"}}) {
  %0 = mp.square %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %1 = mp.rsqrt %0 : (tensor<4xbf16>) -> tensor<4xbf16>
  %2 = mp.square %y : (tensor<4xf16>) -> tensor<4xf16>
  %3 = mp.rsqrt %2 : (tensor<4xf16>) -> tensor<4xf16>
  return
}

// -----

func.func @fires_bf16(%x: tensor<4xbf16> {mp.assume = {lo = 1.0e20 : f64, hi = 2.0e20 : f64, mean = 1.5e20 : f64, std = 1.0e19 : f64, source = "option"}}, %y: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xbf16>) {
  // expected-note @below {{overflows bf16}}
  %0 = mp.square %x : (tensor<4xbf16>) -> tensor<4xbf16>
  // expected-warning @below {{every finite value divided by it is 0 [MP212 certain]}}
  %1 = mp.div %y, %0 : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  // What the limit is for: a remark.
  // expected-remark @below {{it is cut off at the limit, as the true value would be [MP212 certain]}}
  %2 = mp.relu6 %0 : (tensor<4xbf16>) -> tensor<4xbf16>
  return %1, %2 : tensor<4xbf16>, tensor<4xbf16>
}

// -----

func.func @fires_f32(%x: tensor<4xf32> {mp.assume = {lo = 1.0e20 : f64, hi = 2.0e20 : f64, mean = 1.5e20 : f64, std = 1.0e19 : f64, source = "option"}}, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{overflows f32}}
  %0 = mp.square %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-warning @below {{its reciprocal is 0 [MP212 certain]}}
  %1 = mp.rsqrt %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// An Inf that stays one; a value that fits.
func.func @clean_others(%x: tensor<4xf16> {mp.assume = {lo = 1000.0 : f64, hi = 2000.0 : f64, mean = 1500.0 : f64, std = 100.0 : f64, source = "option"}}, %y: tensor<4xf32> {mp.assume = {lo = 1000.0 : f64, hi = 2000.0 : f64, mean = 1500.0 : f64, std = 100.0 : f64, source = "option"}}) {
  %0 = mp.square %x : (tensor<4xf16>) -> tensor<4xf16>
  %1 = mp.neg %0 : (tensor<4xf16>) -> tensor<4xf16>
  %2 = mp.square %y : (tensor<4xf32>) -> tensor<4xf32>
  %3 = mp.rsqrt %2 : (tensor<4xf32>) -> tensor<4xf32>
  return
}
