// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-cast-churn --mp-emit-findings

// One op between two casts.
func.func @f16(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  // expected-warning @below {{2 casts move 768 KiB so that 1 op in f16 save 256 KiB: slower than f32, and less accurate [MP108 certain]}}
  %a = mp.cast %x : (tensor<256x256xf32>) -> tensor<256x256xf16>
  // expected-note @below {{computes in f16}}
  %b = mp.relu %a : (tensor<256x256xf16>) -> tensor<256x256xf16>
  %c = mp.cast %b : (tensor<256x256xf16>) -> tensor<256x256xf32>
  return %c : tensor<256x256xf32>
}

// -----

// A dynamic dim scales both sides.
func.func @bf16(%x: tensor<?x65536xf32>) -> tensor<?x65536xf32> {
  // expected-warning @below {{2 casts move 768 KiB so that 2 ops in bf16 save 512 KiB}}
  %a = mp.cast %x : (tensor<?x65536xf32>) -> tensor<?x65536xbf16>
  // expected-note @below {{computes in bf16}}
  %b = mp.relu %a : (tensor<?x65536xbf16>) -> tensor<?x65536xbf16>
  // expected-note @below {{computes in bf16}}
  %c = mp.abs %b : (tensor<?x65536xbf16>) -> tensor<?x65536xbf16>
  %d = mp.cast %c : (tensor<?x65536xbf16>) -> tensor<?x65536xf32>
  return %d : tensor<?x65536xf32>
}

// -----

// Clean: a chain long enough to pay.
func.func @long(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %a = mp.cast %x : (tensor<256x256xf32>) -> tensor<256x256xf16>
  %b = mp.relu %a : (tensor<256x256xf16>) -> tensor<256x256xf16>
  %c = mp.abs %b : (tensor<256x256xf16>) -> tensor<256x256xf16>
  %d = mp.neg %c : (tensor<256x256xf16>) -> tensor<256x256xf16>
  %e = mp.cast %d : (tensor<256x256xf16>) -> tensor<256x256xf32>
  return %e : tensor<256x256xf32>
}

// -----

// Clean: a matrix product, too few bytes, a 16-bit result, a cast constant,
// and an FP32 island in a 16-bit graph.
func.func @clean(%x: tensor<256x256xf32>, %s: tensor<4xf32>, %h: tensor<256x256xf16>) -> tensor<256x256xf16> {
  %a = mp.cast %x : (tensor<256x256xf32>) -> tensor<256x256xf16>
  %b = mp.matmul %a, %a : (tensor<256x256xf16>, tensor<256x256xf16>) -> tensor<256x256xf16>
  %c = mp.cast %b : (tensor<256x256xf16>) -> tensor<256x256xf32>
  %d = mp.cast %s : (tensor<4xf32>) -> tensor<4xf16>
  %e = mp.relu %d : (tensor<4xf16>) -> tensor<4xf16>
  %f = mp.cast %e : (tensor<4xf16>) -> tensor<4xf32>
  %g = mp.cast %x {origin = #mp.cast_origin<policy>} : (tensor<256x256xf32>) -> tensor<256x256xf16>
  %i = mp.relu %g : (tensor<256x256xf16>) -> tensor<256x256xf16>
  %w = mp.constant dense<1.0> : tensor<256x256xf32>
  %j = mp.cast %w : (tensor<256x256xf32>) -> tensor<256x256xf16>
  %k = mp.relu %j : (tensor<256x256xf16>) -> tensor<256x256xf16>
  %l = mp.cast %k : (tensor<256x256xf16>) -> tensor<256x256xf32>
  %m = mp.cast %h : (tensor<256x256xf16>) -> tensor<256x256xf32>
  %n = mp.exp %m : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %o = mp.cast %n : (tensor<256x256xf32>) -> tensor<256x256xf16>
  return %i : tensor<256x256xf16>
}

// -----

// Beside a matrix product the casts are worth a remark.
func.func @small_share(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> tensor<256x256xf32> {
  // expected-remark @below {{2 casts move 768 KiB}}
  %a = mp.cast %x : (tensor<256x256xf32>) -> tensor<256x256xf16>
  // expected-note @below {{computes in f16}}
  %b = mp.relu %a : (tensor<256x256xf16>) -> tensor<256x256xf16>
  %c = mp.cast %b : (tensor<256x256xf16>) -> tensor<256x256xf32>
  %d = mp.matmul %c, %w : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %d : tensor<256x256xf32>
}
