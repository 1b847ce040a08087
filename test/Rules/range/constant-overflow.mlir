// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-constant-overflow --mp-emit-findings

func.func @f16(%x: tensor<4xf16>) -> tensor<4xf16> {
  // expected-note @below {{1 of 4 values (25 %), the first at index 2, are past the largest f16 value, 65504; magnitudes from 1 to 65520}}
  %c = mp.constant dense<[1.0, -65519.9, 65520.0, 3.0]> : tensor<4xf32>
  %0 = mp.cast %c {origin = #mp.cast_origin<storage>} : (tensor<4xf32>) -> tensor<4xf16>
  // expected-error @below {{values of the constant become Inf in f16: results that use them are Inf or NaN [MP202 certain]}}
  // expected-note @below {{computes with it in f16}}
  %y = mp.mul %x, %0 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %y : tensor<4xf16>
}

// -----

// Through a view, into a divisor.
func.func @bf16(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  // expected-note @below {{its value 3.4e+38 is past the largest bf16 value, 3.38953e+38}}
  %c = mp.constant dense<3.4e38> : tensor<f32>
  %v = mp.identity %c : (tensor<f32>) -> tensor<f32>
  %0 = mp.cast %v {origin = #mp.cast_origin<policy>} : (tensor<f32>) -> tensor<bf16>
  // expected-error @below {{constant 3.4e+38 becomes Inf in bf16: every finite value divided by it is 0}}
  // expected-note @below {{computes with it in bf16}}
  %y = mp.div %x, %0 : (tensor<4xbf16>, tensor<bf16>) -> tensor<4xbf16>
  return %y : tensor<4xbf16>
}

// -----

// FP64 to FP32, and FP16 to E4M3, which has no Inf.
func.func @others(%x: tensor<4xf32>, %h: tensor<2xf8E4M3FN>) {
  // expected-note @below {{its value 1e+300}}
  %c = mp.constant dense<1.0e300> : tensor<f64>
  %0 = mp.cast %c : (tensor<f64>) -> tensor<f32>
  // expected-error @below {{constant 1e+300 becomes Inf in f32}}
  // expected-note @below {{computes with it in f32}}
  %y = mp.mul %x, %0 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-note @below {{1 of 2 values (50 %), the first at index 1, are past the largest f8E4M3FN value, 448}}
  %d = mp.constant dense<[464.0, 465.0]> : tensor<2xf16>
  %1 = mp.cast %d : (tensor<2xf16>) -> tensor<2xf8E4M3FN>
  // expected-error @below {{values of the constant become NaN in f8E4M3FN}}
  // expected-note @below {{computes with it in f8E4M3FN}}
  %z = mp.mul %h, %1 : (tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>) -> tensor<2xf8E4M3FN>
  return
}

// -----

// An additive mask.
func.func @mask(%s: tensor<4x4xf16>, %m: tensor<4x4xi1>) -> tensor<4x4xf16> {
  // expected-note @below {{its value -1e+09 is past}}
  %c = mp.constant dense<-1.0e9> : tensor<f32>
  %z = mp.constant dense<0.0> : tensor<f16>
  %0 = mp.cast %c {origin = #mp.cast_origin<storage>} : (tensor<f32>) -> tensor<f16>
  // expected-warning @below {{constant -1e+09 becomes -Inf in f16: as a mask it works until a whole row is masked, which makes that row's softmax NaN}}
  // expected-note @below {{puts it into the scores}}
  %w = mp.where %m, %0, %z : (tensor<4x4xi1>, tensor<f16>, tensor<f16>) -> tensor<4x4xf16>
  %t = mp.add %s, %w : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  %p = mp.softmax %t : (tensor<4x4xf16>) -> tensor<4x4xf16>
  return %p : tensor<4x4xf16>
}

// -----

// A logistic function of the sum is 0 at the constant and at -Inf.
func.func @sigmoid_scores(%s: tensor<2x2xf16>) -> tensor<2x2xf16> {
  // expected-note @below {{1 of 4 values (25 %), the first at index 1, are past the largest f16 value, 65504; magnitudes from 3.40282e+38 to 3.40282e+38}}
  %c = mp.constant dense<[[0.0, -3.40282e38], [0.0, 0.0]]> : tensor<2x2xf32>
  %0 = mp.cast %c {origin = #mp.cast_origin<storage>} : (tensor<2x2xf32>) -> tensor<2x2xf16>
  // expected-error @below {{values of the constant become Inf in f16: the functions that read results that use them are flat there and give the same [MP202 certain]}}
  // expected-note @below {{computes with it in f16}}
  %y = mp.add %s, %0 : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16>
  %g = mp.sigmoid %y : (tensor<2x2xf16>) -> tensor<2x2xf16>
  return %g : tensor<2x2xf16>
}

// -----

// (1 - mask) * -3.4e38, as BERT had it.
func.func @mask_product(%s: tensor<4x4xf16>, %m: tensor<4x4xf16>) -> tensor<4x4xf16> {
  // expected-note @below {{its value -3.4e+38 is past}}
  %c = mp.constant dense<-3.4e38> : tensor<f32>
  %0 = mp.cast %c {origin = #mp.cast_origin<storage>} : (tensor<f32>) -> tensor<f16>
  // expected-error @below {{constant -3.4e+38 becomes -Inf in f16: times a mask's 0 it is NaN, at every position that is not masked}}
  // expected-note @below {{multiplies the mask with it}}
  %w = mp.mul %m, %0 : (tensor<4x4xf16>, tensor<f16>) -> tensor<4x4xf16>
  %t = mp.add %s, %w : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  %p = mp.softmax %t : (tensor<4x4xf16>) -> tensor<4x4xf16>
  return %p : tensor<4x4xf16>
}

// -----

// A parameter that the op takes in a dtype of its own is stored all the same.
module attributes {mp.precision = "fp16", mp.low_type = f16} {
  func.func @stored(%x: tensor<2x2x4x4xf16>) -> tensor<2x2x4x4xf16> {
    %p = mp.constant dense<1.0> : tensor<2xf32>
    // expected-note @below {{2 of 2 values}}
    %v = mp.constant dense<2.0e9> : tensor<2xf32>
    // expected-error @below {{values of the constant become Inf in f16: their channels are normalised to 0, Inf or NaN}}
    // expected-note @below {{computes with it in f16}}
    %y = mp.batch_norm %x scale %p bias %p mean %p variance %v : (tensor<2x2x4x4xf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x4x4xf16>
    return %y : tensor<2x2x4x4xf16>
  }
}

// -----

// Clean: infinities of the file, values that fit, FP32 use, casts to integers,
// BF16 for what is too large for FP16, and a narrowed constant that nobody uses.
func.func @clean(%x: tensor<4xf16>, %w: tensor<4xf32>, %b: tensor<4xbf16>) {
  %inf = mp.constant dense<0xFF800000> : tensor<4xf32>
  %0 = mp.cast %inf : (tensor<4xf32>) -> tensor<4xf16>
  %1 = mp.add %x, %0 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %fits = mp.constant dense<65519.0> : tensor<4xf32>
  %2 = mp.cast %fits : (tensor<4xf32>) -> tensor<4xf16>
  %3 = mp.add %x, %2 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %large = mp.constant dense<1.0e9> : tensor<4xf32>
  %4 = mp.add %w, %large : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = mp.cast %large : (tensor<4xf32>) -> tensor<4xi32>
  %6 = mp.cast %large : (tensor<4xf32>) -> tensor<4xbf16>
  %7 = mp.add %b, %6 : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  %8 = mp.cast %large : (tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

// A variable that each iteration sets before anything reads it holds anything until then.
func.func @set_later(%n: tensor<i64>, %x: tensor<4xf16>) -> tensor<4xf16> {
  %garbage = mp.constant dense<1.77e27> : tensor<4xf32>
  %first = mp.cast %garbage {origin = #mp.cast_origin<storage>} : (tensor<4xf32>) -> tensor<4xf16>
  %0 = mp.loop count %n iter(%first) : (tensor<i64>, tensor<4xf16>) -> tensor<4xf16> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf16>):
    %1 = mp.tanh %x : (tensor<4xf16>) -> tensor<4xf16>
    mp.yield %go, %1 : tensor<i1>, tensor<4xf16>
  }
  return %0 : tensor<4xf16>
}

// -----

func.func @read_first(%n: tensor<i64>, %x: tensor<4xf16>) -> tensor<4xf16> {
  // expected-note @below {{4 of 4 values (100 %), the first at index 0, are past the largest f16 value, 65504}}
  %large = mp.constant dense<1.77e27> : tensor<4xf32>
  %first = mp.cast %large {origin = #mp.cast_origin<storage>} : (tensor<4xf32>) -> tensor<4xf16>
  // expected-error @below {{values of the constant become Inf in f16: results that use them are Inf or NaN}}
  // expected-note @below {{computes with it in f16}}
  %0 = mp.loop count %n iter(%first) : (tensor<i64>, tensor<4xf16>) -> tensor<4xf16> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf16>):
    %1 = mp.mul %x, %v : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
    mp.yield %go, %1 : tensor<i1>, tensor<4xf16>
  }
  return %0 : tensor<4xf16>
}

// -----

// A branch yields what overflows.
func.func @yielded(%c: tensor<i1>) -> tensor<f16> {
  // expected-note @below {{its value 70000 is past the largest f16 value, 65504}}
  %k = mp.constant dense<70000.0> : tensor<f32>
  %y = mp.if %c : (tensor<i1>) -> tensor<f16> {
    %0 = mp.cast %k {origin = #mp.cast_origin<storage>} : (tensor<f32>) -> tensor<f16>
    // expected-error @below {{constant 70000 becomes Inf in f16: results that use it are Inf or NaN [MP202 certain]}}
    // expected-note @below {{computes with it in f16}}
    mp.yield %0 : tensor<f16>
  } else {
    %1 = mp.constant dense<1.0> : tensor<f16>
    mp.yield %1 : tensor<f16>
  }
  return %y : tensor<f16>
}
