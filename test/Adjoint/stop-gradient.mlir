// RUN: mpopt-opt %s --mp-differentiate="of=y wrt=inputs" | FileCheck %s

// No gradient passes what PyTorch's `detach` becomes; it passes a copy.

// CHECK-LABEL: @main
// CHECK-NOT: grad(a)
// CHECK: mp.name = "grad(b)"
// CHECK: mp.detached = ["a"]
func.func @main(%a: tensor<3xf32> {mp.name = "a"}, %b: tensor<3xf32> {mp.name = "b"}) -> (tensor<f32> {mp.name = "y"}) {
  %0 = mp.identity %a {mp.stops_gradient} : (tensor<3xf32>) -> tensor<3xf32>
  %1 = mp.identity %b : (tensor<3xf32>) -> tensor<3xf32>
  %2 = mp.mul %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = mp.reduce_sum %2 : (tensor<3xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}
