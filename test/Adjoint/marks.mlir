// RUN: mpopt-opt %s --mp-differentiate="of=loss mark" --mlir-print-debuginfo | FileCheck %s

// Ops of the backward graph are marked. The gradient of a cast that a precision brought has
// no name of its own; a sum hands one gradient to both operands, and each has a name.

// CHECK: mp.matmul %{{.*}}, %{{.*}} : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16> loc(#[[Y:.*]])
// CHECK: %[[SUM:.*]] = mp.reduce_sum
// CHECK-NEXT: %[[ONE:.*]] = mp.constant {mp.backward, mp.seed} dense<1.0
// CHECK: %[[DZ:.*]] = mp.cast {{.*}} {mp.backward, origin = #mp.cast_origin<promotion>} : (tensor<2x2xf32>) -> tensor<2x2xf16>
// CHECK: %[[DW:.*]] = mp.matmul %arg0, %{{.*}} {mp.backward, trans_a = true} : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16> loc(#[[CAST:.*]])
// CHECK: mp.cast %[[DW]] {mp.backward, origin = #mp.cast_origin<policy>} : (tensor<2x2xf16>) -> tensor<2x2xf32> loc(#[[WEIGHT:.*]])
// CHECK: mp.identity {{.*}} {mp.backward} {{.*}} loc(#[[ALIAS:.*]])
// CHECK-DAG: #[[CAST]] = loc(fused<#mp.origin<"y", "MatMul", "">>
// CHECK-DAG: #[[WEIGHT]] = loc(fused<#mp.origin<"w", "Initializer", "", ["grad(w)"]>>
// CHECK-DAG: #[[ALIAS]] = loc(fused<#mp.origin<{{.*}}["grad({{[yu]}})"]>>
func.func @main(%x: tensor<2x2xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> loc(#w)
  %c = mp.cast %w {origin = #mp.cast_origin<policy>} : (tensor<2x2xf32>) -> tensor<2x2xf16> loc(#w)
  %y = mp.matmul %x, %c : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16> loc(#y)
  %u = mp.relu %y : (tensor<2x2xf16>) -> tensor<2x2xf16> loc(#u)
  %z = mp.add %y, %u : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16> loc(#z)
  %f = mp.cast %z {origin = #mp.cast_origin<promotion>} : (tensor<2x2xf16>) -> tensor<2x2xf32> loc(#z)
  %loss = mp.reduce_sum %f : (tensor<2x2xf32>) -> tensor<f32> loc(#loss)
  return %loss : tensor<f32>
}
#w = loc(fused<#mp.origin<"w", "Initializer", "", ["w"]>>["m":1:1])
#y = loc(fused<#mp.origin<"y", "MatMul", "", ["y"]>>["m":2:1])
#u = loc(fused<#mp.origin<"u", "Relu", "", ["u"]>>["m":3:1])
#z = loc(fused<#mp.origin<"z", "Add", "", ["z"]>>["m":4:1])
#loss = loc(fused<#mp.origin<"loss", "ReduceSum", "", ["loss"]>>["m":5:1])
