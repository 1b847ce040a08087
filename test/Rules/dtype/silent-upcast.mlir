// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-silent-upcast --mp-emit-findings

// The file's own dtypes: a 32-bit weight next to a 16-bit activation.
func.func @as_is_f16(%x: tensor<4xf16>) -> tensor<4xf32> {
  // expected-note @below {{brings f32}}
  %scale = mp.constant dense<1.0> : tensor<4xf32>
  // expected-note @below {{is f16}}
  %y = mp.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  // expected-warning @below {{mixes f16 and f32 operands, so f32 spreads from here [MP103 certain]}}
  %z = mp.add %y, %scale : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

// After a policy: the narrow operand went through a cast of its promotion.
func.func @promoted_bf16(%x: tensor<4xbf16>, %scale: tensor<4xf64>) -> tensor<4xf64> {
  // expected-note @below {{is bf16}}
  %y = mp.exp %x : (tensor<4xbf16>) -> tensor<4xbf16>
  // expected-note @below {{brings f64}}
  %s = mp.exp %scale : (tensor<4xf64>) -> tensor<4xf64>
  %0 = mp.cast %y {origin = #mp.cast_origin<promotion>} : (tensor<4xbf16>) -> tensor<4xf64>
  // expected-warning @below {{mixes bf16 and f64 operands, so f64 spreads from here [MP103 certain]}}
  %z = mp.add %s, %0 : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %z : tensor<4xf64>
}

// -----

// The policy computes the wide operand in FP32 on purpose: a remark.
func.func @policy_meant_it(%x: tensor<4xf32>, %h: tensor<4xf16>) -> tensor<4xf32> {
  // expected-note @below {{brings f32 (the policy computes it so)}}
  %y = mp.exp %x {mp.category = "fp32"} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note @below {{is f16}}
  %g = mp.exp %h : (tensor<4xf16>) -> tensor<4xf16>
  %0 = mp.cast %g {origin = #mp.cast_origin<promotion>} : (tensor<4xf16>) -> tensor<4xf32>
  // expected-remark @below {{mixes f16 and f32 operands}}
  %z = mp.add %y, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

// Under autocast a stream of FP32 activations is by design, a weight is not.
module attributes {mp.precision = "autocast-fp16"} {
  func.func @autocast(%x: tensor<4xf32>, %h: tensor<4xf16>) {
    // expected-note @below {{brings f32}}
    %w = mp.constant dense<1.0> : tensor<4xf32>
    // expected-note @below {{brings f32}}
    %y = mp.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    // expected-note @below {{is f16}}
    %g = mp.neg %h : (tensor<4xf16>) -> tensor<4xf16>
    %0 = mp.cast %g {origin = #mp.cast_origin<promotion>} : (tensor<4xf16>) -> tensor<4xf32>
    // expected-remark @below {{mixes f16 and f32 operands}}
    %1 = mp.add %y, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // expected-warning @below {{mixes f16 and f32 operands}}
    %2 = mp.add %0, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

// One finding where the width starts, none where it only carries on.
func.func @carries_on(%x: tensor<4xf16>) -> tensor<4xf32> {
  // expected-note @below {{brings f32}}
  %scale = mp.constant dense<1.0> : tensor<4xf32>
  // expected-note @below {{is f16}}
  %y = mp.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  // expected-warning @below {{mixes f16 and f32 operands}}
  %z = mp.add %y, %scale : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf32>
  %w = mp.add %z, %y : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return %w : tensor<4xf32>
}

// -----

// Clean: one width only, in every dtype; integers do not count.
func.func @clean(%h: tensor<4xf16>, %b: tensor<4xbf16>, %f: tensor<4xf32>,
                 %e: tensor<4xf8E4M3FN>, %i: tensor<4xi64>) {
  %0 = mp.add %h, %h : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %1 = mp.add %b, %b : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  %2 = mp.add %f, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = mp.add %e, %e : (tensor<4xf8E4M3FN>, tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN>
  %4 = mp.add %i, %i : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

// Clean: an explicit cast of the model, and the policy's own for an FP32 op.
func.func @explicit(%h: tensor<4xf16>, %f: tensor<4xf32>) {
  %0 = mp.cast %h : (tensor<4xf16>) -> tensor<4xf32>
  %1 = mp.add %0, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = mp.cast %h {origin = #mp.cast_origin<policy>} : (tensor<4xf16>) -> tensor<4xf32>
  %3 = mp.add %2, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Clean: the sum is read by an FP32 op and narrowed at once, so nothing spreads.
func.func @mask(%scores: tensor<4xf16>, %mask: tensor<4xf32>) {
  %0 = mp.add %scores, %mask : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf32>
  %1 = mp.softmax %0 {axis = 0 : i64, mp.category = "fp32"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mp.cast %0 : (tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

// Beside a matrix product a widened sum costs next to nothing.
func.func @small_share(%x: tensor<64x64xf16>, %w: tensor<64x64xf16>) -> tensor<64x64xf32> {
  // expected-note @below {{brings f32}}
  %shift = mp.constant dense<1.0> : tensor<64xf32>
  // expected-note @below {{is f16}}
  %y = mp.matmul %x, %w : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  // expected-remark @below {{mixes f16 and f32 operands}}
  %z = mp.add %y, %shift : (tensor<64x64xf16>, tensor<64xf32>) -> tensor<64x64xf32>
  return %z : tensor<64x64xf32>
}

// -----

// The product that a widened scale widens is what 16 bits were chosen for; that
// it is another op that carries on does not matter.
func.func @product_behind(%x: tensor<64x64xbf16>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-note @below {{brings f32}}
  %scale = mp.constant dense<2.0> : tensor<64xf32>
  // expected-note @below {{is bf16}}
  %y = mp.neg %x : (tensor<64x64xbf16>) -> tensor<64x64xbf16>
  // expected-warning @below {{mixes bf16 and f32 operands}}
  %s = mp.mul %y, %scale : (tensor<64x64xbf16>, tensor<64xf32>) -> tensor<64x64xf32>
  %t = mp.neg %s : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %z = mp.matmul %t, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %z : tensor<64x64xf32>
}
