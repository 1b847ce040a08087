// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @classes
func.func @classes(%x: tensor<8x10x4xf16>, %t: tensor<8x4xi64>, %w: tensor<10xf16>, %i: tensor<i64>, %d: tensor<8x10x4xf16>, %flat: tensor<8x10xf16>, %labels: tensor<8xi64>) {
  // CHECK: mp.softmax_cross_entropy {{.*}} -> (tensor<f16>, tensor<8x10x4xf16>)
  %0:2 = mp.softmax_cross_entropy %x, %t : (tensor<8x10x4xf16>, tensor<8x4xi64>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.softmax_cross_entropy {{.*}} weight {{.*}} ignore {{.*}} -> (tensor<8x4xf32>, tensor<8x10x4xf32>)
  %1:2 = mp.softmax_cross_entropy %x, %t weight %w ignore %i {reduction = "none", output_type = f32}
    : (tensor<8x10x4xf16>, tensor<8x4xi64>, tensor<10xf16>, tensor<i64>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.cross_entropy {{.*}} -> tensor<8x4xf16>
  %2 = mp.cross_entropy %x, %d {reduction = "none"} : (tensor<8x10x4xf16>, tensor<8x10x4xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.nll_loss {{.*}} -> tensor<8x4xf16>
  %3 = mp.nll_loss %x, %t weight %w {reduction = "none", ignore_index = -1 : i64} : (tensor<8x10x4xf16>, tensor<8x4xi64>, tensor<10xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.multi_margin_loss {{.*}} -> tensor<f16>
  %4 = mp.multi_margin_loss %flat, %labels : (tensor<8x10xf16>, tensor<8xi64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.multilabel_margin_loss {{.*}} -> tensor<8xf16>
  %m = mp.constant dense<0> : tensor<8x10xi64>
  %5 = mp.multilabel_margin_loss %flat, %m {reduction = "none"} : (tensor<8x10xf16>, tensor<8x10xi64>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @elements
func.func @elements(%x: tensor<8x1xf32>, %t: tensor<4xf32>) {
  // CHECK: mp.mse_loss {{.*}} -> tensor<8x4xf32>
  %0 = mp.mse_loss %x, %t {reduction = "none"} : (tensor<8x1xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.l1_loss {{.*}} -> tensor<f32>
  %1 = mp.l1_loss %x, %t : (tensor<8x1xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.smooth_l1_loss {{.*}} {beta = 5.000000e-01 : f64} {{.*}} -> tensor<f32>
  %2 = mp.smooth_l1_loss %x, %t {beta = 0.5} : (tensor<8x1xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.huber_loss {{.*}} -> tensor<f32>
  %3 = mp.huber_loss %x, %t {reduction = "sum"} : (tensor<8x1xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.kl_div {{.*}} -> tensor<f32>
  %4 = mp.kl_div %x, %t {reduction = "batchmean"} : (tensor<8x1xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.poisson_nll_loss {{.*}} -> tensor<f32>
  %5 = mp.poisson_nll_loss %x, %t : (tensor<8x1xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.soft_margin_loss {{.*}} -> tensor<f32>
  %6 = mp.soft_margin_loss %x, %t : (tensor<8x1xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.hinge_embedding_loss {{.*}} -> tensor<f32>
  %7 = mp.hinge_embedding_loss %x, %t : (tensor<8x1xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.binary_cross_entropy %{{.*}}, %{{.*}} weight %{{.*}} -> tensor<8x4xf32>
  %8 = mp.binary_cross_entropy %x, %t weight %t {reduction = "none"} : (tensor<8x1xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.binary_cross_entropy_with_logits %{{.*}}, %{{.*}} positives %{{.*}} -> tensor<8x4xf32>
  %9 = mp.binary_cross_entropy_with_logits %x, %t positives %t {reduction = "none"} : (tensor<8x1xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.gaussian_nll_loss {{.*}} -> tensor<f32>
  %10 = mp.gaussian_nll_loss %x, %t, %x : (tensor<8x1xf32>, tensor<4xf32>, tensor<8x1xf32>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @rows
func.func @rows(%a: tensor<8x5xf32>, %b: tensor<8x5xf32>, %t: tensor<8xf32>, %p: tensor<20x8x6xf32>, %n: tensor<8xi64>) {
  // CHECK: mp.margin_ranking_loss {{.*}} -> tensor<8xf32>
  %0 = mp.margin_ranking_loss %t, %t, %t {reduction = "none"} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.cosine_embedding_loss {{.*}} -> tensor<8xf32>
  %1 = mp.cosine_embedding_loss %a, %b, %t {reduction = "none"} : (tensor<8x5xf32>, tensor<8x5xf32>, tensor<8xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.triplet_margin_loss {{.*}} -> tensor<8xf32>
  %2 = mp.triplet_margin_loss %a, %b, %a {reduction = "none"} : (tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.ctc_loss {{.*}} -> tensor<8xf32>
  %targets = mp.constant dense<0> : tensor<8x3xi64>
  %3 = mp.ctc_loss %p, %targets, %n, %n {reduction = "none"} : (tensor<20x8x6xf32>, tensor<8x3xi64>, tensor<8xi64>, tensor<8xi64>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @distances
func.func @distances(%a: tensor<8x5xf32>, %b: tensor<3x5xf32>, %c: tensor<2x1x7x5xf32>) {
  // CHECK: mp.cosine_similarity {{.*}} -> tensor<8xf32>
  %0 = mp.cosine_similarity %a, %a : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.pdist {{.*}} -> tensor<28xf32>
  %1 = mp.pdist %a : (tensor<8x5xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.cdist {{.*}} -> tensor<8x3xf32>
  %2 = mp.cdist %a, %b : (tensor<8x5xf32>, tensor<3x5xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.cdist {{.*}} -> tensor<2x1x7x3xf32>
  %3 = mp.cdist %c, %b : (tensor<2x1x7x5xf32>, tensor<3x5xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.dist {{.*}} -> tensor<f32>
  %4 = mp.dist %a, %a : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.renorm {{.*}} -> tensor<8x5xf32>
  %5 = mp.renorm %a {p = 2.0, axis = 0 : i64, max_norm = 1.0} : (tensor<8x5xf32>) -> tensor<*x!mp.unknown>
  return
}
