// RUN: mpopt-opt %s --mp-differentiate="wrt=all of=h" --mlir-print-debuginfo | FileCheck %s
// RUN: not mpopt-opt %s --mp-differentiate="of=nothing" 2>&1 | FileCheck %s --check-prefix=ERROR

// Gradients are named after values, and have the location and scope of the op that
// they are the gradient of. One gradient of two values has both names.
// ERROR: no float value is called nothing
// CHECK-LABEL: func.func @main
// CHECK-SAME: mp.name = "seed(h)"
// CHECK-SAME: mp.name = "grad(x)"
// CHECK-SAME: mp.name = "grad(b)"
// CHECK: mp.tanh_grad {{.*}} loc(#[[TANH:.*]])
// CHECK: mp.identity {{.*}} loc(#[[SAME:.*]])
// CHECK-DAG: #[[TANH]] = loc(fused<#mp.origin<"t", "Tanh", "block", ["grad(s)"]>>
// CHECK-DAG: #[[SAME]] = loc(fused<#mp.origin<"t", "Tanh", "block", ["grad(x)"]>>
func.func @main(%x: tensor<4xf32> {mp.name = "x"}, %b: tensor<4xf32> {mp.name = "b"}) -> (tensor<4xf32> {mp.name = "y"}) {
  %0 = mp.add %x, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc(fused<#mp.origin<"a", "Add", "block", ["s"]>>["m":1:1])
  %1 = mp.tanh %0 : (tensor<4xf32>) -> tensor<4xf32> loc(fused<#mp.origin<"t", "Tanh", "block", ["h"]>>["m":2:1])
  %2 = mp.exp %1 : (tensor<4xf32>) -> tensor<4xf32> loc(fused<#mp.origin<"e", "Exp", "block", ["y"]>>["m":3:1])
  return %2 : tensor<4xf32>
}
