// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-absorption --mp-emit-findings

// expected-note @below {{typical magnitude}}
// expected-note @below {{magnitudes up to}}
func.func @fires_f16(%x: tensor<8xf16> {mp.assume = {lo = 1000.0 : f64, hi = 40000.0 : f64, mean = 20000.0 : f64, std = 1000.0 : f64, source = "option"}}, %y: tensor<8xf16> {mp.assume = {lo = -1.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 0.3 : f64, source = "option"}}) -> tensor<8xf16> {
  // expected-remark-re @below {{an addend of magnitudes up to {{.*}} in f16 are {{.*}} apart [MP302 likely]}}
  %0 = mp.add %x, %y : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %0 : tensor<8xf16>
}

// -----

// Of a size; an epsilon.
func.func @clean_f16(%x: tensor<8xf16> {mp.assume = {lo = 1000.0 : f64, hi = 40000.0 : f64, mean = 20000.0 : f64, std = 1000.0 : f64, source = "option"}}, %y: tensor<8xf16> {mp.assume = {lo = -900.0 : f64, hi = 900.0 : f64, mean = 0.0 : f64, std = 300.0 : f64, source = "option"}}) -> tensor<8xf16> {
  %e = mp.constant dense<1.0e-3> : tensor<f16>
  %0 = mp.add %x, %y : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %1 = mp.add %x, %e : (tensor<8xf16>, tensor<f16>) -> tensor<8xf16>
  return %1 : tensor<8xf16>
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

// Of a size; an epsilon.
func.func @clean_bf16(%x: tensor<8xbf16> {mp.assume = {lo = 1000.0 : f64, hi = 40000.0 : f64, mean = 20000.0 : f64, std = 1000.0 : f64, source = "option"}}, %y: tensor<8xbf16> {mp.assume = {lo = -900.0 : f64, hi = 900.0 : f64, mean = 0.0 : f64, std = 300.0 : f64, source = "option"}}) -> tensor<8xbf16> {
  %e = mp.constant dense<1.0e-3> : tensor<bf16>
  %0 = mp.add %x, %y : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  %1 = mp.add %x, %e : (tensor<8xbf16>, tensor<bf16>) -> tensor<8xbf16>
  return %1 : tensor<8xbf16>
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
