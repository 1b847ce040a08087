// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-mask-constant --mp-emit-findings

// The constant fits, score + constant does not.
func.func @room_f16(%s: tensor<4x4xf16> {mp.assume = {lo = -20000.0 : f64, hi = 0.0 : f64, mean = -20000.0 : f64, std = 1.0 : f64, source = "option"}}, %m: tensor<4x4xi1>) -> tensor<4x4xf16> {
  // expected-note @below {{constant of magnitudes up to 60000}}
  %c = mp.constant dense<-6.0e4> : tensor<f16>
  %z = mp.constant dense<0.0> : tensor<f16>
  %w = mp.where %m, %c, %z : (tensor<4x4xi1>, tensor<f16>, tensor<f16>) -> tensor<4x4xf16>
  // expected-warning-re @below {{masked scores become -Inf, and a row that is masked altogether NaN: {{.*}} [MP208 {{likely|possible}}]}}
  %t = mp.add %s, %w : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  // expected-warning @below {{a row whose scores are all -Inf, which is one that is masked altogether, becomes NaN [MP208 possible]}}
  %p = mp.softmax %t : (tensor<4x4xf16>) -> tensor<4x4xf16>
  return %p : tensor<4x4xf16>
}

// -----

func.func @clean_f16(%s: tensor<4x4xf16> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 10.0 : f64, source = "option"}}, %m: tensor<4x4xi1>) -> tensor<4x4xf16> {
  %c = mp.constant dense<-3.0e4> : tensor<f16>
  %z = mp.constant dense<0.0> : tensor<f16>
  %w = mp.where %m, %c, %z : (tensor<4x4xi1>, tensor<f16>, tensor<f16>) -> tensor<4x4xf16>
  %t = mp.add %s, %w : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  %p = mp.softmax %t : (tensor<4x4xf16>) -> tensor<4x4xf16>
  return %p : tensor<4x4xf16>
}

// -----

// The constant fits, score + constant does not.
func.func @room_bf16(%s: tensor<4x4xbf16> {mp.assume = {lo = -1.0e37 : f64, hi = 0.0 : f64, mean = -1.0e37 : f64, std = 1.0 : f64, source = "option"}}, %m: tensor<4x4xi1>) -> tensor<4x4xbf16> {
  // expected-note @below {{constant of magnitudes up to 3.29649e+38}}
  %c = mp.constant dense<-3.3e38> : tensor<bf16>
  %z = mp.constant dense<0.0> : tensor<bf16>
  %w = mp.where %m, %c, %z : (tensor<4x4xi1>, tensor<bf16>, tensor<bf16>) -> tensor<4x4xbf16>
  // expected-warning-re @below {{masked scores become -Inf, and a row that is masked altogether NaN: {{.*}} [MP208 {{likely|possible}}]}}
  %t = mp.add %s, %w : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
  // expected-warning @below {{a row whose scores are all -Inf, which is one that is masked altogether, becomes NaN [MP208 possible]}}
  %p = mp.softmax %t : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
  return %p : tensor<4x4xbf16>
}

// -----

func.func @clean_bf16(%s: tensor<4x4xbf16> {mp.assume = {lo = -100.0 : f64, hi = 100.0 : f64, mean = 0.0 : f64, std = 10.0 : f64, source = "option"}}, %m: tensor<4x4xi1>) -> tensor<4x4xbf16> {
  %c = mp.constant dense<-3.0e4> : tensor<bf16>
  %z = mp.constant dense<0.0> : tensor<bf16>
  %w = mp.where %m, %c, %z : (tensor<4x4xi1>, tensor<bf16>, tensor<bf16>) -> tensor<4x4xbf16>
  %t = mp.add %s, %w : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
  %p = mp.softmax %t : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
  return %p : tensor<4x4xbf16>
}

// -----

// In FP32 there is room for -1e9.
func.func @clean_f32(%s: tensor<4x4xf32>, %m: tensor<4x4xi1>) -> tensor<4x4xf32> {
  %c = mp.constant dense<-1.0e9> : tensor<f32>
  %w = mp.where %m, %c, %s : (tensor<4x4xi1>, tensor<f32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = mp.softmax %w : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}

// -----

// Two masks of the smallest number: the sum is -Inf in FP32 as well.
func.func @fires_f32(%s: tensor<1x4x16x16xf32>, %m: tensor<1x1x1x16xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.3 : f64, source = "option"}}, %n: tensor<1x1x16x16xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.3 : f64, source = "option"}}) -> tensor<1x4x16x16xf32> {
  // expected-note @below {{constant of magnitudes up to 3e+38}}
  %least = mp.constant dense<-3.0e38> : tensor<f32>
  %0 = mp.mul %m, %least : (tensor<1x1x1x16xf32>, tensor<f32>) -> tensor<1x1x1x16xf32>
  %1 = mp.mul %n, %least : (tensor<1x1x16x16xf32>, tensor<f32>) -> tensor<1x1x16x16xf32>
  // expected-warning @below {{masked scores become -Inf}}
  %2 = mp.add %0, %1 : (tensor<1x1x1x16xf32>, tensor<1x1x16x16xf32>) -> tensor<1x1x16x16xf32>
  %3 = mp.add %s, %2 : (tensor<1x4x16x16xf32>, tensor<1x1x16x16xf32>) -> tensor<1x4x16x16xf32>
  // expected-warning @below {{a row whose scores are all -Inf}}
  %4 = mp.softmax %3 : (tensor<1x4x16x16xf32>) -> tensor<1x4x16x16xf32>
  return %4 : tensor<1x4x16x16xf32>
}
