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
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated) [{{[0-9.]+}}, {{[0-9.]+}}] mean 64 std 32
  %d = mp.sub %sum, %twice : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  %x3 = mp.mul %x, %minus : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  %back = mp.matmul %x3, %t : (tensor<16x8xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
  %half = mp.add %back, %x2 : (tensor<16x32xf32>, tensor<16x1xf32>) -> tensor<16x32xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated) [{{[0-9.]+}}, {{[0-9.]+}}] mean 64 std 32
  %d2 = mp.add %half, %e2 : (tensor<16x32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
  // Once the product is no distance.
  // CHECK: [[#@LINE+1]]:{{.*}} std 25
  %no = mp.sub %sum, %dot : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  // The factor may be that of the product itself, the other terms its bias.
  %fused = mp.matmul %x, %e {trans_b = true, alpha = -2.0 : f64} : (tensor<16x8xf32>, tensor<32x8xf32>) -> tensor<16x32xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated) [{{[0-9.]+}}, {{[0-9.]+}}] mean 64 std 32
  %d3 = mp.add %sum, %fused : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated) [{{[0-9.]+}}, {{[0-9.]+}}] mean 64 std 32
  %d4 = mp.gemm %x, %e bias %sum {trans_b = true, alpha = -2.0 : f64} : (tensor<16x8xf32>, tensor<32x8xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  %part = mp.gemm %x, %t bias %e2 {alpha = -2.0 : f64} : (tensor<16x8xf32>, tensor<8x32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}likely (propagated) [{{[0-9.]+}}, {{[0-9.]+}}] mean 64 std 32
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

// Heads of a quarter of a row: as far apart as the elements of a head are.
func.func @heads(%q: tensor<16x32xf32> {mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 2.0 : f64}}, %k: tensor<16x32xf32> {mp.assume = {lo = -8.0 : f64, hi = 8.0 : f64, mean = 0.0 : f64, std = 2.0 : f64}}) {
  %two = mp.constant dense<2.0> : tensor<f32>
  %shape = mp.constant dense<[16, 4, 8]> : tensor<3xi64>
  %q3 = mp.reshape %q, %shape : (tensor<16x32xf32>, tensor<3xi64>) -> tensor<16x4x8xf32>
  %k3 = mp.reshape %k, %shape : (tensor<16x32xf32>, tensor<3xi64>) -> tensor<16x4x8xf32>
  %qh = mp.transpose %q3 {perm = array<i64: 1, 0, 2>} : (tensor<16x4x8xf32>) -> tensor<4x16x8xf32>
  %kh = mp.transpose %k3 {perm = array<i64: 1, 0, 2>} : (tensor<16x4x8xf32>) -> tensor<4x16x8xf32>
  %kt = mp.transpose %kh {perm = array<i64: 0, 2, 1>} : (tensor<4x16x8xf32>) -> tensor<4x8x16xf32>
  %qq = mp.mul %qh, %qh : (tensor<4x16x8xf32>, tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
  %kk = mp.mul %kh, %kh : (tensor<4x16x8xf32>, tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
  %q2 = mp.reduce_sum %qq {axes = array<i64: 2>, keep_dims = true} : (tensor<4x16x8xf32>) -> tensor<4x16x1xf32>
  %k1 = mp.reduce_sum %kk {axes = array<i64: 2>, keep_dims = true} : (tensor<4x16x8xf32>) -> tensor<4x16x1xf32>
  %k2 = mp.transpose %k1 {perm = array<i64: 0, 2, 1>} : (tensor<4x16x1xf32>) -> tensor<4x1x16xf32>
  %sum = mp.add %q2, %k2 : (tensor<4x16x1xf32>, tensor<4x1x16xf32>) -> tensor<4x16x16xf32>
  %twice = mp.mul %qh, %two : (tensor<4x16x8xf32>, tensor<f32>) -> tensor<4x16x8xf32>
  %dot = mp.matmul %twice, %kt : (tensor<4x16x8xf32>, tensor<4x8x16xf32>) -> tensor<4x16x16xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}mean 64 std 32
  %d = mp.sub %sum, %dot : (tensor<4x16x16xf32>, tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  return
}
