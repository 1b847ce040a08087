// RUN: mpopt-opt %s --mp-apply-precision=mode=fp16 --mp-attach-loss=terms=mse:y --mp-differentiate=of=loss | FileCheck %s
// RUN: mpopt-opt %s --mp-apply-precision=mode=autocast-bf16 --mp-attach-loss=terms=mse:y --mp-differentiate=of=loss | FileCheck %s --check-prefix=CAST

// A model in FP16 learns FP16 weights: their gradients are FP16. Autocast's weights are in
// FP32, and so are their gradients, which were computed in 16 bits.

// CHECK: tensor<f32> {mp.name = "loss"}, tensor<3x2xf16> {mp.name = "grad(w)"}, tensor<2xf16> {mp.name = "grad(b)"})
// CHECK: mp.mse_loss_grad
// CHECK-NOT: tensor<3x2xf32>

// CAST: tensor<f32> {mp.name = "loss"}, tensor<3x2xf32> {mp.name = "grad(w)"}, tensor<2xf32> {mp.name = "grad(b)"})
// CAST: %[[DB:.*]] = mp.reduce_sum {{.*}} -> tensor<2xbf16>
// CAST: %[[DW:.*]] = mp.matmul {{.*}} -> tensor<3x2xbf16>
// CAST: mp.cast %[[DB]] {{.*}} -> tensor<2xf32>
// CAST: mp.cast %[[DW]] {{.*}} -> tensor<3x2xf32>
func.func @main(%x: tensor<4x3xf32> {mp.name = "x"}) -> (tensor<4x2xf32> {mp.name = "y"}) {
  %w = mp.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32> loc(#w)
  %b = mp.constant dense<[0.5, 1.5]> : tensor<2xf32> loc(#b)
  %0 = mp.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32> loc(#m)
  %y = mp.add %0, %b : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32> loc(#y)
  return %y : tensor<4x2xf32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["m":1:1])
#b = loc(fused<#mp.origin<"b", "Initializer", "", ["b"]>>["m":2:1])
#m = loc(fused<#mp.origin<"m", "MatMul", "", ["m"]>>["m":3:1])
#y = loc(fused<#mp.origin<"y", "Add", "", ["y"]>>["m":4:1])
