// Norms, distances and products have slopes: no effect on their results is unknown.
// RUN: mpopt --check %s --precision fp16 --format json --fail-on never | FileCheck %s --implicit-check-not '"unknown": "'

// CHECK-COUNT-14: "expected_error": {{[0-9]}}
func.func @main(%x: tensor<8x16xf32> {mp.name = "x"}, %z: tensor<4x16xf32> {mp.name = "z"},
                %w: tensor<8x16xf32> {mp.name = "w"}, %image: tensor<2x4x8x8xf32> {mp.name = "image"},
                %matrix: tensor<2x3x3xf32> {mp.name = "matrix"})
    -> (tensor<8xf32> {mp.name = "norm1"}, tensor<8xf32> {mp.name = "norm3"}, tensor<8xf32> {mp.name = "largest"},
        tensor<8x16xf32> {mp.name = "normalized"}, tensor<8x16xf32> {mp.name = "renorm"},
        tensor<8x4xf32> {mp.name = "cdist"}, tensor<f32> {mp.name = "dist"}, tensor<28xf32> {mp.name = "pdist"},
        tensor<8xf32> {mp.name = "cosine"}, tensor<8x16xf32> {mp.name = "cumprod"}, tensor<2xf32> {mp.name = "det"},
        tensor<2x4x4x4xf32> {mp.name = "pool"}, tensor<2x4x8x8xf32> {mp.name = "lrn"},
        tensor<2x4x8x8xf32> {mp.name = "standard"}) {
  %0 = mp.norm %x {ord = 1.0 : f64, axes = array<i64: 1>} : (tensor<8x16xf32>) -> tensor<8xf32>
  %1 = mp.norm %x {ord = 3.0 : f64, axes = array<i64: 1>} : (tensor<8x16xf32>) -> tensor<8xf32>
  %2 = mp.norm %x {ord = 0x7FF0000000000000 : f64, axes = array<i64: 1>} : (tensor<8x16xf32>) -> tensor<8xf32>
  %3 = mp.lp_normalize %x {p = 1.0 : f64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %4 = mp.renorm %x {p = 2.0 : f64, axis = 0 : i64, max_norm = 1.0 : f64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %5 = mp.cdist %x, %z : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<8x4xf32>
  %6 = mp.dist %x, %w : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<f32>
  %7 = mp.pdist %x : (tensor<8x16xf32>) -> tensor<28xf32>
  %8 = mp.cosine_similarity %x, %w : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8xf32>
  %9 = mp.cum_prod %x {axis = 1 : i64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %10 = mp.det %matrix : (tensor<2x3x3xf32>) -> tensor<2xf32>
  %11 = mp.lp_pool %image {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, p = 3.0 : f64} : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  %12 = mp.lrn %image {size = 3 : i64} : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %13 = mp.mean_variance_norm %image {axes = array<i64: 0, 2, 3>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13
      : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x4xf32>, tensor<f32>,
        tensor<28xf32>, tensor<8xf32>, tensor<8x16xf32>, tensor<2xf32>, tensor<2x4x4x4xf32>, tensor<2x4x8x8xf32>,
        tensor<2x4x8x8xf32>
}
