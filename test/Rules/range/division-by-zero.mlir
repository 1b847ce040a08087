// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-division-by-zero --mp-emit-findings

// expected-note @below {{divisor in [-4, 4]}}
func.func @fires_f16(%x: tensor<64xf16> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<64xf16> {
  // expected-note @below {{divisor in [0, 4]}}
  %0 = mp.relu %x : (tensor<64xf16>) -> tensor<64xf16>
  // expected-error @below {{the divisor is likely to be 0 [MP206 likely]}}
  %1 = mp.div %x, %0 : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
  // expected-error @below {{the divisor may be 0 [MP206 possible]}}
  %2 = mp.reciprocal %x : (tensor<64xf16>) -> tensor<64xf16>
  return %1 : tensor<64xf16>
}

// -----

func.func @clean_f16(%x: tensor<64xf16> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<64xf16> {
  %e = mp.constant dense<1.0e-3> : tensor<f16>
  %0 = mp.relu %x : (tensor<64xf16>) -> tensor<64xf16>
  %1 = mp.add %0, %e : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
  %2 = mp.div %x, %1 : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
  return %2 : tensor<64xf16>
}

// -----

// expected-note @below {{divisor in [-4, 4]}}
func.func @fires_bf16(%x: tensor<64xbf16> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<64xbf16> {
  // expected-note @below {{divisor in [0, 4]}}
  %0 = mp.relu %x : (tensor<64xbf16>) -> tensor<64xbf16>
  // expected-error @below {{the divisor is likely to be 0 [MP206 likely]}}
  %1 = mp.div %x, %0 : (tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
  // expected-error @below {{the divisor may be 0 [MP206 possible]}}
  %2 = mp.reciprocal %x : (tensor<64xbf16>) -> tensor<64xbf16>
  return %1 : tensor<64xbf16>
}

// -----

func.func @clean_bf16(%x: tensor<64xbf16> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<64xbf16> {
  %e = mp.constant dense<1.0e-3> : tensor<bf16>
  %0 = mp.relu %x : (tensor<64xbf16>) -> tensor<64xbf16>
  %1 = mp.add %0, %e : (tensor<64xbf16>, tensor<bf16>) -> tensor<64xbf16>
  %2 = mp.div %x, %1 : (tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
  return %2 : tensor<64xbf16>
}

// -----

// expected-note @below {{divisor in [-4, 4]}}
func.func @fires_f32(%x: tensor<64xf32> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<64xf32> {
  // expected-note @below {{divisor in [0, 4]}}
  %0 = mp.relu %x : (tensor<64xf32>) -> tensor<64xf32>
  // expected-error @below {{the divisor is likely to be 0 [MP206 likely]}}
  %1 = mp.div %x, %0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // expected-error @below {{the divisor may be 0 [MP206 possible]}}
  %2 = mp.reciprocal %x : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

func.func @clean_f32(%x: tensor<64xf32> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> tensor<64xf32> {
  %e = mp.constant dense<1.0e-3> : tensor<f32>
  %0 = mp.relu %x : (tensor<64xf32>) -> tensor<64xf32>
  %1 = mp.add %0, %e : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %2 = mp.div %x, %1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// -----

// An epsilon that FP16 rounds to 0 guards nothing there.
func.func @epsilon(%x: tensor<64xf32> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}) -> (tensor<64xf16>, tensor<64xbf16>) {
  %e = mp.constant dense<1.0e-8> : tensor<f32>
  %h = mp.cast %x : (tensor<64xf32>) -> tensor<64xf16>
  %g = mp.cast %e : (tensor<f32>) -> tensor<f16>
  %0 = mp.abs %h : (tensor<64xf16>) -> tensor<64xf16>
  // expected-note @below {{divisor in [0, 4]}}
  %1 = mp.add %0, %g : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
  // expected-error @below {{the divisor may be 0 [MP206 possible]}}
  %2 = mp.div %h, %1 : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
  %b = mp.cast %x : (tensor<64xf32>) -> tensor<64xbf16>
  %f = mp.cast %e : (tensor<f32>) -> tensor<bf16>
  %3 = mp.abs %b : (tensor<64xbf16>) -> tensor<64xbf16>
  %4 = mp.add %3, %f : (tensor<64xbf16>, tensor<bf16>) -> tensor<64xbf16>
  %5 = mp.div %b, %4 : (tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
  return %2, %5 : tensor<64xf16>, tensor<64xbf16>
}

// -----

// Every op that divides, wherever its divisor is.
// expected-note @below {{divisor in [-4, 4]}}
func.func @divisors(%x: tensor<64xf32> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64}}) -> tensor<64xf32> {
  // expected-error @below {{the divisor may be 0 [MP206 possible]}}
  %0 = mp.floor_div %x, %x : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // expected-error @below {{the divisor may be 0 [MP206 possible]}}
  %1 = mp.mod %x, %x {fmod} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // expected-error @below {{the divisor may be 0 [MP206 possible]}}
  %2 = mp.addcdiv %x, %x, %x : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// -----

// 1 - a of a schedule: 0.9995 is 1 in bf16, which each run reads; of the second table no number is.
func.func @schedule(%x: tensor<8xbf16>, %t: tensor<1xi64> {mp.assume = {lo = 0.0 : f64, hi = 3.0 : f64}}, %late: tensor<1xi64> {mp.assume = {lo = 1.0 : f64, hi = 3.0 : f64}}) -> (tensor<8xbf16>, tensor<8xbf16>) {
  %table = mp.constant dense<[0.9995, 0.9, 0.5, 0.01]> : tensor<4xf32>
  %a = mp.cast %table {origin = #mp.cast_origin<storage>} : (tensor<4xf32>) -> tensor<4xbf16>
  %n = mp.constant dense<1.0> : tensor<f32>
  %one = mp.cast %n {origin = #mp.cast_origin<storage>} : (tensor<f32>) -> tensor<bf16>
  %g = mp.gather %a, %t : (tensor<4xbf16>, tensor<1xi64>) -> tensor<1xbf16>
  %b = mp.sub %one, %g : (tensor<bf16>, tensor<1xbf16>) -> tensor<1xbf16>
  // expected-note @below {{divisor in [0, 0.9}}
  %r = mp.sqrt %b : (tensor<1xbf16>) -> tensor<1xbf16>
  // expected-error @below {{the divisor is 0 in bf16 for a number of the table that it is computed of [MP206 likely]}}
  %0 = mp.div %x, %r : (tensor<8xbf16>, tensor<1xbf16>) -> tensor<8xbf16>
  %h = mp.gather %a, %late : (tensor<4xbf16>, tensor<1xi64>) -> tensor<1xbf16>
  %c = mp.sub %one, %h : (tensor<bf16>, tensor<1xbf16>) -> tensor<1xbf16>
  // expected-note @below {{divisor in}}
  %s = mp.sqrt %c : (tensor<1xbf16>) -> tensor<1xbf16>
  // expected-error @below {{the divisor may be 0 [MP206 possible]}}
  %1 = mp.div %x, %s : (tensor<8xbf16>, tensor<1xbf16>) -> tensor<8xbf16>
  return %0, %1 : tensor<8xbf16>, tensor<8xbf16>
}

// -----

// A row that the mask hides has no largest magnitude.
func.func @masked_rows(%x: tensor<8x64xf32> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}, %mask: tensor<8x1xi1>) -> tensor<8x64xf32> {
  %m = mp.cast %mask : (tensor<8x1xi1>) -> tensor<8x1xf32>
  %0 = mp.mul %x, %m : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
  %1 = mp.abs %0 : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = mp.reduce_max %1 {axes = array<i64: 1>, keep_dims = true} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  %c = mp.constant dense<448.0> : tensor<f32>
  // expected-note @below {{divisor in}}
  %3 = mp.div %2, %c : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x1xf32>
  // expected-error @below {{the divisor is 0 for a row that is 0 altogether: one that a mask hides, or padding [MP206 likely]}}
  %4 = mp.div %0, %3 : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
  return %4 : tensor<8x64xf32>
}

// -----

// What is left of such a row is replaced.
func.func @replaced_rows(%x: tensor<8x64xf32> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}, %mask: tensor<8x1xi1>) -> tensor<8x64xf32> {
  %m = mp.cast %mask : (tensor<8x1xi1>) -> tensor<8x1xf32>
  %0 = mp.mul %x, %m : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
  %1 = mp.abs %0 : (tensor<8x64xf32>) -> tensor<8x64xf32>
  // expected-note @below {{divisor in}}
  %2 = mp.reduce_max %1 {axes = array<i64: 1>, keep_dims = true} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  // expected-error @below {{the divisor may be 0 [MP206 possible]}}
  %3 = mp.div %0, %2 : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
  %4 = mp.where %mask, %3, %0 : (tensor<8x1xi1>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %4 : tensor<8x64xf32>
}

// -----

// A mask of elements seldom hides a whole row.
func.func @masked_elements(%x: tensor<8x64xf32> {mp.assume = {lo = -4.0 : f64, hi = 4.0 : f64, mean = 0.0 : f64, std = 1.0 : f64, source = "option"}}, %mask: tensor<8x64xi1>) -> tensor<8x64xf32> {
  %m = mp.cast %mask : (tensor<8x64xi1>) -> tensor<8x64xf32>
  %0 = mp.mul %x, %m : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = mp.abs %0 : (tensor<8x64xf32>) -> tensor<8x64xf32>
  // expected-note @below {{divisor in}}
  %2 = mp.reduce_max %1 {axes = array<i64: 1>, keep_dims = true} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  // expected-error @below {{the divisor may be 0 [MP206 possible]}}
  %3 = mp.div %0, %2 : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
  return %3 : tensor<8x64xf32>
}
