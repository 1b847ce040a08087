// RUN: mpopt-opt %s --mp-print-ranges="likely" 2>&1 | FileCheck %s

// Squared distances by expanded squares are as far apart as rows are, in each
// form; other differences of the same terms have another deviation.

func.func @codebook(%x: tensor<16x8xf32> {mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 2.0 : f64}}, %e: tensor<32x8xf32> {mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 2.0 : f64}}) {
  %two = mp.constant dense<2.0> : tensor<f32>
  %minus = mp.constant dense<-2.0> : tensor<f32>
  %xx = mp.mul %x, %x : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  %ee = mp.mul %e, %e : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  %x2 = mp.reduce_sum %xx {axes = array<i64: 1>, keep_dims = true} : (tensor<16x8xf32>) -> tensor<16x1xf32>
  %e2 = mp.reduce_sum %ee {axes = array<i64: 1>} : (tensor<32x8xf32>) -> tensor<32xf32>
  %t = mp.transpose %e {perm = array<i64: 1, 0>} : (tensor<32x8xf32>) -> tensor<8x32xf32>
  %dot = mp.matmul %x, %t : (tensor<16x8xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
  %twice = mp.mul %dot, %two : (tensor<16x32xf32>, tensor<f32>) -> tensor<16x32xf32>
  %sum = mp.add %x2, %e2 : (tensor<16x1xf32>, tensor<32xf32>) -> tensor<16x32xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated) [{{[0-9.]+}}, {{[0-9.]+}}] mean 65{{.*}} std 32
  %d = mp.sub %sum, %twice : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  %x3 = mp.mul %x, %minus : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  %back = mp.matmul %x3, %t : (tensor<16x8xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
  %half = mp.add %back, %x2 : (tensor<16x32xf32>, tensor<16x1xf32>) -> tensor<16x32xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated) [{{[0-9.]+}}, {{[0-9.]+}}] mean 65{{.*}} std 32
  %d2 = mp.add %half, %e2 : (tensor<16x32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
  // Once the product is no distance.
  // CHECK: [[#@LINE+1]]:{{.*}} std 25
  %no = mp.sub %sum, %dot : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  // The factor may be that of the product itself, the other terms its bias.
  %fused = mp.matmul %x, %e {trans_b = true, alpha = -2.0 : f64} : (tensor<16x8xf32>, tensor<32x8xf32>) -> tensor<16x32xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated) [{{[0-9.]+}}, {{[0-9.]+}}] mean 65{{.*}} std 32
  %d3 = mp.add %sum, %fused : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated) [{{[0-9.]+}}, {{[0-9.]+}}] mean 65{{.*}} std 32
  %d4 = mp.gemm %x, %e bias %sum {trans_b = true, alpha = -2.0 : f64} : (tensor<16x8xf32>, tensor<32x8xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  %part = mp.gemm %x, %t bias %e2 {alpha = -2.0 : f64} : (tensor<16x8xf32>, tensor<8x32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated) [{{[0-9.]+}}, {{[0-9.]+}}] mean 65{{.*}} std 32
  %d5 = mp.add %x2, %part : (tensor<16x1xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  // Another factor, of the product or of the bias, gives no distance.
  // CHECK: [[#@LINE+1]]:{{.*}} std 25
  %once = mp.gemm %x, %t bias %sum {alpha = -1.0 : f64} : (tensor<16x8xf32>, tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  %four = mp.matmul %x, %t {alpha = 2.0 : f64} : (tensor<16x8xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
  %four2 = mp.mul %four, %two : (tensor<16x32xf32>, tensor<f32>) -> tensor<16x32xf32>
  // CHECK: [[#@LINE+1]]:{{.*}} std 5
  %no4 = mp.sub %sum, %four2 : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  // CHECK: [[#@LINE+1]]:{{.*}} std 5
  %no2 = mp.gemm %x, %t bias %sum {alpha = -2.0 : f64, beta = 2.0 : f64} : (tensor<16x8xf32>, tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}
