// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-invalid-operation --mp-emit-findings

// What a mask keeps is multiplied by 0.
func.func @product_f16(%s: tensor<4x4xf16>, %m: tensor<4x4xf16> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64}}) -> tensor<4x4xf16> {
  %one = mp.constant dense<1.0> : tensor<f16>
  // expected-note @below {{holds an infinity}}
  %inf = mp.constant dense<0xFC00> : tensor<f16>
  // expected-note @below {{in [0, 1]}}
  %out = mp.sub %one, %m : (tensor<f16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  // expected-error @below {{0 times an infinity is NaN [MP214 likely]}}
  %mask = mp.mul %out, %inf : (tensor<4x4xf16>, tensor<f16>) -> tensor<4x4xf16>
  // NaN is there already.
  %t = mp.add %s, %mask : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  %p = mp.softmax %t : (tensor<4x4xf16>) -> tensor<4x4xf16>
  return %p : tensor<4x4xf16>
}

// -----

// expected-note @below {{in [0, 1]}}
func.func @product_bf16(%m: tensor<4x4xbf16> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64}}) -> tensor<4x4xbf16> {
  // expected-note @below {{holds an infinity}}
  %inf = mp.constant dense<0xFF80> : tensor<bf16>
  // expected-error @below {{0 times an infinity is NaN [MP214 likely]}}
  %mask = mp.mul %m, %inf : (tensor<4x4xbf16>, tensor<bf16>) -> tensor<4x4xbf16>
  return %mask : tensor<4x4xbf16>
}

// -----

// expected-note @below {{in [0, 1]}}
func.func @product_f32(%m: tensor<4x4xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64}}) -> tensor<4x4xf32> {
  // expected-note @below {{holds an infinity}}
  %inf = mp.constant dense<0xFF800000> : tensor<f32>
  // expected-error @below {{0 times an infinity is NaN [MP214 likely]}}
  %mask = mp.mul %m, %inf : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %mask : tensor<4x4xf32>
}

// -----

// Always, and by a softmax that is written out.
func.func @sure(%x: tensor<2x4xf32>, %keep: tensor<2x4xi1>) -> tensor<2x4xf32> {
  // expected-note @below {{in [0, 0]}}
  %zero = mp.constant dense<0.0> : tensor<f32>
  // expected-note @below {{holds an infinity}}
  %inf = mp.constant dense<0xFF800000> : tensor<f32>
  // expected-error @below {{0 times an infinity is NaN [MP214 certain]}}
  %nan = mp.mul %zero, %inf : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s = mp.where %keep, %x, %inf : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  // expected-note @below {{in [-10, 10]}}
  %max = mp.reduce_max %s {axes = array<i64: 1>, keep_dims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  // expected-error @below {{infinities that cancel are NaN [MP214 possible]}}
  %d = mp.sub %s, %max : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %d : tensor<2x4xf32>
}

// -----

// Every op that adds, and every one that multiplies, says why.
func.func @sums(%x: tensor<2x4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  // expected-note @below {{holds an infinity}}
  %both = mp.constant dense<[0xFF800000, 0x7F800000]> : tensor<2xf32>
  // expected-note @below {{in [1, 1]}}
  %inf = mp.constant dense<[0x7F800000, 1.0]> : tensor<2xf32>
  // expected-error @below {{infinities that cancel are NaN [MP214}}
  %c = mp.cum_sum %both {axis = 0 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  // expected-error @below {{infinities that cancel are NaN [MP214}}
  %n = mp.add_n %both, %inf : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %c, %n : tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-note @below {{in [-10, 10]}}
func.func @products(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>) {
  // expected-note @below {{holds an infinity}}
  %inf = mp.constant dense<[[0x7F800000, 1.0], [1.0, 0.0]]> : tensor<2x2xf32>
  // expected-error @below {{0 times an infinity is NaN [MP214}}
  %g = mp.gemm %x, %inf : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // expected-error @below {{0 times an infinity is NaN [MP214}}
  %p = mp.reduce_prod %inf {axes = array<i64: 1>, keep_dims = false} : (tensor<2x2xf32>) -> tensor<2xf32>
  return %g, %p : tensor<2x2xf32>, tensor<2xf32>
}

// -----

func.func @constant_f16() -> tensor<2xf16> {
  // expected-error @below {{the constant holds NaN [MP214 certain]}}
  %nan = mp.constant dense<[1.0, 0x7E00]> : tensor<2xf16>
  return %nan : tensor<2xf16>
}

// -----

func.func @constant_bf16() -> tensor<2xbf16> {
  // expected-error @below {{the constant holds NaN [MP214 certain]}}
  %nan = mp.constant dense<[1.0, 0x7FC0]> : tensor<2xbf16>
  return %nan : tensor<2xbf16>
}

// -----

func.func @constant_e4m3() -> tensor<2xf8E4M3FN> {
  // expected-error @below {{the constant holds NaN [MP214 certain]}}
  %nan = mp.constant dense<[1.0, 0x7F]> : tensor<2xf8E4M3FN>
  return %nan : tensor<2xf8E4M3FN>
}

// -----

// A mask that is added or chosen; one that no 0 is multiplied by; an infinity
// that an op makes, which is reported there.
func.func @clean_f16(%s: tensor<4x4xf16>, %keep: tensor<4x4xi1>, %x: tensor<4x4xf16> {mp.assume = {lo = 1.0 : f64, hi = 60000.0 : f64}}) -> tensor<4x4xf16> {
  %causal = mp.constant dense<[[0.0, 0xFC00, 0xFC00, 0xFC00], [0.0, 0.0, 0xFC00, 0xFC00], [0.0, 0.0, 0.0, 0xFC00], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf16>
  %a = mp.add %s, %causal : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  %p = mp.softmax %a : (tensor<4x4xf16>) -> tensor<4x4xf16>
  %inf = mp.constant dense<0xFC00> : tensor<f16>
  %w = mp.where %keep, %s, %inf : (tensor<4x4xi1>, tensor<4x4xf16>, tensor<f16>) -> tensor<4x4xf16>
  %e = mp.exp %w : (tensor<4x4xf16>) -> tensor<4x4xf16>
  %b = mp.mul %x, %inf : (tensor<4x4xf16>, tensor<f16>) -> tensor<4x4xf16>
  %c = mp.mul %x, %x : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  %d = mp.sub %c, %c : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  return %p : tensor<4x4xf16>
}

// -----

func.func @clean_bf16(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = mp.sub %x, %x : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

func.func @clean_f32(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mp.sub %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
