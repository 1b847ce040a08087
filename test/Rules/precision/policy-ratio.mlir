// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-policy-ratio --mp-emit-findings

func.func @clean_f32(%logits: tensor<4x16x64xf32>, %chosen: tensor<4x16x1xi64>, %old: tensor<4x16x1xf32>)
    -> tensor<4x16x1xf32> {
  %0 = mp.log_softmax %logits {axis = -1 : i64} : (tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %1 = mp.gather_elements %0, %chosen {axis = -1 : i64} : (tensor<4x16x64xf32>, tensor<4x16x1xi64>) -> tensor<4x16x1xf32>
  %2 = mp.sub %1, %old : (tensor<4x16x1xf32>, tensor<4x16x1xf32>) -> tensor<4x16x1xf32>
  %3 = mp.exp %2 : (tensor<4x16x1xf32>) -> tensor<4x16x1xf32>
  return %3 : tensor<4x16x1xf32>
}

// -----

func.func @in_bf16(%logits: tensor<4x16x64xbf16>, %chosen: tensor<4x16x1xi64>, %old: tensor<4x16x1xbf16>)
    -> tensor<4x16x1xbf16> {
  %0 = mp.log_softmax %logits {axis = -1 : i64} : (tensor<4x16x64xbf16>) -> tensor<4x16x64xbf16>
  // expected-note@below {{are the log-probabilities}}
  %1 = mp.gather_elements %0, %chosen {axis = -1 : i64} : (tensor<4x16x64xbf16>, tensor<4x16x1xi64>) -> tensor<4x16x1xbf16>
  %2 = mp.sub %1, %old : (tensor<4x16x1xbf16>, tensor<4x16x1xbf16>) -> tensor<4x16x1xbf16>
  // expected-warning@below {{log-probabilities in bf16 are}}
  %3 = mp.exp %2 : (tensor<4x16x1xbf16>) -> tensor<4x16x1xbf16>
  return %3 : tensor<4x16x1xbf16>
}

// -----

// Logits that are far apart are as far off in FP16 as usual ones are in BF16.
func.func @in_f16(%logits: tensor<4x16x64xf16> {mp.assume = {lo = -60.0 : f64, hi = 60.0 : f64, mean = 0.0 : f64, std = 10.0 : f64}}, %chosen: tensor<4x16x1xi64>, %old: tensor<4x16x1xf16>)
    -> tensor<4x16x1xf16> {
  %0 = mp.log_softmax %logits {axis = -1 : i64} : (tensor<4x16x64xf16>) -> tensor<4x16x64xf16>
  // expected-note@below {{are the log-probabilities}}
  %1 = mp.gather_elements %0, %chosen {axis = -1 : i64} : (tensor<4x16x64xf16>, tensor<4x16x1xi64>) -> tensor<4x16x1xf16>
  %2 = mp.sub %1, %old : (tensor<4x16x1xf16>, tensor<4x16x1xf16>) -> tensor<4x16x1xf16>
  // expected-warning@below {{log-probabilities in f16 are}}
  %3 = mp.exp %2 : (tensor<4x16x1xf16>) -> tensor<4x16x1xf16>
  return %3 : tensor<4x16x1xf16>
}

// -----

// No log-probabilities: a distance.
func.func @clean_f16(%x: tensor<4x16xf16>, %y: tensor<4x16xf16>) -> tensor<4x16xf16> {
  %0 = mp.sub %x, %y : (tensor<4x16xf16>, tensor<4x16xf16>) -> tensor<4x16xf16>
  %1 = mp.exp %0 : (tensor<4x16xf16>) -> tensor<4x16xf16>
  return %1 : tensor<4x16xf16>
}

// -----

// Both are the model's: what rounds them alike is in both.
func.func @clean_bf16(%x: tensor<4x64xbf16>, %y: tensor<4x64xbf16>) -> tensor<4x64xbf16> {
  %0 = mp.log_softmax %x {axis = -1 : i64} : (tensor<4x64xbf16>) -> tensor<4x64xbf16>
  %1 = mp.log_softmax %y {axis = -1 : i64} : (tensor<4x64xbf16>) -> tensor<4x64xbf16>
  %2 = mp.sub %0, %1 : (tensor<4x64xbf16>, tensor<4x64xbf16>) -> tensor<4x64xbf16>
  %3 = mp.exp %2 : (tensor<4x64xbf16>) -> tensor<4x64xbf16>
  return %3 : tensor<4x64xbf16>
}
