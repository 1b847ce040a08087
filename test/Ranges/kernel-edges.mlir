// RUN: mpopt-opt %s --mp-print-ranges -split-input-file -verify-diagnostics=only-expected

// What kernels do where real arithmetic does not: each was found by running one.

func.func @clip(%x: tensor<4xf32> {mp.assume = {lo = 1.0 : f64, hi = 0x7FF0000000000000 : f64, mean = 2.0 : f64, std = 1.0 : f64}}) {
  %two = mp.constant dense<2.0> : tensor<f32>
  // An end that is not given may be the largest number: Inf becomes that.
  // expected-remark @below {{[2, inf] +inf}}
  %0 = mp.clip %x min %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

func.func @clip_infinite(%x: tensor<4xf16> {mp.assume = {lo = 1.0 : f64, hi = 3.0 : f64, mean = 2.0 : f64, std = 1.0 : f64}}) {
  %zero = mp.constant dense<0.0> : tensor<f16>
  %minf = mp.constant dense<0xFC00> : tensor<f16>
  // expected-remark @below {{none -inf}}
  %0 = mp.mul %x, %minf : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // expected-remark @below {{[-3.40282e+38, -3.40282e+38] -inf}}
  %1 = mp.clip %0 max %zero : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // expected-remark @below {{[0, 0]}}
  %2 = mp.clip %0 min %zero : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  return
}

// -----

// Saturated, an infinity is the largest number, whatever else there is.
func.func @saturating_cast(%x: tensor<4xf32> {mp.assume = {lo = -1.0 : f64, hi = 0x7FF0000000000000 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
  %minf = mp.constant dense<0xFF800000> : tensor<4xf32>
  // expected-remark @below {{[-448, -448]}}
  %0 = mp.cast %minf {saturate} : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  // expected-remark @below {{, 448]}}
  %1 = mp.cast %x {saturate} : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  return
}

// So does a format that has neither Inf nor NaN, without being told to.
func.func @saturating_format() {
  %large = mp.constant dense<[100.0, 0.5]> : tensor<2xf32>
  %0 = mp.cast %large : (tensor<2xf32>) -> tensor<2xf4E2M1FN>
  // expected-remark @below {{{2} [6, 6] [0.5, 0.5]}}
  %1 = mp.cast %0 : (tensor<2xf4E2M1FN>) -> tensor<2xf32>
  %minf = mp.constant dense<0xFF800000> : tensor<2xf32>
  %2 = mp.cast %minf : (tensor<2xf32>) -> tensor<2xf4E2M1FN>
  // expected-remark @below {{[-6, -6]}}
  %3 = mp.cast %2 : (tensor<2xf4E2M1FN>) -> tensor<2xf32>
  %nan = mp.constant dense<0x7FC00000> : tensor<2xf32>
  %4 = mp.cast %nan : (tensor<2xf32>) -> tensor<2xf4E2M1FN>
  // expected-remark @below {{[-6, 6]}}
  %5 = mp.cast %4 : (tensor<2xf4E2M1FN>) -> tensor<2xf32>
  return
}

// -----

// A quotient and a rational approximation may pass 1 by their error.
module attributes {mp.target = "ort-cpu"} {
  func.func @saturated(%x: tensor<4xf32> {mp.assume = {lo = -1.0e+10 : f64, hi = 1.0e+10 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
    %most = mp.constant dense<1.0> : tensor<f32>
    // expected-remark @below {{[-1, 1]}}
    %0 = mp.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
    // expected-remark @below {{[0, 1] integral}}
    %1 = mp.greater %0, %most : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
    // expected-remark @below {{[-1, 1]}}
    %2 = mp.softsign %x : (tensor<4xf32>) -> tensor<4xf32>
    // expected-remark @below {{[0, 1] integral}}
    %3 = mp.greater %2, %most : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
    return
  }
}

// -----

// Other kernels' tanh keeps to [-1, 1].
func.func @tanh(%x: tensor<4xf32> {mp.assume = {lo = -1.0e+10 : f64, hi = 1.0e+10 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
  %most = mp.constant dense<1.0> : tensor<f32>
  %0 = mp.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{[0, 0] integral}}
  %1 = mp.greater %0, %most : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  return
}

func.func @rows(%x: tensor<2x4x8xf32> {mp.assume = {lo = 0xFFF0000000000000 : f64, hi = 2.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %tiny: tensor<2x4x8xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0e-45 : f64, mean = 0.0 : f64, std = 1.0e-46 : f64}}) {
  // The window's running sum may have lost everything but the error.
  // expected-remark @below {{[-inf, inf] nan +inf -inf}}
  %0 = mp.lrn %x {size = 3} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  // Without an epsilon, tiny numbers have no variance.
  // expected-remark @below {{nan +inf -inf}}
  %1 = mp.mean_variance_norm %tiny {axes = array<i64: 2>} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

func.func @interpolation(%x: tensor<1x1x4x4xf32> {mp.assume = {lo = 3.4e+38 : f64, hi = 3.4e+38 : f64, mean = 3.4e+38 : f64, std = 0.0 : f64}}, %grid: tensor<1x2x2x2xf32>) {
  // Weights of both signs: sums on the way are larger than the result.
  // expected-remark @below {{nan +inf -inf}}
  %0 = mp.grid_sample %x, %grid {mode = "cubic", padding_mode = "border"} : (tensor<1x1x4x4xf32>, tensor<1x2x2x2xf32>) -> tensor<1x1x2x2xf32>
  return
}

func.func @wide(%x: tensor<4xf32> {mp.assume = {lo = -3.0e+38 : f64, hi = 3.0e+38 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
  // The width of the range overflows.
  // expected-remark @+3 {{#0: [0, 255] integral}}
  // expected-remark @+2 {{#1: [0, 2.35294e+36] +inf}}
  // expected-remark @below {{#2: [0, 255] integral}}
  %0, %1, %2 = mp.dynamic_quantize %x : (tensor<4xf32>) -> (tensor<4xui8>, tensor<f32>, tensor<ui8>)
  return
}

func.func @dropout(%x: tensor<4xbf16> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.1 : f64}}) {
  // The ratio is stored as 0.8984375 or, after the op's own rounding, 0.9.
  // expected-remark @below {{[0, 10]}}
  %0 = mp.dropout %x {training, ratio = 0.9 : f64} : (tensor<4xbf16>) -> tensor<4xbf16>
  // 0.1 as 0.10009765625
  // expected-remark @below {{[0, 1.11123]}}
  %1 = mp.dropout %x {training, ratio = 0.1 : f64} : (tensor<4xbf16>) -> tensor<4xbf16>
  return
}

func.func @regions(%x: tensor<1x1x4x4xf16> {mp.assume = {lo = 1.0 : f64, hi = 2.0 : f64, mean = 1.5 : f64, std = 0.1 : f64}}) {
  %rois = mp.constant dense<[[0.0, 0.0, 0.0, 2.0, 2.0]]> : tensor<1x5xf16>
  %mask = mp.constant dense<0xFC00> : tensor<f16>
  // expected-remark @below {{none -inf}}
  %masked = mp.mul %x, %mask : (tensor<1x1x4x4xf16>, tensor<f16>) -> tensor<1x1x4x4xf16>
  // No element is larger than -Inf: the number that the kernel began with.
  // expected-remark @below {{[-3.40282e+38, 0] -inf}}
  %0 = mp.max_roi_pool %masked, %rois {pooled_shape = array<i64: 2, 2>} : (tensor<1x1x4x4xf16>, tensor<1x5xf16>) -> tensor<1x1x2x2xf16>
  return
}

func.func @turned(%x: tensor<1x1x1x2xf32> {mp.assume = {lo = -1.0e-45 : f64, hi = 1.0e-45 : f64, mean = 0.0 : f64, std = 0.0 : f64}}) {
  %cos = mp.constant dense<0.7> : tensor<9x1xf32>
  // The products underflow up to the next subnormal number.
  // expected-remark @below {{[-7.56701e-45, 7.56701e-45]}}
  %0 = mp.rotary_embedding %x, %cos, %cos : (tensor<1x1x1x2xf32>, tensor<9x1xf32>, tensor<9x1xf32>) -> tensor<1x1x1x2xf32>
  return
}

func.func @losses(%x: tensor<2x3xf32> {mp.assume = {lo = 0xFFF0000000000000 : f64, hi = 1.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %p: tensor<2x3xf32> {mp.assume = {lo = 0.0 : f64, hi = 0.0 : f64, mean = 0.0 : f64, std = 0.0 : f64}}, %t: tensor<2xi64>) {
  // All of a row may be -Inf.
  // expected-remark @below {{[0, inf] nan +inf}}
  %0 = mp.cross_entropy %x, %t {reduction = "none"} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2xf32>
  // Smoothing counts all classes' weights, the mean divides by the targets'
  // own: up to 0.9 + 0.1 * 4 times log 3.
  %w = mp.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  // expected-remark @below {{[0, 1.4282}}
  %1 = mp.cross_entropy %p, %t weight %w {label_smoothing = 0.1 : f64} : (tensor<2x3xf32>, tensor<2xi64>, tensor<3xf32>) -> tensor<f32>
  return
}

func.func @wider_steps(%x: tensor<2x3xf32> {mp.assume = {lo = -1.0e-45 : f64, hi = 1.0e-45 : f64, mean = 0.0 : f64, std = 0.0 : f64}}) {
  // Squares do not underflow in a kernel that computes in double.
  // expected-remark @below {{[0, 4.85424e-45]}}
  %0 = mp.pdist %x {p = 2.0 : f64} : (tensor<2x3xf32>) -> tensor<1xf32>
  return
}

// -----

// An approximated sigmoid is off by 2.5e-7, which x multiplies.
module attributes {mp.target = "ort-cpu"} {
  func.func @silu(%x: tensor<4xf32> {mp.assume = {lo = -50.0 : f64, hi = -40.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}) {
    // expected-remark @below {{[-1.25e-05, 0]}}
    %0 = mp.silu %x : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}
