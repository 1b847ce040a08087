// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-low-precision-accumulation --mp-emit-findings

module attributes {mp.target = "strict16"} {
  func.func @fires_f16(%x: tensor<8x2048xf16>, %w: tensor<2048x4xf16>, %i: tensor<1x256x8x8xf16>, %f: tensor<4x256x3x3xf16>) {
    // expected-warning @below {{adds 2048 terms in f16 on strict16, more than 1024: added in sequence, the rounding errors amount to up to 50 % of terms of one sign [MP107 certain]}}
    %0 = mp.matmul %x, %w : (tensor<8x2048xf16>, tensor<2048x4xf16>) -> tensor<8x4xf16>
    // 256 3 3.
    // expected-warning @below {{adds 2304 terms in f16}}
    %1 = mp.conv %i, %f : (tensor<1x256x8x8xf16>, tensor<4x256x3x3xf16>) -> tensor<1x4x6x6xf16>
    // expected-warning @below {{adds 2048 terms in f16}}
    %2 = mp.einsum %x, %w {equation = "bk,kn->bn"} : (tensor<8x2048xf16>, tensor<2048x4xf16>) -> tensor<8x4xf16>
    // The row sum inside.
    // expected-warning @below {{adds 2048 terms in f16}}
    %3 = mp.softmax %x : (tensor<8x2048xf16>) -> tensor<8x2048xf16>
    return
  }
  func.func @fires_bf16(%x: tensor<8x256xbf16>, %w: tensor<4x256xbf16>) {
    // expected-warning @below {{adds 256 terms in bf16 on strict16, more than 128}}
    %0 = mp.linear %x, %w : (tensor<8x256xbf16>, tensor<4x256xbf16>) -> tensor<8x4xbf16>
    // expected-warning @below {{adds 256 terms in bf16}}
    %1 = mp.gemm %x, %w {trans_b = true} : (tensor<8x256xbf16>, tensor<4x256xbf16>) -> tensor<8x4xbf16>
    return
  }

  // The target has no sums in FP32, which exporters state by default.
  func.func @stated(%n: tensor<8x4096xf16>) {
    // expected-warning @below {{adds 4096 terms in f16}}
    %0 = mp.rms_norm %n {stash_type = f32} : (tensor<8x4096xf16>) -> tensor<8x4096xf16>
    return
  }

  // Short enough; an open length; FP32; sums that the model writes (MP304).
  func.func @clean(%x: tensor<8x1024xf16>, %w: tensor<1024x4xf16>, %b: tensor<8x128xbf16>, %v: tensor<4x128xbf16>, %u: tensor<8x?xf16>, %y: tensor<?x4xf16>, %s: tensor<8x4096xf32>, %t: tensor<4096x4xf32>, %n: tensor<8x4096xf16>) {
    %0 = mp.matmul %x, %w : (tensor<8x1024xf16>, tensor<1024x4xf16>) -> tensor<8x4xf16>
    %1 = mp.linear %b, %v : (tensor<8x128xbf16>, tensor<4x128xbf16>) -> tensor<8x4xbf16>
    %2 = mp.matmul %u, %y : (tensor<8x?xf16>, tensor<?x4xf16>) -> tensor<8x4xf16>
    %3 = mp.matmul %s, %t : (tensor<8x4096xf32>, tensor<4096x4xf32>) -> tensor<8x4xf32>
    %4 = mp.reduce_sum %n {axes = array<i64: 1>} : (tensor<8x4096xf16>) -> tensor<8xf16>
    return
  }
}

// -----

// Transposed operands: the sum runs over the first axis. A filter of stride 2
// meets a quarter of its taps at each place.
module attributes {mp.target = "strict16"} {
  func.func @lengths(%x: tensor<2048x8xf16>, %w: tensor<2048x4xf16>, %i: tensor<1x512x4x4xf16>, %f: tensor<512x4x2x2xf16>) {
    // expected-warning @below {{adds 2048 terms}}
    %0 = mp.matmul %x, %w {trans_a = true} : (tensor<2048x8xf16>, tensor<2048x4xf16>) -> tensor<8x4xf16>
    // expected-warning @below {{adds 2048 terms}}
    %1 = mp.conv_transpose %i, %f : (tensor<1x512x4x4xf16>, tensor<512x4x2x2xf16>) -> tensor<1x4x5x5xf16>
    %2 = mp.conv_transpose %i, %f {strides = array<i64: 2, 2>} : (tensor<1x512x4x4xf16>, tensor<512x4x2x2xf16>) -> tensor<1x4x8x8xf16>
    return
  }
}

// -----

// The limit is a setting.
module attributes {mp.target = "strict16", mp.thresholds = {"accumulation-length" = 4096.0 : f64}} {
  func.func @set(%x: tensor<8x2048xf16>, %w: tensor<2048x4xf16>) {
    %0 = mp.matmul %x, %w : (tensor<8x2048xf16>, tensor<2048x4xf16>) -> tensor<8x4xf16>
    return
  }
}

// -----

// The other targets add in FP32.
module attributes {mp.target = "gpu-tensorcore"} {
  func.func @gpu(%x: tensor<8x65536xf16>, %w: tensor<65536x4xf16>, %b: tensor<8x65536xbf16>, %v: tensor<65536x4xbf16>) {
    %0 = mp.matmul %x, %w : (tensor<8x65536xf16>, tensor<65536x4xf16>) -> tensor<8x4xf16>
    %1 = mp.matmul %b, %v : (tensor<8x65536xbf16>, tensor<65536x4xbf16>) -> tensor<8x4xbf16>
    return
  }
}

// -----

module attributes {mp.target = "ort-cpu"} {
  func.func @ort(%x: tensor<8x65536xf16>, %w: tensor<65536x4xf16>) {
    %0 = mp.matmul %x, %w : (tensor<8x65536xf16>, tensor<65536x4xf16>) -> tensor<8x4xf16>
    return
  }
}
