// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-invalid-domain --mp-emit-findings

func.func @log_f16(%x: tensor<64xf16> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<64xf16> {
  // expected-note @below {{argument in [0, 4]}}
  %0 = mp.relu %x : (tensor<64xf16>) -> tensor<64xf16>
  // expected-error @below {{the argument of log is likely to be outside its domain: it must be above 0 [MP205 likely]}}
  %1 = mp.log %0 : (tensor<64xf16>) -> tensor<64xf16>
  return %1 : tensor<64xf16>
}

// -----

func.func @clean_f16(%x: tensor<64xf16> {mp.assume = {lo = 0.125 : f64, hi = 4.0 : f64, mean = 1.0 : f64, std = 0.5 : f64, source = "option"}}, %y: tensor<64xf16> {mp.assume = {lo = -0.5 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.1 : f64, source = "option"}}) {
  %0 = mp.log %x : (tensor<64xf16>) -> tensor<64xf16>
  %1 = mp.rsqrt %x : (tensor<64xf16>) -> tensor<64xf16>
  %2 = mp.asin %y : (tensor<64xf16>) -> tensor<64xf16>
  %3 = mp.log1p %y : (tensor<64xf16>) -> tensor<64xf16>
  %4 = mp.relu %y : (tensor<64xf16>) -> tensor<64xf16>
  %5 = mp.sqrt %4 : (tensor<64xf16>) -> tensor<64xf16>
  return
}

// -----

func.func @log_bf16(%x: tensor<64xbf16> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<64xbf16> {
  // expected-note @below {{argument in [0, 4]}}
  %0 = mp.relu %x : (tensor<64xbf16>) -> tensor<64xbf16>
  // expected-error @below {{the argument of log is likely to be outside its domain: it must be above 0 [MP205 likely]}}
  %1 = mp.log %0 : (tensor<64xbf16>) -> tensor<64xbf16>
  return %1 : tensor<64xbf16>
}

// -----

func.func @clean_bf16(%x: tensor<64xbf16> {mp.assume = {lo = 0.125 : f64, hi = 4.0 : f64, mean = 1.0 : f64, std = 0.5 : f64, source = "option"}}, %y: tensor<64xbf16> {mp.assume = {lo = -0.5 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.1 : f64, source = "option"}}) {
  %0 = mp.log %x : (tensor<64xbf16>) -> tensor<64xbf16>
  %1 = mp.rsqrt %x : (tensor<64xbf16>) -> tensor<64xbf16>
  %2 = mp.asin %y : (tensor<64xbf16>) -> tensor<64xbf16>
  %3 = mp.log1p %y : (tensor<64xbf16>) -> tensor<64xbf16>
  %4 = mp.relu %y : (tensor<64xbf16>) -> tensor<64xbf16>
  %5 = mp.sqrt %4 : (tensor<64xbf16>) -> tensor<64xbf16>
  return
}

// -----

func.func @log_f32(%x: tensor<64xf32> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<64xf32> {
  // expected-note @below {{argument in [0, 4]}}
  %0 = mp.relu %x : (tensor<64xf32>) -> tensor<64xf32>
  // expected-error @below {{the argument of log is likely to be outside its domain: it must be above 0 [MP205 likely]}}
  %1 = mp.log %0 : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

func.func @clean_f32(%x: tensor<64xf32> {mp.assume = {lo = 0.125 : f64, hi = 4.0 : f64, mean = 1.0 : f64, std = 0.5 : f64, source = "option"}}, %y: tensor<64xf32> {mp.assume = {lo = -0.5 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.1 : f64, source = "option"}}) {
  %0 = mp.log %x : (tensor<64xf32>) -> tensor<64xf32>
  %1 = mp.rsqrt %x : (tensor<64xf32>) -> tensor<64xf32>
  %2 = mp.asin %y : (tensor<64xf32>) -> tensor<64xf32>
  %3 = mp.log1p %y : (tensor<64xf32>) -> tensor<64xf32>
  %4 = mp.relu %y : (tensor<64xf32>) -> tensor<64xf32>
  %5 = mp.sqrt %4 : (tensor<64xf32>) -> tensor<64xf32>
  return
}

// -----

// Only by rounding: 1e-8 is 0 in FP16, and not in BF16.
func.func @rounded(%x: tensor<4xf32> {mp.assume = {lo = 1.0e-9 : f64, hi = 1.0e-8 : f64, mean = 5.0e-9 : f64, std = 1.0e-9 : f64, source = "option"}}) -> (tensor<4xf16>, tensor<4xbf16>) {
  // expected-note @below {{argument in [1e-09, 1e-08]}}
  %0 = mp.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  // expected-error @below {{the argument of log is outside its domain after rounding to f16: it must be above 0 [MP205 certain]}}
  %1 = mp.log %0 : (tensor<4xf16>) -> tensor<4xf16>
  %2 = mp.cast %x : (tensor<4xf32>) -> tensor<4xbf16>
  %3 = mp.log %2 : (tensor<4xbf16>) -> tensor<4xbf16>
  return %1, %3 : tensor<4xf16>, tensor<4xbf16>
}

// -----

// expected-note @below {{argument in [-9, 9]}}
func.func @possible(%x: tensor<4xf32> {mp.assume = {lo = -9.0 : f64, hi = 9.0 : f64, mean = 5.0 : f64, std = 0.5 : f64, source = "option"}}) -> tensor<4xf32> {
  // expected-error @below {{the argument of acos is likely to be outside its domain: it must be between -1 and 1 [MP205 likely]}}
  %0 = mp.acos %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{the argument of sqrt may be outside its domain: it must be at least 0 [MP205 possible]}}
  %1 = mp.sqrt %x : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Bucket numbers: no float is made of the infinity. As soon as one is, it is an
// error.
func.func @buckets(%p: tensor<4xi64> {mp.assume = {lo = 0.0 : f64, hi = 9.0 : f64}}) -> tensor<4xi64> {
  // expected-note @below {{argument in [0, 9], likely within}}
  %x = mp.cast %p : (tensor<4xi64>) -> tensor<4xf32>
  // expected-remark @below {{; the result is cast to integers, see that they are not used [MP205 likely]}}
  %0 = mp.log %x : (tensor<4xf32>) -> tensor<4xf32>
  %c = mp.constant dense<2.0> : tensor<f32>
  %1 = mp.div %0, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = mp.cast %1 : (tensor<4xf32>) -> tensor<4xi64>
  // expected-error @below {{it must be above 0 [MP205 likely]}}
  %3 = mp.log %x : (tensor<4xf32>) -> tensor<4xf32>
  %4 = mp.cast %3 : (tensor<4xf32>) -> tensor<4xi64>
  %5 = mp.exp %3 : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xi64>
}
