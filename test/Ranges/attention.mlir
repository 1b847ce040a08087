// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// The result lies in the hull of the values' rows, and none of its rows is
// longer than theirs. Scores are no more than the product of the rows' lengths.
func.func @attention(%q: tensor<1x2x4x16xf32>, %k: tensor<1x2x4x16xf32>, %v: tensor<1x2x4x16xf32> {mp.assume = {lo = -3.0 : f64, hi = 5.0 : f64}}) -> tensor<1x2x4x16xf32> {
  // expected-remark @below {{#0: [-3.00019, 5.00019] norm(3) <= 20.0008}}
  // expected-remark @below {{#3: [-400.001, 400.001]}}
  // expected-remark @below {{#1: [-10, 10] norm(3) <= 40}}
  // expected-remark @below {{#2: [-3, 5] norm(3) <= 20}}
  %0:4 = mp.attention %q, %k, %v : (tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>) -> (tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x4xf32>)
  %qn = mp.rms_norm %q : (tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32>
  %kn = mp.rms_norm %k : (tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32>
  // Normalised rows are 4 long, so scores are 16 / sqrt(16) at most.
  // expected-remark @below {{#3: [-4.00002, 4.00002]}}
  // expected-remark @below {{#1: [-4.00001, 4.00001] norm(3) <= 4.00001}}
  // expected-remark @below {{#2: [-3, 5] norm(3) <= 20}}
  // expected-remark @below {{#0: [-3.00019, 5.00019] norm(3) <= 20.0008}}
  %1:4 = mp.attention %qn, %kn, %v : (tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>) -> (tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x4xf32>)
  return %0#0 : tensor<1x2x4x16xf32>
}

// -----

// Heads side by side: a softcap bounds the scores, a term in the denominator
// takes weight away.
func.func @heads(%q: tensor<1x4x32xf32>, %v: tensor<1x4x32xf32> {mp.assume = {lo = 3.0 : f64, hi = 5.0 : f64}}) -> tensor<1x4x32xf32> {
  // expected-remark @below {{#0: [2.99981, 5.00019] norm(2) <= 28.2853}}
  // expected-remark @below {{#3: [-30, 30]}}
  // expected-remark @below {{#1: [-10, 10] norm(3) <= 40}}
  // expected-remark @below {{#2: [3, 5] norm(3) <= 20}}
  %0:4 = mp.attention %q, %q, %v {num_heads = 2 : i64, softcap = 30.0 : f64, scores_mode = 1 : i64} : (tensor<1x4x32xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>) -> (tensor<1x4x32xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x4xf32>)
  // expected-remark @below {{[0, 5.00019]}}
  %1 = mp.attention %q, %q, %v {num_heads = 2 : i64, smooth_softmax} : (tensor<1x4x32xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>) -> tensor<1x4x32xf32>
  return %0#0 : tensor<1x4x32xf32>
}

// -----

// Masks that may leave nothing give NaN; this constant one always leaves
// something, a large negative number is no infinity, and a causal mask leaves
// the first key.
func.func @masks(%q: tensor<1x1x2x16xf32>, %keep: tensor<2x2xi1>) -> tensor<1x1x2x16xf32> {
  // expected-remark @below {{[-10.0004, 10.0004] nan norm(3)}}
  %0 = mp.attention %q, %q, %q mask %keep : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<2x2xi1>) -> tensor<1x1x2x16xf32>
  // expected-remark @below {{[-10.0004, 10.0004] norm(3)}}
  %1 = mp.attention %q, %q, %q mask %keep {mask_value = -1.0e4 : f64} : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<2x2xi1>) -> tensor<1x1x2x16xf32>
  %some = mp.constant dense<[[0.0, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  // expected-remark @below {{[-10.0004, 10.0004] norm(3)}}
  %2 = mp.attention %q, %q, %q mask %some : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<2x2xf32>) -> tensor<1x1x2x16xf32>
  // expected-remark @below {{[-10.0004, 10.0004] norm(3)}}
  %3 = mp.attention %q, %q, %q {is_causal} : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) -> tensor<1x1x2x16xf32>
  // Two masks together may leave nothing.
  // expected-remark @below {{[-10.0004, 10.0004] nan norm(3)}}
  %4 = mp.attention %q, %q, %q mask %some {is_causal} : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<2x2xf32>) -> tensor<1x1x2x16xf32>
  return %0 : tensor<1x1x2x16xf32>
}

// -----

// Where PyTorch makes zeros of a row without keys, no NaN comes of a mask, but
// of one that holds NaN itself.
func.func @masked_zero(%q: tensor<1x1x2x16xf32> {mp.assume = {lo = 0.5 : f64, hi = 1.0 : f64}}, %keep: tensor<2x2xi1>, %x: tensor<2x2xf32>) -> tensor<1x1x2x16xf32> {
  // expected-remark @below {{[0, 1.00004] norm(3)}}
  %0 = mp.attention %q, %q, %q mask %keep {mp.masked_zero} : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<2x2xi1>) -> tensor<1x1x2x16xf32>
  // expected-remark @below {{nan}}
  %root = mp.sqrt %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // expected-remark @below {{[0, 1.00004] nan norm(3)}}
  %1 = mp.attention %q, %q, %q mask %root {mp.masked_zero} : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<2x2xf32>) -> tensor<1x1x2x16xf32>
  return %0 : tensor<1x1x2x16xf32>
}

// -----

// Turning keeps the length.
func.func @rotary(%x: tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32> {
  %cos = mp.constant dense<[[0.6, 1.0], [0.8, 0.0]]> : tensor<2x2xf32>
  %sin = mp.constant dense<[[0.8, 0.0], [0.6, 1.0]]> : tensor<2x2xf32>
  // expected-remark @below {{[-14.1421, 14.1421]}}
  %0 = mp.rotary_embedding %x, %cos, %sin : (tensor<1x2x2x4xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<1x2x2x4xf32>
  %n = mp.rms_norm %x : (tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  // expected-remark @below {{norm(3) <= 2}}
  %1 = mp.rotary_embedding %n, %cos, %sin : (tensor<1x2x2x4xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<1x2x2x4xf32>
  return %0 : tensor<1x2x2x4xf32>
}

// -----

// Rows without a key are NaN, or 0 (ONNX Runtime), whatever masks them; a cap
// makes scores smaller.
func.func @no_keys(%q: tensor<1x1x2x16xf32> {mp.assume = {lo = 0.5 : f64, hi = 1.0 : f64}}, %keep: tensor<2x2xi1>) -> tensor<1x1x2x16xf32> {
  // expected-remark @below {{[0, 1.00004] nan}}
  %0 = mp.attention %q, %q, %q mask %keep : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<2x2xi1>) -> tensor<1x1x2x16xf32>
  %lowest = mp.constant dense<-3.40282347E+38> : tensor<2x2xf32>
  // expected-remark @below {{[0, 1.00004] norm}}
  %1 = mp.attention %q, %q, %q mask %lowest : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<2x2xf32>) -> tensor<1x1x2x16xf32>
  // expected-remark @below {{[0.499963, 1.00004]}}
  %2 = mp.attention %q, %q, %q : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) -> tensor<1x1x2x16xf32>
  // 2 tanh(x / 2) of x in [1, 4].
  // expected-remark @below {{#3: [0.924228, 1.92806]}}
  %3:4 = mp.attention %q, %q, %q {softcap = 2.0 : f64, scores_mode = 1 : i64} : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) -> (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x2xf32>)
  // The lowest number where the definition has -Inf.
  // expected-remark @below {{#3: [-3.40282e+38, 4.00001] -inf}}
  %4:4 = mp.attention %q, %q, %q {is_causal, scores_mode = 2 : i64} : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) -> (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x2xf32>)
  return %0 : tensor<1x1x2x16xf32>
}

// -----

// A constant mask that keeps a key of each row, unless a window hides that one as well.
#u = {lo = 0.5 : f64, hi = 1.0 : f64}
func.func @kept_keys(%q: tensor<1x1x2x16xf32> {mp.assume = #u}) -> tensor<1x1x2x16xf32> {
  %keep = mp.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1>
  // expected-remark @below {{[0.499963, 1.00004] norm}}
  %0 = mp.attention %q, %q, %q mask %keep : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<2x2xi1>) -> tensor<1x1x2x16xf32>
  // expected-remark @below {{nan}}
  %1 = mp.attention %q, %q, %q mask %keep {left_window = 0 : i64} : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<2x2xi1>) -> tensor<1x1x2x16xf32>
  %some = mp.constant dense<[[true, false], [false, false]]> : tensor<2x2xi1>
  // expected-remark @below {{nan}}
  %2 = mp.attention %q, %q, %q mask %some : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<2x2xi1>) -> tensor<1x1x2x16xf32>
  %add = mp.constant dense<[[0.0, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  // expected-remark @below {{nan}}
  %3 = mp.attention %q, %q, %q mask %add {left_window = 0 : i64} : (tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>, tensor<2x2xf32>) -> tensor<1x1x2x16xf32>
  return %0 : tensor<1x1x2x16xf32>
}
