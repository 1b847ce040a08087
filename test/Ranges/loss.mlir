// RUN: mpopt-opt %s --mp-print-ranges -verify-diagnostics=only-expected

func.func @classes(%x: tensor<4x10xf32> {mp.assume = {lo = -5.0 : f64, hi = 5.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %t: tensor<4xi64> {mp.assume = {lo = 0.0 : f64, hi = 9.0 : f64, mean = 4.0 : f64, std = 3.0 : f64}}, %w: tensor<10xf32> {mp.assume = {lo = 0.5 : f64, hi = 2.0 : f64, mean = 1.0 : f64, std = 0.1 : f64}}) {
  // Between 0 and the spread of the scores plus log 10.
  // expected-remark @+2 {{#0: [0, 12.3026]}}
  // expected-remark @below {{#1: [-12.3026, 0]}}
  %0, %1 = mp.softmax_cross_entropy %x, %t {reduction = "none"} : (tensor<4x10xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4x10xf32>)
  // Weighted losses over weights: a mean, but for the smoothed part's weights,
  // up to four times as large as the targets'.
  // expected-remark @below {{[0, 15.9934]}}
  %2 = mp.cross_entropy %x, %t weight %w {label_smoothing = 0.1 : f64} : (tensor<4x10xf32>, tensor<4xi64>, tensor<10xf32>) -> tensor<f32>
  // expected-remark @below {{[0, 98.4208]}}
  %3 = mp.cross_entropy %x, %t weight %w {reduction = "sum"} : (tensor<4x10xf32>, tensor<4xi64>, tensor<10xf32>) -> tensor<f32>
  // expected-remark @below {{[-5, 5]}}
  %4 = mp.nll_loss %x, %t {reduction = "none"} : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<4xf32>
  // All targets may be 3, and then there is nothing to take the mean of.
  // expected-remark @below {{[-5, 5] nan}}
  %5 = mp.nll_loss %x, %t {ignore_index = 3 : i64} : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<f32>
  // expected-remark @below {{[-5, 5]}}
  %6 = mp.nll_loss %x, %t {ignore_index = -100 : i64} : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<f32>
  // expected-remark @below {{[0, 11]}}
  %7 = mp.multi_margin_loss %x, %t : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<f32>
  return
}

func.func @pairs(%x: tensor<8xf32> {mp.assume = {lo = -2.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %t: tensor<8xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.2 : f64}}) {
  // expected-remark @below {{[0, 16]}}
  %0 = mp.mse_loss %x, %t {reduction = "none"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // expected-remark @below {{[0, 16]}}
  %1 = mp.mse_loss %x, %t : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  // expected-remark @below {{[0, 32]}}
  %2 = mp.l1_loss %x, %t {reduction = "sum"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  // expected-remark @below {{[0, 3.5]}}
  %3 = mp.smooth_l1_loss %x, %t {reduction = "none"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // PyTorch clamps the logarithms at -100.
  // expected-remark @below {{[0, 100]}}
  %4 = mp.binary_cross_entropy %t, %t {reduction = "none"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // expected-remark @below {{[0.0181494, 4.01816]}}
  %5 = mp.binary_cross_entropy_with_logits %x, %t {reduction = "none"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // expected-remark @below {{[-4.36788, 2]}}
  %6 = mp.kl_div %x, %t {reduction = "none"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

func.func @wide(%x: tensor<8xf32> {mp.assume = {lo = -200.0 : f64, hi = 200.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %t: tensor<8xf32> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
  // log(1 + e^200) by its parts is Inf in f32.
  // expected-remark @below {{[0, 200] +inf}}
  %0 = mp.soft_margin_loss %x, %t {reduction = "none"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // expected-remark @below {{[-79800.1, 80200.1]}}
  %1 = mp.binary_cross_entropy_with_logits %x, %x {reduction = "none"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

func.func @distances(%a: tensor<4x16xf32>, %b: tensor<4x16xf32>) {
  // expected-remark @below {{[-1, 1]}}
  %0 = mp.cosine_similarity %a, %b : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4xf32>
  // expected-remark @below {{[0, 320]}}
  %1 = mp.cdist %a, %b {p = 1.0 : f64} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
  // expected-remark @below {{[-3.00001, 3.00001]}}
  %2 = mp.renorm %a {p = 2.0 : f64, axis = 0 : i64, max_norm = 3.0 : f64} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// An epsilon of 1e-8 is 0 in FP16: a vector of zeros is divided by 0.
func.func @cosines(%a: tensor<4x16xf16>, %b: tensor<4x16xf16> {mp.assume = {lo = 1.0 : f64, hi = 2.0 : f64}}) {
  // expected-remark @below {{[-1.00783, 1.00783] nan}}
  %0 = mp.cosine_similarity %a, %b : (tensor<4x16xf16>, tensor<4x16xf16>) -> tensor<4xf16>
  // Quotients and norms are rounded to FP16.
  // expected-remark @below {{[-1.00}}
  %1 = mp.cosine_similarity %b, %b : (tensor<4x16xf16>, tensor<4x16xf16>) -> tensor<4xf16>
  return
}

// Targets of which nothing is known.
func.func @open(%x: tensor<4xf32> {mp.assume = {lo = 1.0 : f64, hi = 2.0 : f64}}) {
  %t = mp.opaque "custom"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{[-inf, inf] nan}}
  %0 = mp.poisson_nll_loss %x, %t {full = true, log_input = false, reduction = "none"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// Four targets that are all class 0, three others each: 4 * 3 * 2 / 4.
func.func @labels(%x: tensor<4xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64}}, %t: tensor<4xi64>) {
  // expected-remark @below {{[0, 6]}}
  %0 = mp.multilabel_margin_loss %x, %t : (tensor<4xf32>, tensor<4xi64>) -> tensor<f32>
  return
}

// In FP16 the epsilon of 1e-8 is 0, and 0 log 0 NaN.
func.func @rates(%x: tensor<4xf16> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64}}) {
  // expected-remark @below {{nan}}
  %0 = mp.poisson_nll_loss %x, %x {log_input = false, reduction = "none"} : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return
}
