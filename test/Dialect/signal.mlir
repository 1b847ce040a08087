// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @dft
func.func @dft(%x: tensor<?x16x1xf32>, %s: tensor<?x9x2xf32>, %axis: tensor<i64>) {
  // CHECK: mp.dft {{.*}} -> tensor<?x16x2xf32>
  %0 = mp.dft %x : (tensor<?x16x1xf32>) -> tensor<*xf32>
  // CHECK: mp.dft {{.*}} {axis = 1 : i64, onesided} {{.*}} -> tensor<?x9x2xf32>
  %1 = mp.dft %x {axis = 1 : i64, onesided} : (tensor<?x16x1xf32>) -> tensor<*xf32>
  %n = mp.constant dense<10> : tensor<i64>
  // CHECK: mp.dft {{.*}} length {{.*}} -> tensor<?x6x2xf32>
  %2 = mp.dft %x length %n {onesided} : (tensor<?x16x1xf32>, tensor<i64>) -> tensor<*xf32>
  // CHECK: mp.dft {{.*}} {inverse, onesided} {{.*}} -> tensor<?x16x1xf32>
  %3 = mp.dft %s {inverse, onesided} : (tensor<?x9x2xf32>) -> tensor<*xf32>
  // CHECK: mp.dft {{.*}} axis {{.*}} {onesided} {{.*}} -> tensor<?x?x2xf32>
  %4 = mp.dft %x axis %axis {onesided} : (tensor<?x16x1xf32>, tensor<i64>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: @stft
func.func @stft(%x: tensor<2x400x1xf32>, %w: tensor<64xf32>, %open: tensor<i64>) {
  %step = mp.constant dense<16> : tensor<i64>
  // CHECK: mp.stft {{.*}} window {{.*}} -> tensor<2x22x33x2xf32>
  %0 = mp.stft %x, %step window %w : (tensor<2x400x1xf32>, tensor<i64>, tensor<64xf32>) -> tensor<*xf32>
  %n = mp.constant dense<100> : tensor<i64>
  // CHECK: mp.stft {{.*}} length {{.*}} {onesided = false} {{.*}} -> tensor<2x19x100x2xf32>
  %1 = mp.stft %x, %step length %n {onesided = false} : (tensor<2x400x1xf32>, tensor<i64>, tensor<i64>) -> tensor<*xf32>
  // CHECK: mp.stft {{.*}} -> tensor<2x?x33x2xf32>
  %2 = mp.stft %x, %open window %w : (tensor<2x400x1xf32>, tensor<i64>, tensor<64xf32>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: @tables
func.func @tables(%open: tensor<i64>) {
  %bins = mp.constant dense<8> : tensor<i64>
  %length = mp.constant dense<16> : tensor<i64>
  %rate = mp.constant dense<8192> : tensor<i64>
  %low = mp.constant dense<0.0> : tensor<f32>
  %high = mp.constant dense<4096.0> : tensor<f32>
  // CHECK: mp.mel_weight_matrix {{.*}} -> tensor<9x8xf16>
  %0 = mp.mel_weight_matrix %bins, %length, %rate, %low, %high : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<*xf16>
  // CHECK: mp.window {{.*}} {kind = "hann"} {{.*}} -> tensor<16xf32>
  %1 = mp.window %length {kind = "hann"} : (tensor<i64>) -> tensor<*xf32>
  // CHECK: mp.window {{.*}} {kind = "blackman", periodic = false} {{.*}} -> tensor<?xf16>
  %2 = mp.window %open {kind = "blackman", periodic = false} : (tensor<i64>) -> tensor<*xf16>
  return
}
